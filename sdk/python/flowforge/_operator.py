"""Operators: functions that run as nodes of a workflow."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, Coroutine, Dict, Generic, List, Mapping, Optional, Protocol, TypeVar, overload

from . import _contained, _coroutines, _functions, _future, _graph, _habits, _handles, _options, _place, _plain, _results, _wire, client
from ._graph import Node, NodeOutput, Rule
from ._place import error
from ._schema import Type
from ._signature import Result, Signed
from .exceptions import OutputError

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, Unpack

    from ._options import OperatorOptions

    P = ParamSpec("P")
else:
    P = TypeVar("P")
R = TypeVar("R")


class Operator(Signed, Generic[P, R]):
    """A function that runs as a node of a workflow.

    Outside a workflow, a call is an ordinary function call. Inside a workflow, a call adds a
    node and returns futures of its results.
    """

    __name__: str

    def __init__(self, function: Callable[P, R], options: Mapping[str, Any], local_names: Mapping[str, Any]) -> None:
        _functions.check(function, "operator")
        _options.check(options, "operator", function.__name__)
        self.function = function
        self._options = dict(options)
        self._sign(function, local_names, bool(options.get("pickle")))
        if not client.inside and not self.signature.results:
            _functions.check_result(function, self.signature.annotated)
        functools.update_wrapper(self, function)

    @property
    def name(self) -> str:
        return str(self._options.get("name") or self.function.__name__)

    def __repr__(self) -> str:
        return self._described("operator", self.name)

    @property
    def pickle(self) -> bool:
        """Whether values may be passed as pickles."""
        return bool(self._options.get("pickle"))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        tracer = _graph.tracer()
        if tracer is not None:
            found: R = self._trace(tracer, args, kwargs)
            return found
        if not all(rule.holds for rule in plain_rules(self._options.get("after"))):
            return None  # type: ignore[return-value]
        return self.run(*args, **kwargs)

    def run(self, *args: Any, **kwargs: Any) -> R:
        """Call the function with the values that a task would pass to it."""
        given = _plain.arguments(self.function, self.signature, args, kwargs)
        types = {p.name: p.type for p in self.signature.parameters}
        returned: Any = self.function(**{name: _plain.received(types[name], value, self.pickle) for name, value in given.items()})  # type: ignore[call-arg]
        return self._returned(_coroutines.finished(returned))

    def _returned(self, returned: Any) -> R:
        s = self.signature
        if not s.results:
            return None  # type: ignore[return-value]
        if s.single:
            found: R = self._kept(s.results[0], returned)
            return found
        values = [self._kept(r, v) for r, v in zip(s.results, _results.split(self.name, s, returned))]
        built: R = s.build(values)
        return built

    def _kept(self, result: Result, value: Any) -> Any:
        """Return a result as other operators receive it. Raises OutputError if a task could not write it."""
        t = result.type.inner
        if not _results.present(self.name, result.name, result.type, value):
            return None
        if not t.holds_blob and not t.stream:
            encoded = _results.encode(self.name, result.name, t, value)
            return t.decode(_plain.as_json(encoded)) if _plain.is_plain(t) or t.kind == "JSON" else _plain.value(t, value)
        if t.blob or t.stream:
            return self._kept_file(result.name, t, value)
        kept = _results.with_files(self.name, result.name, t, value, self._kept_file)
        _results.encode(self.name, result.name, t, _contained.changed(t, kept, lambda of, file: {}))
        return _plain.value(t, kept)

    def _kept_file(self, name: str, t: Type, value: Any) -> Any:
        if t.blob and not self.pickle:
            _results.check_file(self.name, name, t, value)
        value = _plain.value(t, value)
        try:
            _plain.check_path(name, value)
            if isinstance(value, _handles.File) and not self.pickle:
                value._check_format(name)
        except OutputError as err:
            raise OutputError(f"operator {self.name}, {err}") from None
        return value

    def options(self, **options: Unpack[OperatorOptions]) -> Operator[P, R]:
        """Return a copy of the operator with different options, for one or more calls."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        _options.check(options, "operator", self.name)
        if "pickle" in options and bool(options["pickle"]) != self.pickle:
            raise error(f"pickle of {self.name} cannot change for one call, because a task reads it from the file; set it in @operator(pickle=…)")
        copy._options = {**self._options, **options}
        return copy

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise _habits.missing(self, name, operator=True)

    def _trace(self, tracer: _graph.Tracer, args: Any, kwargs: Any) -> Any:
        given = _wire.bind(self.function, args, kwargs)
        node = add_node(tracer, self.name, self.section(), self._options.get("after"))
        node.ports, assemblies = _wire.wire(node.name, self.signature, given)
        node.outputs = [NodeOutput(r.name, r.type, r.storage, r.description) for r in self.signature.results]
        self._code(tracer, node, assemblies)
        return _future.result(node, self.signature.returns, self.signature.single)

    def section(self) -> Dict[str, Any]:
        """Return the fields of the operator in the document, besides its graph and its code."""
        description = self._options.get("description") or self.signature.description
        return {"type": "python", **({"description": description} if description else {}), **_options.operator_section(self._options)}

    def _code(self, tracer: _graph.Tracer, node: Node, assemblies: Mapping[str, Any]) -> None:
        from . import _pack, _requirements

        if tracer.package is not None:
            _pack.check_inside(self.function, tracer.package)
        arguments = f", {assemblies!r}" if assemblies else ""
        name = target(self.function)
        tracer.functions[name] = self.function
        script = f"from flowforge._task import run\n\nrun({name!r}{arguments})\n"
        code: Dict[str, Any] = {"package": ".", "script": script}
        file = _pack.source_of(self.function)
        packages = _requirements.read(self._options.get("packages", ()), self._options.get("requirements", ""), file)
        requirements = packages or tracer.requirements
        if requirements:
            code["requirements"] = list(requirements)
        if self._options.get("image"):
            code["image"] = self._options["image"]
        node.section["code"] = code


