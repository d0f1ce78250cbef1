"""Workflows: functions that connect operators."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, ContextManager, Dict, Generic, Mapping, Optional, TypeVar, Union, overload

from . import _document, _functions, _future, _graph, _habits, _options, _place, _plain, _returned, _rules, _wire
from ._future import Future
from ._graph import Input, NodeOutput, Output, Scope, Value
from ._operator import add_node, plain_rules
from ._place import error
from ._schema import NotConstant, article
from ._signature import Parameter, Signed
from .exceptions import DefinitionError

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, Unpack

    from ._definition import Definition
    from ._options import WorkflowOptions
    from ._run import Run
    from ._sweep import Sweep, SweepOptions

    P = ParamSpec("P")
else:
    P = TypeVar("P")
R = TypeVar("R")


class Workflow(Signed, Generic[P, R]):
    """A function that connects operators.

    A call runs the workflow in this process. definition() returns the document for the server,
    and launch() runs it on the server. A call inside another workflow adds it as a graph of
    that workflow.
    """

    __name__: str

    def __init__(self, function: Callable[P, R], options: Mapping[str, Any], local_names: Mapping[str, Any]) -> None:
        _functions.check(function, "workflow")
        _options.check(options, "workflow", function.__name__)
        self.function = function
        self._options = dict(options)
        self._call: Dict[str, Any] = {}  # options of a call as a sub-workflow
        self._sign(function, local_names)
        functools.update_wrapper(self, function)

    @property
    def name(self) -> str:
        return str(self._options.get("name") or self.function.__name__.replace("_", "-").lower())

    def __repr__(self) -> str:
        return self._described("workflow", self.name)

    @property
    def version(self) -> str:
        """The version that the author chose, or "" for the next one."""
        return str(self._options.get("version", ""))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        tracer = _graph.tracer()
        if tracer is not None:
            found: R = self._embed(tracer, args, kwargs)
            return found
        if not all(rule.holds for rule in plain_rules(self._call.get("after"))):
            return None  # type: ignore[return-value]
        given = _plain.arguments(self.function, self.signature, args, kwargs)
        if _rules.PLAIN.get() is None:  # the server checks what starts an execution
            _plain.check(self.function.__name__, self.signature, given)
        return self._run(given)

    def _run(self, arguments: Mapping[str, Any]) -> R:
        """Run the function here, and its exit handlers at the end."""
        state = _rules.PlainExecution()
        token = _rules.PLAIN.set(state)
        function: Any = self.function
        try:
            try:
                returned: R = function(**arguments)
                state.status = "SUCCEEDED"
                return returned
            except BaseException:
                state.status = "FAILED"
                raise
            finally:
                for handler in state.handlers:
                    handler()
        finally:
            _rules.PLAIN.reset(token)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise _habits.missing(self, name, operator=False)

    def options(self, *, name: str = "", after: Any = None, allow_failure: bool = False) -> Workflow[P, R]:
        """Return a copy of the workflow with options for its node, to call it in another workflow."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._call = {"name": name, "after": after, "allow_failure": allow_failure}
        return copy

    def definition(self) -> Definition:
        """Trace the function and return its definition. Nothing runs.

        Raises DefinitionError for an invalid graph, with the line of the error.
        """
        from ._definition import Definition

        root = Scope(self.name)
        _functions.check_handlers(self.function, lambda value: hasattr(type(value), "signature"))
        with _graph.tracing(root) as tracer:
            with self._at_function():
                root.inputs = [Input(p.name, p.type, field=_entry(p)) for p in self.signature.parameters]
                tracer.requirements = self._requirements()
                tracer.package = self._package()
            self._trace(root)
            with self._at_function():
                body = _document.graph(root, tracer)
                graphs = self._graphs(tracer)
        document: Dict[str, Any] = {"name": self.name, "version": self.version or "1.0.0"}
        description = self._options.get("description") or self.signature.description
        if description:
            document["description"] = description
        with self._at_function():
            document.update(_options.workflow_section(self._options))
            document.update(body)
            if graphs:
                document["graphs"] = graphs
            types = {**{i.name: i.type for i in root.inputs}, **{f"output:{o.name}": o.type for o in root.outputs}}
            found = Definition(self, document, types, dict(self._options.get("metadata", {})), tracer.functions)
            found.parts = frozenset(tracer.made)
            return found

    def _at_function(self) -> ContextManager[None]:
        """Errors of the definition name the function, because no line of it runs."""
        return _place.at(_place.of_code(self.function.__code__))

    def _package(self) -> Optional[Path]:
        from . import _pack

        try:
            return _pack.root_of(self.function)[0]
        except DefinitionError:  # text that is not in a file, from which nothing can be registered
            return None

    def _requirements(self) -> Any:
        from . import _pack, _requirements

        return _requirements.read(self._options.get("packages", ()), self._options.get("requirements", ""), _pack.source_of(self.function))

    def _graphs(self, tracer: _graph.Tracer) -> Dict[str, Any]:
        for scope in list(tracer.graphs.values()):
            if scope.name not in tracer.documents:
                tracer.documents[scope.name] = _document.graph(scope, tracer)
        found = {}
        for name in sorted(tracer.graphs):
            scope = tracer.graphs[name]
            extra = {"description": scope.description} if scope.description else {}
            found[name] = {**extra, **tracer.documents[name], **scope.options}
        return found

    def _trace(self, scope: Scope) -> None:
        arguments = {p.name: Future(Value(scope, p.type, "input", p.name)) for p in self.signature.parameters}
        function: Any = self.function
        returned = function(**arguments)
        with self._at_function():
            scope.outputs, _, _ = _returned.read(scope, returned, self.signature)
        scope.depth = _future.depth_of(returned)

    def _embed(self, tracer: _graph.Tracer, args: Any, kwargs: Any) -> Any:
        """Add a node that runs this workflow as a graph."""
        given = _wire.bind(self.function, args, kwargs)
        name = tracer.made.get(id(self.function)) or self._make(tracer)
        scope = tracer.graphs[name]
        section: Dict[str, Any] = {"type": "graph", "graph": name}
        if self._call.get("allow_failure"):
            section["allow_failure"] = True
        node = add_node(tracer, self._call.get("name") or self.function.__name__, section, self._call.get("after"))
        ports, assemblies = _wire.wire(node.name, self.signature, given)
        if assemblies:
            raise error(f"{self.function.__name__}: {next(iter(assemblies))} is built from several values; combine them in an operator")
        node.ports = ports
        node.outputs = [NodeOutput(o.name, o.type) for o in scope.outputs]
        single = self.signature.single if self.signature.annotated else [o.name for o in scope.outputs] == ["result"]
        return _future.result(node, self.signature.returns if self.signature.annotated else "tuple", single, scope.depth)

    def _make(self, tracer: _graph.Tracer) -> str:
        """Trace this workflow as a graph and return its name."""
        name = tracer.graph_name(self.function.__name__)
        _functions.check_handlers(self.function, lambda value: hasattr(type(value), "signature"))
        scope = Scope(name)
        scope.description = self.signature.description
        if self._options.get("parallelism"):
            scope.options["parallelism"] = self._options["parallelism"]
        with self._at_function():
            scope.inputs = [Input(p.name, p.type, field=_entry(p)) for p in self.signature.parameters]
        tracer.graphs[name], tracer.made[id(self.function)] = scope, name
        # A recursive call needs the outputs before the function has returned them.
        scope.outputs = [Output(r.name, r.type, Value(scope, r.type, "output", r.name)) for r in self.signature.results]
        with tracer.inside(scope):
            self._trace(scope)
        return name

    @overload
    def launch(self, *args: P.args, **kwargs: P.kwargs) -> Run: ...

    @overload
    def launch(self, *, preset: str, **inputs: Any) -> Run: ...

    def launch(self, *args: Any, **kwargs: Any) -> Run:
        """Register this code on the server, launch it with these inputs, and return the run.

        `preset` is the name of a preset on the server; inputs override its values. You cannot
        use presets here if the workflow has a parameter called preset. Raises ServerError if
        the server rejects the definition, the preset or the inputs.
        """
        from . import _launch

        preset = "" if any(p.name == "preset" for p in self.signature.parameters) else str(kwargs.pop("preset", ""))
        return _launch.launch(self, _wire.bind_partially(self.function, args, kwargs), preset=preset)

    def sweep(self, space: Mapping[str, Any], **options: Unpack[SweepOptions]) -> Sweep:
        """Launch this code many times with different inputs, and return the sweep.

        search.sweep({"lr": [0.01, 0.1]}, method="grid", output="accuracy") is sweep(search, …): see
        flowforge.sweep for the options.
        """
        from . import _sweep

        if not isinstance(space, Mapping):
            raise error(f'the space is {space!r}; use a dictionary, such as {self.__name__}.sweep({{"lr": [0.01, 0.1]}}, method="grid")')
        return _sweep.sweep(self, space, **options)

    def deploy(self, version: str = "") -> str:
        """Register an immutable version and return its number."""
        from . import _launch

        return _launch.deploy(self, version).version


