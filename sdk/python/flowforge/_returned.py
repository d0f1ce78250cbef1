"""Reads what a traced function returns as the outputs of its graph."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union

from . import _wire
from ._future import Future, Group
from ._graph import Output, Scope, Value, constant_text, expression
from ._place import error
from ._schema import JSON, Field, Type, mismatch
from ._signature import Signature


def read(scope: Scope, returned: Any, signature: Optional[Signature] = None) -> Tuple[List[Output], str, bool]:
    """Return the outputs, the name of their Python type, and whether there is a single one.

    signature gives the names and types that the function declares.
    """
    if signature is not None and signature.annotated and signature.single and isinstance(returned, (dict, list)):
        returned = _assembled(signature.results[0].type, returned)
    if signature is not None and signature.annotated and not signature.single:
        returned = _with_constants(signature, returned)
    values, python, single = _values(returned)
    if isinstance(returned, Group) and returned._ff_depth and signature is not None and signature.annotated:
        raise error(
            f"{scope.name} returns a `{returned._ff_type}`; its annotation is `{signature.returns}`. Return one value of every item, "
            f"such as foreach({returned._ff_label}, lambda item: item.{next(iter(values))})"
        )
    if signature is not None and signature.annotated:
        values = _declared(values, signature)
        python, single = signature.returns, signature.single
    outputs = []
    for index, (name, value) in enumerate(values.items()):
        declared = signature.results[index] if signature is not None and signature.annotated else None
        if declared is not None:
            why = mismatch(value.type, declared.type)
            if why:
                raise error(f"{scope.name} returns {value.label} as {name}: {why}")
        outputs.append(Output(name, declared.type if declared else value.type, value, declared.description if declared else ""))
    return outputs, python, single


def _assembled(t: Type, returned: Any) -> Any:
    """Return the future of a list or a dict that contains futures, if it contains any."""
    if not _wire.holds_future(returned):
        return returned
    inner = t.inner
    parts: List[Union[str, Value]] = []
    entries = returned.items() if isinstance(returned, dict) else ((None, v) for v in returned)
    for key, value in entries:
        field = inner.field_named(str(key))
        of = field.type if field else inner.elem or JSON
        if isinstance(value, (dict, list)):
            value = _assembled(of, value)
        if isinstance(value, Future):
            why = mismatch(value._ff.type, of)
            if why:
                raise error(f"the result{'' if key is None else f' {key}'}: {why}")
        elif _wire.holds_future(value):
            raise error(f"{value!r} cannot be part of a result; return its values")
        parts += [", "] if parts else []
        parts += [] if key is None else [f"{constant_text(str(key))}: "]
        parts.append(value._ff if isinstance(value, Future) else constant_text(of.encode(value)))
    brackets = "{}" if isinstance(returned, dict) else "[]"
    return Future(expression(t, brackets[0], *parts, brackets[1]))


def _with_constants(signature: Signature, returned: Any) -> Any:
    """Return several results by name, with constants as expressions, if there is at least one future."""
    names = [r.name for r in signature.results]
    if isinstance(returned, tuple) and len(returned) == len(names):
        parts = list(returned)
    elif isinstance(returned, Group) or not all(hasattr(returned, name) for name in names):
        return returned
    else:
        parts = [getattr(returned, name) for name in names]
    if not any(map(_wire.holds_future, parts)):
        return returned
    return {r.name: _part(r.name, r.type, part) for r, part in zip(signature.results, parts)}


def _part(name: str, t: Type, part: Any) -> Any:
    if isinstance(part, Group) and not part._ff_depth and t.inner.fields:
        return _assembled(t, dict(part._ff_values))
    if isinstance(part, (Future, Group)):
        return part
    if _wire.holds_future(part):
        return _assembled(t, part) if isinstance(part, (dict, list)) else part
    return Future(expression(t, constant_text(_wire.constant(f"the result {name}", t, part))))


def _declared(values: Dict[str, Value], signature: Signature) -> Dict[str, Value]:
    if len(values) != len(signature.results):
        raise error(f"the workflow returns {len(values)} values; its annotation `{signature.returns}` declares {len(signature.results)}")
    return {r.name: v for r, v in zip(signature.results, values.values())}


def _values(returned: Any) -> Tuple[Dict[str, Value], str, bool]:
    if returned is None or isinstance(returned, Future) and returned._ff.kind == "node":
        return {}, "None", True
    if isinstance(returned, Future):
        return {"result": _value(returned)}, returned._ff.type.python, True
    if isinstance(returned, Group):
        return {n: _value(f) for n, f in returned._ff_values.items()}, returned._ff_python, False
    if isinstance(returned, dict):
        return {str(n): _value(v) for n, v in returned.items()}, "dict", False
    if isinstance(returned, tuple):
        names = getattr(returned, "_fields", None) or [f"output_{i}" for i in range(1, len(returned) + 1)]
        return {n: _value(v) for n, v in zip(names, returned)}, type(returned).__name__, False
    fields = getattr(returned, "__dataclass_fields__", None)
    if fields:
        return {n: _value(getattr(returned, n)) for n in fields}, type(returned).__name__, False
    return {"result": _value(returned)}, "", True


def _value(returned: Any) -> Value:
    if isinstance(returned, Future) and returned._ff.kind != "node":
        return returned._ff
    if isinstance(returned, (Future, Group)):
        raise error(f"{returned!r} cannot be a single result; return its values")
    raise error(f"a workflow returns results of operators, not {returned!r}; compute the value in an operator")


def form_field(f: Field) -> Dict[str, Any]:
    """Return the entry of a field in a form."""
    entry: Dict[str, Any] = {"name": f.name, "type": f.type.text()}
    if f.has_default and f.default is not None:
        entry["default"] = f.default
    if f.description:
        entry["description"] = f.description
    if f.hints:
        entry["ui"] = f.hints
    return entry