def target(function: Callable[..., Any]) -> str:
    """Return "module:name", by which a task finds the function."""
    from . import _pack

    place = _place.of_code(function.__code__)
    if "<locals>" in function.__qualname__:
        raise error(f"the operator {function.__name__} is inside another function, where a task cannot find it; move it to the top level of its file", place)
    found: Any = _Module(_pack.written(function).__globals__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, Operator) or found.function is not function:
        what = "another operator" if isinstance(found, Operator) else f"a {type(found).__name__}" if found is not None else "nothing"
        raise error(
            f"the operator {function.__name__} cannot be found by a task: the name {function.__qualname__} of its file is {what}. "
            "Write @operator directly above the def, give every operator its own name, and set options of one call with .options(…)",
            place,
        )
    return f"{_pack.module_of(function)}:{function.__qualname__}"


class _Module:
    """The names of a module as attributes."""

    def __init__(self, names: Dict[str, Any]) -> None:
        self.__dict__ = names


def add_node(tracer: _graph.Tracer, name: str, section: Mapping[str, Any], after: Any) -> Node:
    """Add a node to the scope that is being traced."""
    scope = tracer.scope
    node = Node(scope.unique(name), scope, dict(section), conditions=list(scope.conditions), final=scope.final)
    if after is not None:
        node.rules = rules(after)
        if scope.final:
            raise error(f"{node.name}: an exit handler runs after all operators; remove after")
    scope.nodes.append(node)
    return node


def rules(after: Any) -> List[Rule]:
    """Read the option after: a result of an operator, a rule, or a list of these."""
    if isinstance(after, Rule):
        return [after]
    if isinstance(after, (list, tuple)):
        return [rule for one in after for rule in rules(one)]
    node = _future.node_of(after)
    if node is None:
        raise no_result(after, "after=", "; use a result, failed(…), completed(…) or skipped(…)")
    return [Rule((node_value(node),))]


def no_result(value: Any, before: str = "", instead: str = "") -> Exception:
    """Return the error for something that should be the result of an operator."""
    if hasattr(type(value), "signature"):
        name = getattr(value, "__name__", "it")
        return error(f"{before}{name} is {article_of(value)}; pass the result of a call, such as found after found = {name}(…)")
    return error(f"{before}{value!r} is not the result of an operator in this workflow{instead}")


def article_of(value: Any) -> str:
    """Return what a thing with a signature is called."""
    return "an operator" if isinstance(value, Operator) else f"a {type(value).__name__.lower()}"


def plain_rules(after: Any) -> List[Rule]:
    """Return the rules in the option after of a call in plain Python."""
    every = after if isinstance(after, (list, tuple)) else [after]
    return [rule for rule in every if isinstance(rule, Rule)]


def node_value(node: Node) -> _graph.Value:
    return _graph.Value(node.scope, Type("None"), "node", node.name, node=node)


if TYPE_CHECKING:

    class Decorator(Protocol):
        """Makes a function an operator. The result of an async function is that of its coroutine."""

        @overload
        def __call__(self, function: Callable[P, Coroutine[Any, Any, R]]) -> Operator[P, R]: ...

        @overload
        def __call__(self, function: Callable[P, R]) -> Operator[P, R]: ...


@overload
def operator(function: Callable[P, Coroutine[Any, Any, R]]) -> Operator[P, R]: ...


@overload
def operator(function: Callable[P, R]) -> Operator[P, R]: ...


@overload
def operator(**options: Unpack[OperatorOptions]) -> Decorator: ...


def operator(function: Optional[Callable[..., Any]] = None, **options: Any) -> Any:
    """Make a function an operator: @operator or @operator(cpu=2, memory="2Gi", retry=2).

    The annotations of its parameters and its result become the inputs and outputs of its node.
    An operator can be async. Raises DefinitionError if an annotation is missing or has no
    FlowForge type.
    """
    frame = _place.caller()
    names = dict(frame.f_locals) if frame is not None else {}
    if function is not None:
        return Operator(function, {}, names)
    return lambda made: Operator(made, options, names)


