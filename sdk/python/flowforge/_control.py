"""Control flow of workflows: fan-outs, conditions and approvals.

Every function does the same in plain Python, with actual values.
"""

from __future__ import annotations

import enum
import inspect
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple, TypeVar, Union, overload

from . import _annotations, _arithmetic, _files, _future, _graph, _returned, _unmapped, _wire
from ._future import Future, Group
from ._graph import Foreach, Input, Node, NodeOutput, Scope, Value, expression
from ._operator import add_node
from ._place import error
from ._schema import JSON, Type, article, list_of, mismatch, optional_of

if TYPE_CHECKING:
    from typing_extensions import Literal

T = TypeVar("T")
U = TypeVar("U")
R = TypeVar("R")

_INT = _arithmetic.INT


@overload
def foreach(items: Iterable[T], body: Callable[[T], R], *, allow_partial: Literal[True], parallelism: Optional[int] = ..., limit: Optional[int] = ..., name: str = ...) -> List[Optional[R]]: ...
@overload
def foreach(items: Iterable[T], body: Callable[[T, int], R], *, allow_partial: Literal[True], parallelism: Optional[int] = ..., limit: Optional[int] = ..., name: str = ...) -> List[Optional[R]]: ...
@overload
def foreach(items: Iterable[T], body: Callable[[T], R], *, allow_partial: Literal[False] = ..., parallelism: Optional[int] = ..., limit: Optional[int] = ..., name: str = ...) -> List[R]: ...
@overload
def foreach(items: Iterable[T], body: Callable[[T, int], R], *, allow_partial: Literal[False] = ..., parallelism: Optional[int] = ..., limit: Optional[int] = ..., name: str = ...) -> List[R]: ...


def foreach(
    items: Iterable[Any],
    body: Callable[..., Any],
    *,
    allow_partial: bool = False,
    parallelism: Optional[int] = None,
    limit: Optional[int] = None,
    name: str = "",
) -> Any:
    """Call `body` for each item, in parallel, and return the results as a list in the same order.

    `body` receives the item, or the item and its index. With `allow_partial`, failed items are
    None, and the fan-out fails only if all items fail. `parallelism` limits the number of
    active items. `limit` is the maximum number of items (10,000 by default). A body that calls
    no operator reads a field of every item: foreach(fits, lambda fit: fit.accuracy).
    """
    tracer = _graph.tracer()
    if tracer is None:
        return _plain_foreach(items, body, allow_partial)
    options = {"parallelism": parallelism, "allow_partial": allow_partial or None, "limit": limit}
    options = {k: v for k, v in options.items() if v is not None}
    if isinstance(items, Group):
        return _column(tracer, items, body, {**options, "name": name})
    source, item = _items(items)
    return _Loop(tracer, body, source, item, options).trace(name)


def _plain_foreach(items: Iterable[Any], body: Callable[..., Any], allow_partial: bool) -> List[Any]:
    indexed = _arity(body) > 1
    results, failures = [], 0
    last: Optional[Exception] = None
    for index, item in enumerate(items):
        try:
            results.append(body(item, index) if indexed else body(item))
        except Exception as err:
            if not allow_partial:
                raise
            results.append(None)
            failures, last = failures + 1, err
    if last is not None and failures == len(results):
        raise last
    return results