def _entry(p: Parameter) -> Dict[str, Any]:
    """Return the entry of a parameter in the launch form, besides name and type."""
    entry: Dict[str, Any] = {}
    if not p.required and p.default is not None:
        try:
            entry["default"] = p.type.encode(p.default)
        except NotConstant as err:
            raise error(f"the default of {p.name}, {p.default!r}: {err}") from None
        except Exception as err:  # encoders raise what their value raises
            raise error(f"the default of {p.name}, {p.default!r}, is not {article(p.type)}: {err}") from None
        why = _wire.constant_mismatch(entry["default"], p.type)
        if why:
            raise error(f"the default of {p.name}: {why}")
    if p.description:
        entry["description"] = p.description
    if p.hints:
        entry["ui"] = p.hints
    entry.update(p.rules)
    return entry


@overload
def workflow(function: Callable[P, R]) -> Workflow[P, R]: ...


@overload
def workflow(**options: Unpack[WorkflowOptions]) -> Callable[[Callable[P, R]], Workflow[P, R]]: ...


def workflow(function: Optional[Callable[P, R]] = None, **options: Any) -> Union[Workflow[P, R], Callable[[Callable[P, R]], Workflow[P, R]]]:
    """Make a function a workflow: @workflow or @workflow(name="digits.search").

    Its parameters become the fields of the launch form. Types come from the annotations,
    constraints from Annotated, and descriptions from the docstring.
    """
    frame = _place.caller()
    names = dict(frame.f_locals) if frame is not None else {}
    if function is not None:
        return Workflow(function, {}, names)
    return lambda made: Workflow(made, options, names)


