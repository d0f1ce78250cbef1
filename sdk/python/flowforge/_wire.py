"""Connects the arguments of a call to the inputs of a node."""

from __future__ import annotations

import dataclasses
import inspect
import math
import operator
import re
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Set, Tuple, Union

from . import _files, _habits, _place
from ._future import Future, Group
from ._graph import Port, Value, numbered
from ._place import error
from ._schema import JSON, NotConstant, Type, article, mismatch
from ._signature import Parameter, Signature

# How an argument is assembled of inputs: the name of one, a constant, or parts of these.
Assembly = Union[str, Dict[str, Any]]


def bind(function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the arguments of a call by parameter, without those left to their defaults."""
    try:
        return dict(inspect.signature(function).bind(*args, **kwargs).arguments)
    except TypeError as err:
        raise _unbound(function, err) from None


def _unbound(function: Callable[..., Any], err: TypeError) -> Exception:
    names = list(inspect.signature(function).parameters)
    unknown = str(err).partition("unexpected keyword argument '")[2].partition("'")[0]
    advice = _habits.of_argument(unknown, function.__name__)
    if advice:
        return error(f"{function.__name__} has no argument {unknown!r}: {advice}")
    known = f"its parameters are: {', '.join(names)}" if names else "it has no parameters"
    return error(f"{function.__name__}: {err}; {known}")


def wire(name: str, signature: Signature, given: Mapping[str, Any]) -> Tuple[List[Port], Dict[str, Assembly]]:
    """Return the inputs of a node, and how the arguments are assembled of them."""
    ports: List[Port] = []
    assemblies: Dict[str, Assembly] = {}
    for p in signature.parameters:
        if p.name in given:
            argument = given[p.name]
        elif p.required:
            continue
        else:
            argument = p.default
            if argument is None:
                continue
        made = _Wiring(name, p, ports, {q.name for q in signature.parameters}).argument(p.name, p.type, argument)
        if made != p.name:
            assemblies[p.name] = made
    return ports, assemblies


class _Wiring:
    def __init__(self, node: str, parameter: Parameter, ports: List[Port], parameters: Set[str]) -> None:
        self._node, self._parameter, self._ports, self._parameters = node, parameter, ports, parameters

    def argument(self, name: str, t: Type, argument: Any) -> Assembly:
        if isinstance(argument, Future):
            return self._future(name, t, argument)
        if isinstance(argument, Group):
            return self._group(name, t, argument)
        if holds_future(argument):
            return self._container(name, t, _fields(argument) if dataclasses.is_dataclass(argument) else argument)
        return self._constant(name, t, argument)

    def _error(self, why: str) -> Exception:
        return error(f"{self._node}: {self._parameter.name}: {why}")

    def _add(self, port: Port) -> str:
        if port.name != self._parameter.name:  # part of an argument
            port = dataclasses.replace(port, name=numbered(port.name, [*self._parameters, *(p.name for p in self._ports)]))
        self._ports.append(port)
        return port.name

    def _future(self, name: str, t: Type, future: Future) -> Assembly:
        value = future._ff
        if value.kind == "node":
            raise self._error(f"{value.name} returns nothing; to run after it, use .options(after=…)")
        why = mismatch(value.type, t)
        if why:
            raise self._error(why + _suggestion(value, t))
        return self._add(Port(name, t, value))

    def _group(self, name: str, t: Type, group: Group) -> Assembly:
        expected, kind = t, "parts"
        if group._ff_depth == 1 and t.kind == "List" and t.elem is not None:
            expected, kind = t.elem, "zip"
        outer = expected.inner
        values = list(group._ff_values.items())
        if group._ff_depth != (kind == "zip") or len(outer.fields) != len(values):
            raise self._error(f"`{group._ff_type}` is not {article(t)}" + _suggestion(group, t))
        parts = {}
        for f, (_, future) in zip(outer.fields, values):
            port_type = future._ff.type if kind == "zip" else f.type
            element = future._ff.type.elem if kind == "zip" else future._ff.type
            assert element is not None
            if kind == "zip" and expected.optional and element.optional and element.elem:
                element = element.elem
            why = mismatch(element, f.type)
            if why:
                raise self._error(f"its value {f.name}: {why}")
            parts[f.name] = self._add(Port(f"{name}_{f.name}", port_type, future._ff))
        return {kind: parts}

    def _container(self, name: str, t: Type, argument: Any) -> Assembly:
        t = t.inner
        if isinstance(argument, dict):
            parts: Dict[str, Any] = {}
            for key, value in argument.items():
                found = t.field_named(str(key))
                of = found.type if found else JSON if t.extra else t.elem
                if of is None:
                    raise self._error(f"a dict is not {article(t)}")
                parts[str(key)] = self.argument(f"{name}_{_identifier(key)}", of, value)
            return {"map" if t.kind == "Map" else "parts": parts}
        values = list(argument)
        if t.kind == "List" and t.elem is not None:
            return {"list": [self.argument(f"{name}_{i}", t.elem, v) for i, v in enumerate(values, 1)]}
        if t.fields and len(t.fields) == len(values):
            return {"parts": {f.name: self.argument(f"{name}_{f.name}", f.type, v) for f, v in zip(t.fields, values)}}
        raise self._error(f"a {type(argument).__name__} of {len(values)} values is not {article(t)}")

    def _constant(self, name: str, t: Type, argument: Any) -> Assembly:
        return self._add(Port(name, t, None, constant(f"{self._node}: {self._parameter.name}", t, argument)))


def constant(what: str, t: Type, value: Any) -> Any:
    """Return a value of type t as JSON. Raises DefinitionError if it is no such value."""
    try:
        found = t.encode(value)
    except NotConstant as err:
        raise error(f"{what}: {value!r}: {err}") from None
    except Exception as err:  # encoders raise what their value raises
        raise error(f"{what}: {value!r} is not {article(t)}: {err}") from None
    why = constant_mismatch(found, t)
    if why:
        raise error(f"{what}: {why}")
    return found


def _fields(value: Any) -> Dict[str, Any]:
    """Return the fields of a dataclass, whose values can be futures."""
    return {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init and hasattr(value, f.name)}


def _identifier(key: Any) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in str(key))


def holds_future(argument: Any) -> bool:
    if isinstance(argument, (Future, Group)):
        return True
    if dataclasses.is_dataclass(argument) and not isinstance(argument, type):
        argument = _fields(argument)
    if isinstance(argument, dict):
        return any(map(holds_future, argument.values()))
    return isinstance(argument, (list, tuple)) and any(map(holds_future, argument))


def constant_mismatch(value: Any, t: Type) -> str:
    """Return why a JSON value is not of type t, or "" if it is, or if only the server can decide."""
    if not _finite(value):
        return f"{value!r} contains a number that JSON cannot represent (NaN or infinity); use None or a large number"
    why = _files.not_text(value)
    if why:
        return why
    return _mismatch(value, t)


_KINDS: Dict[str, Tuple[type, ...]] = {
    "Integer": (int,), "Float": (int, float), "String": (str,), "Boolean": (bool,), "List": (list,), "Struct": (dict,), "Map": (dict,),
}  # fmt: skip


def _mismatch(value: Any, t: Type) -> str:
    if t.optional:
        return "" if value is None or t.elem is None else _mismatch(value, t.elem)
    expected = _KINDS.get(t.kind)
    if expected and (not isinstance(value, expected) or isinstance(value, bool) and bool not in expected):
        return f"{value!r} is not {article(t)}"
    if t.kind == "Enum" and value not in t.options:
        return f"{value!r} is not one of {', '.join(map(repr, t.options))}"
    return _limits_mismatch(value, t) or next((why for why in _parts_mismatch(value, t) if why), "")


def _limits_mismatch(value: Any, t: Type) -> str:
    """Return which limit of its type a value exceeds, or ""."""
    if t.kind in ("Integer", "Float"):
        return _outside(value, t.params)
    of, things = ("length", "characters") if t.kind == "String" else ("items", "entries")
    low, high = t.params.get(f"min_{of}"), t.params.get(f"max_{of}")
    if low is not None and len(value) < low:
        return f"{value!r} has {len(value)} {things}, which is less than {low}"
    if high is not None and len(value) > high:
        return f"{value!r} has {len(value)} {things}, which is more than {high}"
    if t.kind == "String" and t.params.get("pattern") and not _matches(t.params["pattern"], value):
        return f"{value!r} does not match the pattern {t.params['pattern']}"
    return ""


def _outside(value: Any, params: Mapping[str, Any]) -> str:
    for name, outside, why in (
        ("min", operator.lt, "is less than"),
        ("max", operator.gt, "is more than"),
        ("exclusive_min", operator.le, "is not more than"),
        ("exclusive_max", operator.ge, "is not less than"),
    ):
        if params.get(name) is not None and outside(value, params[name]):
            return f"{value} {why} {params[name]}"
    return ""


def _matches(pattern: str, text: str) -> bool:
    """Whether a text matches a pattern as a whole. Only the server can decide for patterns that Python reads differently."""
    if "[:" in pattern:
        return True
    try:
        return re.fullmatch(pattern, text, re.ASCII) is not None
    except re.error:
        return True


def _parts_mismatch(value: Any, t: Type) -> Iterator[str]:
    if t.kind in ("List", "Map") and t.elem is not None:
        yield from (_mismatch(v, t.elem) for v in (value if t.kind == "List" else value.values()))
    if not isinstance(value, dict):
        return
    for f in t.fields:
        if f.name not in value:
            yield "" if f.has_default or f.type.optional else f"its field {f.name} is missing"
        elif not (value[f.name] is None and f.has_default and f.default is None):
            why = _mismatch(value[f.name], f.type)
            yield f"its field {f.name}: {why}" if why else ""


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return all(map(_finite, inner))


def _suggestion(given: Any, expected: Type) -> str:
    """Name a value of the user's function that would fit."""
    node = given._ff_node if isinstance(given, Group) else given.node
    for same_node in (True, False):
        for text, value in _variables():
            if (value.node is node) == same_node and value is not given and not mismatch(value.type, expected):
                return f"; did you mean `{text}`?"
    if isinstance(given, Group):
        for name, future in given._ff_values.items():
            if not mismatch(future._ff.type, expected):
                return f"; did you mean its value `.{name}`?"
    return ""


def _variables() -> Iterator[Tuple[str, Value]]:
    frame: Optional[Any] = _place.caller()
    if frame is None:
        return
    for name, value in list(frame.f_locals.items()):
        if isinstance(value, Future) and value._ff.kind != "node":
            yield name, value._ff
        elif isinstance(value, Group) and not value._ff_depth:
            for output, future in value._ff_values.items():
                yield f"{name}.{output}", future._ff


def bind_partially(function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the given arguments by parameter; the server reports those that are missing."""
    try:
        return dict(inspect.signature(function).bind_partial(*args, **kwargs).arguments)
    except TypeError as err:
        raise _unbound(function, err) from None
