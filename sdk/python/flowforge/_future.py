"""What operators return while a workflow is traced.

To a type checker a future is the value itself. Comparisons and arithmetic make expressions
that the server evaluates; what only Python can do with a real value is an error with a way out.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, NoReturn, Optional, Tuple, TypeVar, Union

from . import _arithmetic, _graph, _habits
from ._graph import Node, Value, constant_text, expression
from ._place import error
from ._schema import JSON, Type, article, list_of

T = TypeVar("T")


def _refuse(self: Any, *_: Any) -> NoReturn:
    raise error(
        f"Python cannot use {self._ff_name} here, because the value does not exist yet while the workflow is defined. "
        "Move this code into an operator; only + - * / % **, comparisons, & |, length(…) and when(…) work with results of operators"
    )


class _Unknown:
    """What Python does with values, and cannot do with one that does not exist yet."""

    __slots__ = ()

    def __index__(self) -> NoReturn:
        raise error(
            f"Python cannot use {self._ff_name} here, because the value does not exist yet while the workflow is defined. "  # type: ignore[attr-defined]
            "For a loop over range(…), call foreach with the result of an operator that returns list(range(…)). Move this code into an operator; only "
            "+ - * / % **, comparisons, & |, length(…) and when(…) work with results of operators"
        )

    __int__ = __float__ = __complex__ = __round__ = __trunc__ = __floor__ = __ceil__ = __abs__ = __pos__ = _refuse
    __floordiv__ = __rfloordiv__ = __divmod__ = __rdivmod__ = __matmul__ = __rmatmul__ = __xor__ = __rxor__ = _refuse
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refuse
    __call__ = __contains__ = __reversed__ = __setitem__ = __delitem__ = __fspath__ = __reduce__ = _refuse

    def __copy__(self: T) -> T:
        return self

    def __deepcopy__(self: T, memo: Any) -> T:
        return self


class Future(_Unknown):
    """A value that exists when the workflow runs."""

    __slots__ = ("_ff",)
    _ff: Value

    def __init__(self, value: Value) -> None:
        object.__setattr__(self, "_ff", value)

    __setattr__ = __delattr__ = _refuse

    @property
    def _ff_name(self) -> str:
        return self._ff.label

    def __repr__(self) -> str:
        return f"<{self._ff.label}: {self._ff.type.shown}>"

    def __getattr__(self, name: str) -> Any:
        value = self._ff
        if name.startswith("__"):
            raise AttributeError(name)
        found = value.type.field_named(name) if not value.type.optional else None
        if found is not None:
            return Future(part(value, name, found.type))
        if value.type.extra or value.type.kind == "JSON" and value.type.python != "Any":
            return Future(part(value, name, JSON))
        fields = [f.name for f in value.type.fields]
        advice = _habits.of_result(value.label, name)
        if advice:
            raise error(advice)
        if fields:
            raise error(f"{value.label} is {article(value.type)}, which has no field {name!r}; its fields are: {', '.join(fields)}")
        raise error(
            f"{value.label}.{name} is not known while the workflow is defined: {value.label} is a future of `{value.type.shown}`. "
            "Move this code into an operator, where the value is real"
        )

    def __getitem__(self, key: Any) -> Any:
        t = self._ff.type
        if isinstance(key, slice):
            _refuse(self)
        if isinstance(key, Future):
            key = key._ff
        text: Tuple[Union[str, Value], ...] = ("[", key if isinstance(key, Value) else constant_text(key), "]")
        if t.kind in ("List", "Map") and t.elem is not None:
            return Future(expression(t.elem, self._ff, *text))
        found = t.field_named(key) if isinstance(key, str) else None
        if found is not None:
            return Future(part(self._ff, found.name, found.type))
        if isinstance(key, int) and _is_tuple(t) and -len(t.fields) <= key < len(t.fields):
            one = t.fields[key]
            return Future(part(self._ff, one.name, one.type))
        if t.kind == "JSON" or t.extra and isinstance(key, str):
            return Future(expression(JSON, self._ff, *text))
        if t.blob:
            _refuse(self)
        raise error(f"{self._ff.label} is {article(t)}, which has no items")

    def __iter__(self) -> Iterator[Any]:
        value = self._ff
        if _is_tuple(value.type):
            return iter([Future(part(value, f.name, f.type)) for f in value.type.fields])
        if value.type.kind in ("List", "JSON"):
            raise no_iteration(value.label)
        raise error(f"{value.label} is {article(value.type)}, which cannot be iterated over while the workflow is defined")

    def __bool__(self) -> NoReturn:
        raise error(
            f"Python cannot test {self._ff.label} while the workflow is defined, because the value does not exist yet. "
            "Use when(condition, lambda: …, otherwise=lambda: …) instead of if, & | instead of and, or, and x == False instead of not x"
        )

    def __len__(self) -> int:
        if _is_tuple(self._ff.type):
            return len(self._ff.type.fields)
        raise error(f"the length of {self._ff.label} is not known while the workflow is defined; use length({self._ff.label})")

    def __hash__(self) -> int:
        raise error(
            f"{self._ff.label} cannot be a key of a dict or an entry of a set while the workflow is defined, because the value does not exist yet; "
            "look it up in an operator, or use when(…)"
        )

    def _operand(self, other: Any) -> Any:
        return other._ff if isinstance(other, Future) else other

    def __eq__(self, other: object) -> Any:
        return Future(_arithmetic.compared("==", self._ff, self._operand(other)))

    def __ne__(self, other: object) -> Any:
        return Future(_arithmetic.compared("!=", self._ff, self._operand(other)))

    def __lt__(self, other: Any) -> Any:
        return Future(_arithmetic.compared("<", self._ff, self._operand(other)))

    def __le__(self, other: Any) -> Any:
        return Future(_arithmetic.compared("<=", self._ff, self._operand(other)))

    def __gt__(self, other: Any) -> Any:
        return Future(_arithmetic.compared(">", self._ff, self._operand(other)))

    def __ge__(self, other: Any) -> Any:
        return Future(_arithmetic.compared(">=", self._ff, self._operand(other)))

    def __and__(self, other: Any) -> Any:
        return Future(_arithmetic.combined("&&", self._ff, self._operand(other)))

    def __rand__(self, other: Any) -> Any:
        return Future(_arithmetic.combined("&&", self._operand(other), self._ff))

    def __or__(self, other: Any) -> Any:
        return Future(_arithmetic.combined("||", self._ff, self._operand(other)))

    def __ror__(self, other: Any) -> Any:
        return Future(_arithmetic.combined("||", self._operand(other), self._ff))

    def __invert__(self) -> Any:
        _arithmetic.check_condition(self._ff)
        return Future(_arithmetic.negation(self._ff))

    def __neg__(self) -> Any:
        return Future(_arithmetic.negative(self._ff))

    def __add__(self, other: Any) -> Any:
        return Future(_arithmetic.computed("+", self._ff, self._operand(other)))

    def __radd__(self, other: Any) -> Any:
        return Future(_arithmetic.computed("+", self._operand(other), self._ff))

    def __sub__(self, other: Any) -> Any:
        return Future(_arithmetic.computed("-", self._ff, self._operand(other)))

    def __rsub__(self, other: Any) -> Any:
        return Future(_arithmetic.computed("-", self._operand(other), self._ff))

    def __mul__(self, other: Any) -> Any:
        return Future(_arithmetic.computed("*", self._ff, self._operand(other)))

    def __rmul__(self, other: Any) -> Any:
        return Future(_arithmetic.computed("*", self._operand(other), self._ff))

    def __truediv__(self, other: Any) -> Any:
        return Future(_arithmetic.computed("/", self._ff, self._operand(other)))

    def __rtruediv__(self, other: Any) -> Any:
        return Future(_arithmetic.computed("/", self._operand(other), self._ff))

    def __pow__(self, other: Any) -> Any:
        return Future(_arithmetic.computed("**", self._ff, self._operand(other)))

    def __rpow__(self, other: Any) -> Any:
        return Future(_arithmetic.computed("**", self._operand(other), self._ff))

    def __mod__(self, other: Any) -> Any:
        return Future(_arithmetic.modulo(self._ff, self._operand(other)))

    def __rmod__(self, other: Any) -> Any:
        return Future(_arithmetic.modulo(self._operand(other), self._ff))

    def __format__(self, spec: str) -> NoReturn:
        raise _no_text(self._ff.label)

    def __str__(self) -> str:
        raise _no_text(self._ff.label)


def _no_text(label: str) -> Exception:
    return error(f"{label} cannot be converted to a string while the workflow is defined; build the string in an operator, or join strings with +. In the message of approval(…), write {{{{name}}}} and pass values={{'name': …}}. repr(…) describes the future itself")


def _is_tuple(t: Type) -> bool:
    return bool(t.fields) and t.fields[0].name == "item_1"


def no_iteration(label: str, field: str = "accuracy") -> Exception:
    """Return the error for a loop over a list whose items exist when the workflow runs."""
    return error(
        f"Python cannot iterate over {label} while the workflow is defined, because its items do not exist yet. "
        f"Use foreach({label}, lambda item: train(item)) to call operators for every item, foreach({label}, lambda item: item.{field}) to read a field of "
        "every item, and an operator to sort, filter, slice or sum the items"
    )


def part(value: Value, name: str, t: Type) -> Value:
    """Return a field of a value."""
    if value.kind == "item":
        return Value(value.scope, t, "item", f"{value.name}.{name}" if value.name else name, node=value.node)
    found = expression(t, value, f".{name}")
    return Value(found.scope, t, "expression", f"{value.label}.{name}", parts=found.parts)


class Group(_Unknown):
    """Several results as one value: of a call, of a foreach over calls, or of when.

    Its values are attributes, items by position, and can be unpacked. Those of a foreach are
    lists, which only foreach and operators read.
    """

    def __init__(self, label: str, python: str, values: Dict[str, Future], depth: int = 0, node: Optional[Node] = None) -> None:
        self._ff_label = label
        self._ff_python = python
        self._ff_values = values
        self._ff_depth = depth  # of the lists of a foreach around each value
        self._ff_node = node  # the node that produces all values

    @property
    def _ff_name(self) -> str:
        return self._ff_label

    @property
    def _ff_type(self) -> str:
        return "list[" * self._ff_depth + self._ff_python + "]" * self._ff_depth

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("_ff_values", {})
        if name in values and not self._ff_depth:
            return values[name]
        if name.startswith("__"):
            raise AttributeError(name)
        if self._ff_depth:
            raise error(f"{self._ff_label} is a `{self._ff_type}`; write foreach({self._ff_label}, lambda item: item.{name}) to read {name} of every item")
        raise error(f"{self._ff_label} has no output {name!r}; its outputs are: {', '.join(values)}")

    def __getitem__(self, index: Any) -> Any:
        if self._ff_depth or not isinstance(index, (int, slice)):
            raise error(f"the items of {self._ff_label} are not known while the workflow is defined; use foreach or an operator")
        return tuple(self._ff_values.values())[index]

    def __iter__(self) -> Iterator[Any]:
        if self._ff_depth:
            raise no_iteration(self._ff_label, next(iter(self._ff_values)))
        return iter(self._ff_values.values())

    def __len__(self) -> int:
        if self._ff_depth:
            raise error(f"the length of {self._ff_label} is not known while the workflow is defined; use length({self._ff_label})")
        return len(self._ff_values)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __invert__ = __and__ = __rand__ = __or__ = __ror__ = _refuse

    def __repr__(self) -> str:
        return f"<{self._ff_label}: {self._ff_type}>"

    def __str__(self) -> str:
        raise _no_text(self._ff_label)

    def __format__(self, spec: str) -> NoReturn:
        raise _no_text(self._ff_label)

    def __hash__(self) -> int:
        raise error(f"{self._ff_label} cannot be a key of a dict or an entry of a set while the workflow is defined; look it up in an operator")

    def __bool__(self) -> NoReturn:
        raise error(f"Python cannot test {self._ff_label} while the workflow is defined, because the value does not exist yet; compare one of its values with when(…)")

    def _ff_compare(self, other: Any) -> NoReturn:
        raise error(f"{self._ff_label} cannot be compared while the workflow is defined; compare one of its values, or compare in an operator")

    def __eq__(self, other: object) -> Any:
        self._ff_compare(other)

    def __ne__(self, other: object) -> Any:
        self._ff_compare(other)

    __lt__ = __le__ = __gt__ = __ge__ = _ff_compare


def output_value(node: Node, name: str) -> Value:
    """Return the value of an output as other nodes see it."""
    t = node.output(name).type
    if node.foreach is not None:
        if node.foreach.options.get("allow_partial") or any(_reads_item(c, node.foreach.body) for c in node.conditions):
            from ._schema import optional_of

            t = optional_of(t)
        t = list_of(t)
    return Value(node.scope, t, "output", name, node=node)


def _reads_item(condition: Value, body: _graph.Scope) -> bool:
    return any(leaf.kind in ("item", "index") and leaf.scope is body for leaf in condition.leaves())


def result(node: Node, python: str, single: bool, depth: int = 0) -> Any:
    """Return what a call of the node returns: nothing, a future or a group.

    depth counts the lists around each value of one item.
    """
    if not node.outputs:
        return Future(Value(node.scope, Type("None", python="None"), "node", node.name, node=node))
    if single:
        return Future(output_value(node, node.outputs[0].name))
    values = {o.name: Future(output_value(node, o.name)) for o in node.outputs}
    return Group(node.name, python, values, depth + (node.foreach is not None), node)


def depth_of(value: Any) -> int:
    """Return the number of lists around several results."""
    return value._ff_depth if isinstance(value, Group) else 0


def node_of(value: Any) -> Optional[Node]:
    """Return the node that produces a value."""
    if isinstance(value, Group):
        return value._ff_node
    if isinstance(value, Future):
        return value._ff.node
    return None
