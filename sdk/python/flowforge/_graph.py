"""The graph that results from tracing a workflow function.

A Scope holds the nodes of a workflow, of a sub-workflow or of the body of a foreach. Nodes
refer to values of their own scope or of one around it; the document writer turns references
to outer scopes into inputs of graphs.
"""

from __future__ import annotations

import contextlib
import contextvars
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union

from ._place import error
from ._schema import Type, literal

_RESERVED = {"inputs", "item", "index"}


def _identifier(preferred: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", preferred).lstrip("_0123456789-")[:55]


def numbered(name: str, taken: Iterable[str]) -> str:
    """Return name, name_2, …: the first that differs from all others by more than case."""
    others = {other.lower() for other in taken}
    found, number = name, 1
    while found.lower() in others:
        number += 1
        found = f"{name}_{number}"
    return found


class Scope:
    """A set of nodes with its own inputs."""

    def __init__(self, name: str, parent: Optional["Scope"] = None) -> None:
        self.name = name
        self.parent = parent
        self.nodes: List[Node] = []
        self.inputs: List[Input] = []
        self.outputs: List[Output] = []
        self.depth = 0  # of the lists around each output, if the function returns a foreach over several values
        self.conditions: List[Value] = []
        self.final = False  # nodes are exit handlers
        self.description = ""
        self.options: Dict[str, Any] = {}
        self.inlined: Optional[Scope] = None  # the scope that took the only node of this body
        self.captured: Dict[Tuple[Any, ...], Input] = {}

    @property
    def home(self) -> "Scope":
        return self.inlined.home if self.inlined is not None else self

    def unique(self, preferred: str) -> str:
        """Return a name for a node: preferred, or preferred_2, …"""
        name = _identifier(preferred) or "node"
        return numbered(f"{name}_" if name in _RESERVED else name, [n.name for n in self.nodes])

    def around(self, other: "Scope") -> bool:
        """Whether this scope is other or contains it."""
        scope: Optional[Scope] = other
        while scope is not None:
            if scope.home is self:
                return True
            scope = scope.parent
        return False


@dataclass
class Input:
    """An input of a scope. field is its entry in the document of a workflow."""

    name: str
    type: Type
    source: Optional["Value"] = None  # in the parent, for an input that a body captured
    field: Dict[str, Any] = field(default_factory=dict)


@dataclass
class Output:
    """An output of a scope."""

    name: str
    type: Type
    value: "Value"
    description: str = ""


@dataclass
class Port:
    """An input of a node: a value of the graph, or a constant."""

    name: str
    type: Type
    value: Optional["Value"] = None
    constant: Any = None


@dataclass
class NodeOutput:
    """An output of a node."""

    name: str
    type: Type
    storage: str = ""
    description: str = ""


@dataclass
class Node:
    """One operator of the document. section holds its fields that do not depend on the graph."""

    name: str
    scope: Scope
    section: Dict[str, Any]
    ports: List[Port] = field(default_factory=list)
    outputs: List[NodeOutput] = field(default_factory=list)
    conditions: List["Value"] = field(default_factory=list)
    rules: List["Rule"] = field(default_factory=list)
    foreach: Optional["Foreach"] = None
    body: Optional[Scope] = None  # the graph that it runs
    final: bool = False  # it is an exit handler

    def output(self, name: str) -> NodeOutput:
        return next(o for o in self.outputs if o.name == name)


@dataclass
class Foreach:
    """Makes a node run for each item of a list."""

    items: Union["Value", List[Any], range]
    item: Type
    body: Scope
    options: Dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Value:
    """A value that exists when the workflow runs.

    kind is output (of node), input (of scope), item, index, execution, node (a name in rules
    and expressions) or expression, whose parts are strings and other values.
    """

    scope: Scope
    type: Type
    kind: str
    name: str = ""
    node: Optional[Node] = None
    parts: Tuple[Union[str, "Value"], ...] = ()

    @property
    def label(self) -> str:
        """The name of the value in messages to the user."""
        if self.kind == "output" and self.node is not None:
            return f"{self.node.name}.{self.name}"
        return self.name or ("this expression" if self.kind == "expression" else self.kind)

    def leaves(self) -> Iterator["Value"]:
        if self.kind != "expression":
            yield self
        for part in self.parts:
            if isinstance(part, Value):
                yield from part.leaves()


def expression(type: Type, *parts: Union[str, Value]) -> Value:
    """Return the value of an expression, in the innermost scope of its parts."""
    leaves = [leaf for part in parts if isinstance(part, Value) for leaf in part.leaves()]
    scope = leaves[0].scope if leaves else current_scope()
    for leaf in leaves:
        if scope.around(leaf.scope):
            scope = leaf.scope
    return Value(scope, type, "expression", parts=parts)


@dataclass(frozen=True)
class Rule:
    """A rule over the end states of nodes. holds is its value in plain Python."""

    parts: Tuple[Union[str, Value], ...]
    holds: bool = True

    def __and__(self, other: "Rule") -> "Rule":
        return Rule(("(", *self.parts, " && ", *other.parts, ")"), self.holds and other.holds)

    def __or__(self, other: "Rule") -> "Rule":
        return Rule(("(", *self.parts, " || ", *other.parts, ")"), self.holds or other.holds)

    def __invert__(self) -> "Rule":
        return Rule(("!(", *self.parts, ")"), not self.holds)


class Tracer:
    """The state of tracing one workflow."""

    def __init__(self, root: Scope) -> None:
        self.root = root
        self.scope = root
        self.graphs: Dict[str, Scope] = {}  # sub-workflows, by name
        self.made: Dict[int, str] = {}  # the name of the graph of a workflow function
        self.requirements: List[str] = []
        self.package: Optional[Path] = None  # the folder of the files that tasks get
        self.documents: Dict[str, Dict[str, Any]] = {}  # written graphs, by name
        self.functions: Dict[str, Callable[..., Any]] = {}  # of operators, by "module:name"

    @contextlib.contextmanager
    def inside(self, scope: Scope) -> Iterator[Scope]:
        before, self.scope = self.scope, scope
        try:
            yield scope
        finally:
            self.scope = before

    def graph_name(self, preferred: str) -> str:
        return numbered(_identifier(preferred) or "graph", self.graphs)


_TRACER: contextvars.ContextVar[Optional[Tracer]] = contextvars.ContextVar("flowforge_tracer", default=None)


def tracer() -> Optional[Tracer]:
    """Return the tracer while a workflow is traced, otherwise None."""
    return _TRACER.get()


def current_scope() -> Scope:
    found = tracer()
    if found is None:
        raise error("this value belongs to a workflow that is being defined, and cannot be used outside it")
    return found.scope


@contextlib.contextmanager
def tracing(root: Scope) -> Iterator[Tracer]:
    """Trace all calls of operators in the context."""
    found = Tracer(root)
    token = _TRACER.set(found)
    try:
        yield found
    finally:
        _TRACER.reset(token)


def constant_text(value: Any) -> str:
    """Write a constant as part of an expression."""
    if value is None:
        return "nil"
    return literal(value)