def _parameters(body: Callable[..., Any]) -> List[str]:
    """Return the parameters for the item and its index; others, such as lr=lr, have defaults."""
    positional = [p for p in inspect.signature(getattr(body, "function", body)).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [p.name for p in positional if p.default is p.empty] or [p.name for p in positional[:1]]


def _arity(body: Callable[..., Any]) -> int:
    return len(_parameters(body))


def _items(items: Any) -> Tuple[Union[Value, List[Any], range], Type]:
    """Return the source of the items and their type."""
    if isinstance(items, Future):
        t = items._ff.type
        if t.kind == "JSON":
            return items._ff, JSON
        if t.kind != "List" or t.elem is None:
            raise error(f"foreach needs a list; {items._ff.label} is {article(t)}" + ("; return list(….items()) or its values from an operator" if t.kind == "Map" else ""))
        return items._ff, t.elem
    if isinstance(items, (str, bytes)) or not hasattr(items, "__iter__"):
        instead = f"range({items})" if isinstance(items, int) else f"[{items!r}]"
        raise error(f"foreach needs a list; {items!r} has the type `{type(items).__name__}`. Write {instead}")
    found: Any = items if isinstance(items, range) else list(items)
    if not len(found):
        raise error(
            f"foreach: items is empty ({items!r}), so its body would never run. Pass at least one item, "
            "or make the list an input of the workflow, such as items: list[str], which may be empty at launch"
        )
    if isinstance(found, range):
        return found, _INT
    several = next((i for i in found if isinstance(i, Group)), None)
    if several is not None:
        raise error(f"foreach: the item {several!r} has several values; pass one value of each item, such as {several._ff_label}.{next(iter(several._ff_values))}")
    if any(isinstance(i, Future) for i in found):
        parts: List[Union[str, Value]] = ["["]
        for i in found:
            parts += [i._ff if isinstance(i, Future) else _graph.constant_text(i), ", "]
        of = _common(found)
        return expression(list_of(of), *parts[:-1], "]"), of
    return _constants(found)


def _common(items: List[Any]) -> Type:
    """Return the type of a list of futures and constants."""
    real = [i for i in items if i is not None]
    types = [_type(i) for i in sorted(real, key=lambda i: not isinstance(i, Future))]  # a constant has a narrow type
    for t in types:
        if not any(mismatch(other, t) for other in types):
            return optional_of(t) if len(real) < len(items) else t
    first, other = next((a, b) for a in real for b in real if mismatch(_type(b), _type(a)))
    raise error(f"foreach: the items have different types: {_named(first)} and {_named(other)}; use one foreach for each type, or convert the items in an operator")


def _named(item: Any) -> str:
    return f"{item._ff.label if isinstance(item, Future) else repr(item)} is {article(_type(item))}"


def _constants(items: List[Any]) -> Tuple[List[Any], Type]:
    if not all(map(_wire._finite, items)):
        raise error(f"{items!r} contains a number that JSON cannot represent (NaN or infinity)")
    why = _files.not_text(items)
    if why:
        raise error(f"foreach: {why}")
    if len({type(i) for i in items}) == 1 and isinstance(items[0], enum.Enum):
        t = _annotations.read(type(items[0])).type
        return [t.encode(i) for i in items], t
    if all(isinstance(i, (str, int)) and not isinstance(i, bool) for i in items) and len({type(i) for i in items}) == 1:
        return items, Type("Enum", options=tuple(dict.fromkeys(items)), python=type(items[0]).__name__)
    if len({type(i) for i in items}) == 1 and not isinstance(items[0], (dict, list)):
        try:
            t = _annotations.read(type(items[0])).type
            return [t.encode(i) for i in items], t
        except _unmapped.Unmapped:
            pass
    return items, JSON


def _call(tracer: _graph.Tracer, scope: Scope, body: Callable[..., Any], item: Any) -> Any:
    """Trace the body of a foreach."""
    with tracer.inside(scope):
        index = [Future(Value(scope, _INT, "index"))]
        return body(item, *index[: _arity(body) - 1])


def _column(tracer: _graph.Tracer, items: Group, body: Callable[..., Any], options: Mapping[str, Any]) -> Future:
    """Return one of several results for every item, which the body reads."""
    if not items._ff_depth:
        raise error(f"foreach needs a list; {items!r} is a single result with several values")
    scope = Scope("each", parent=tracer.scope)
    values = {name: Future(Value(scope, future._ff.type.inner.elem or JSON, "item", name)) for name, future in items._ff_values.items()}
    returned = _call(tracer, scope, body, Group(f"one item of {items._ff_label}", items._ff_python, values, items._ff_depth - 1))
    if scope.nodes:
        raise error(
            f"foreach cannot call operators for the items of {items._ff_label}, because each has several values: {', '.join(values)}. Call all operators in the "
            f"body of one foreach, or choose one value first: foreach(foreach({items._ff_label}, lambda item: item.{next(iter(values))}), …)"
        )
    name, _, rest = _path(scope, returned, options).partition(".")
    return _fields_of(items._ff_values[name]._ff, rest, returned._ff.type) if rest else items._ff_values[name]


def _path(scope: Scope, returned: Any, options: Mapping[str, Any]) -> str:
    """Return the path of the field that a body without operators reads."""
    if not isinstance(returned, Future) or returned._ff.kind != "item" or returned._ff.scope is not scope or not returned._ff.name:
        raise error(
            "the body of foreach calls no operator, so it must return a field of the item, such as foreach(fits, lambda fit: fit.accuracy); "
            "compute other values in an operator"
        )
    useless = next((name for name, value in options.items() if value and name != "allow_partial"), "")
    if useless:
        raise error(f"the body of foreach calls no operator, so {useless} has no effect; remove it")
    return returned._ff.name


def _fields_of(items: Value, path: str, t: Type) -> Future:
    """Return one field of every item of a list."""
    return Future(expression(list_of(t), "map(", items, f", .{path})"))


class _Loop:
    def __init__(self, tracer: _graph.Tracer, body: Callable[..., Any], items: Any, item: Type, options: Dict[str, Any]) -> None:
        self._tracer, self._body, self._items, self._item, self._options = tracer, body, items, item, options

    def trace(self, name: str) -> Any:
        outer = self._tracer.scope
        scope = Scope(name or "each", parent=outer)
        scope.final = outer.final
        names = _parameters(self._body) or ["item"]
        returned = _call(self._tracer, scope, self._body, Future(Value(scope, self._item, "item")))
        if not scope.nodes:
            path = _path(scope, returned, {**self._options, "name": name})
            if not isinstance(self._items, Value):
                raise error("the body of foreach calls no operator, and its items are known now; use a list comprehension")
            return _fields_of(self._items, path, returned._ff.type)
        loop = Foreach(self._items, self._item, scope, self._options)
        only = scope.nodes[0]
        if len(scope.nodes) == 1 and only.foreach is None and _is_result(returned, only):
            return self._inline(outer, scope, only, loop, returned, name)
        return self._graph(outer, scope, loop, returned, names, name)

    def _inline(self, outer: Scope, scope: Scope, node: Node, loop: Foreach, returned: Any, name: str) -> Any:
        """Make the only node of the body the fan-out itself."""
        node.name = outer.unique(name or node.name)
        node.scope, node.foreach = outer, loop
        node.conditions = [*outer.conditions, *node.conditions]
        scope.inlined = outer
        outer.nodes.append(node)
        python = returned._ff_python if isinstance(returned, Group) else ""
        return _future.result(node, python, not isinstance(returned, Group))

    def _graph(self, outer: Scope, scope: Scope, loop: Foreach, returned: Any, names: List[str], name: str) -> Any:
        """Make the body a graph that a node runs for each item."""
        scope.inputs.append(Input(names[0], self._item, Value(scope, self._item, "item")))
        if len(names) > 1:
            scope.inputs.append(Input(names[1], _INT, Value(scope, _INT, "index")))
        for inner in scope.nodes:  # only the node of the fan-out is an exit handler
            inner.final = False
        outputs, python, single = _returned.read(scope, returned)
        scope.outputs = outputs
        scope.name = self._tracer.graph_name(name or "each_" + scope.nodes[0].name)
        self._tracer.graphs[scope.name] = scope
        with self._tracer.inside(outer):
            node = add_node(self._tracer, name or scope.name, {"type": "graph", "graph": scope.name}, None)
        node.body, node.foreach = scope, loop
        node.outputs = [NodeOutput(o.name, o.type) for o in outputs]
        return _future.result(node, python, single, _future.depth_of(returned))


def _is_result(returned: Any, node: Node) -> bool:
    """Whether a body returns exactly what its node returns."""
    if returned is None:
        return not node.outputs
    if isinstance(returned, Group):
        return returned._ff_node is node
    if not isinstance(returned, Future) or returned._ff.node is not node:
        return False
    return returned._ff.kind == "node" or returned._ff.kind == "output" and len(node.outputs) == 1


@overload
def when(condition: bool, then: Callable[[], R], otherwise: Callable[[], U]) -> Union[R, U]: ...
@overload
def when(condition: bool, then: Callable[[], R]) -> Optional[R]: ...


def when(condition: Any, then: Callable[[], Any], otherwise: Optional[Callable[[], Any]] = None) -> Any:
    """Run `then` if the condition is true, or `otherwise` if it is false, and return the result.

    FlowForge skips the operators of the other branch. To create a condition, compare futures.
    Combine conditions with & and |, and negate a condition with == False.
    """
    for branch in (then, otherwise):
        if branch is not None and not callable(branch) or isinstance(branch, (Future, Group)):
            raise error("when needs functions, so that only one of them runs: write when(condition, lambda: train(rows), lambda: …)")
    if not isinstance(condition, Future):
        if type(condition) is int and condition in (-1, -2):  # ~ of a real bool
            condition = condition == -1
        return then() if condition else (otherwise() if otherwise else None)
    if condition._ff.kind == "node":
        form = "; pass a form with a field of type bool to approval, and test this field" if condition._ff.node and condition._ff.node.section["type"] == "approval" else ""
        raise error(f"the condition is {condition._ff.label}, which returns nothing{form}")
    if condition._ff.type.kind not in ("Boolean", "JSON"):
        raise error(f"the condition is {article(condition._ff.type)}, not true or false; compare it, such as {condition._ff.label} > 0.9")
    scope = _graph.current_scope()
    first = _branch(scope, condition._ff, then)
    second = _branch(scope, _arithmetic.negation(condition._ff), otherwise) if otherwise else None
    return _merged(condition._ff, first, second)


def _branch(scope: Scope, condition: Value, body: Callable[[], Any]) -> Any:
    scope.conditions.append(condition)
    try:
        return body()
    finally:
        scope.conditions.pop()


def _merged(condition: Value, first: Any, second: Any) -> Any:
    """Return the value of the branch that runs."""
    values = _fields(first), _fields(second)
    if values[0] is None and values[1] is None:
        return None
    if values[0] is not None and values[1] is not None and list(values[0]) != list(values[1]):
        shown = [", ".join(v) if list(v) != [""] else "one value" for v in values if v is not None]
        raise error(f"the branches of when return different values: {shown[0]}, and {shown[1]}; let both return the same")
    names = list(values[0] or values[1] or {})
    if len({g._ff_depth for g in (first, second) if isinstance(g, Group)}) == 2:
        raise error(f"the branches of when return different types: `{first._ff_type}` and `{second._ff_type}`; let both return the same")
    merged = {n: _either(condition, (values[0] or {}).get(n), (values[1] or {}).get(n)) for n in names}
    if list(merged) == [""]:
        return merged[""]
    return _group(first, second, merged)


def _group(first: Any, second: Any, values: Dict[str, Any]) -> Group:
    """Return several values of the branch that runs. A branch without a result is not a Group."""
    groups = [g for g in (first, second) if isinstance(g, Group)]
    depth = groups[0]._ff_depth
    if depth and len(groups) == 1:
        raise error(
            f"only one branch of when returns a `{groups[0]._ff_type}`, so the list may be absent; let both branches return one, "
            f"or return one value of every item: foreach({groups[0]._ff_label}, lambda item: item.{next(iter(values))})"
        )
    python = " or ".join(dict.fromkeys(g._ff_python for g in groups))
    return Group("when(…)", python if len(groups) == 2 else f"Optional[{python}]", values, depth)


def _fields(returned: Any) -> Optional[Dict[str, Any]]:
    if returned is None or isinstance(returned, Future) and returned._ff.kind == "node":
        return None
    if isinstance(returned, Group):
        return dict(returned._ff_values)
    if not isinstance(returned, Future) and _wire.holds_future(returned):
        raise error(
            f"a branch of when returns a {type(returned).__name__} of several values; let it return one value or the results of one operator, "
            "or choose each value with a separate when: when(condition, lambda: first, lambda: second)"
        )
    return {"": returned}


def _either(condition: Value, first: Any, second: Any) -> Future:
    types = [_type(v) for v in (first, second) if v is not None]
    t = types[0] if len(types) == 1 or not mismatch(types[1], types[0]) else types[1]
    if len(types) == 2 and mismatch(types[0], t):
        raise error(f"the branches of when return different types: `{types[0].shown}` and `{types[1].shown}`")
    if first is None or second is None:
        t = optional_of(t)
    return Future(expression(t, "(", condition, " ? ", *_lenient(first), " : ", *_lenient(second), ")"))


def _type(value: Any) -> Type:
    return value._ff.type if isinstance(value, Future) else _constants([value])[1]


def _lenient(value: Any) -> List[Union[str, Value]]:
    """Write a value that is nil if its operator was skipped."""
    if not isinstance(value, Future):
        return [_graph.constant_text(value)]
    return ["(", value._ff, " ?? nil)"] if value._ff.kind == "output" else [value._ff]
