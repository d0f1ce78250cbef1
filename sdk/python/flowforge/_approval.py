"""Approvals: nodes that wait until a person answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Type as Class, TypeVar, overload

from . import _annotations, _future, _graph, _returned, _wire
from ._future import Future
from ._graph import NodeOutput, Port
from ._operator import add_node
from ._place import error
from ._times import span

if TYPE_CHECKING:
    from ._options import Span

T = TypeVar("T")


@overload
def approval(message: str, form: Class[T], *, values: Optional[Mapping[str, Any]] = ..., default: Optional[T] = ..., timeout: Optional[Span] = ..., name: str = ..., after: Any = ...) -> T: ...
@overload
def approval(message: str, form: None = ..., *, values: Optional[Mapping[str, Any]] = ..., default: None = ..., timeout: Optional[Span] = ..., name: str = ..., after: Any = ...) -> None: ...


def approval(message: str, form: Any = None, *, values: Optional[Mapping[str, Any]] = None, default: Any = None, timeout: Any = None, name: str = "approval", after: Any = None) -> Any:
    """Wait until a person answers.

    The message can contain results of operators and inputs of the workflow: `{{accuracy}}` is
    the value of `values={"accuracy": score}`.

    `form` is a NamedTuple or a dataclass. The person fills in its fields, and the answer has
    this type. After `timeout`, the default answer applies; without a default, the node fails.
    In plain Python, the default is the answer, and a missing default raises DefinitionError.
    """
    tracer = _graph.tracer()
    if tracer is None:
        if form is not None and default is None:
            raise error("approval: no person can answer in plain Python; set default=…")
        return default
    section: Dict[str, Any] = {"type": "approval", "approval": {"message": message}}
    if timeout is not None:
        section["timeout"] = span(timeout)
    t = _annotations.read(form).type if form is not None else None
    if t is not None:
        section["approval"]["form"] = [_returned.form_field(f) for f in t.fields]
        if default is not None:
            section["approval"]["default"] = _wire.constant("the default of approval", t, default)
    ports = _message_values(message, values or {})
    node = add_node(tracer, name, section, after)
    node.ports, node.outputs = ports, [NodeOutput(f.name, f.type) for f in t.fields] if t is not None else []
    return _future.result(node, t.python if t else "None", False)


def _message_values(message: str, values: Mapping[str, Any]) -> List[Port]:
    """Return the inputs of an approval, which the tags in its message read."""
    tags = set(re.findall(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}", message))
    for tag in sorted(tags - set(values)):
        raise error(f"approval: values has no {tag}, which the message contains; pass values={{{tag!r}: …}}")
    ports = []
    for name, value in values.items():
        if name not in tags:
            raise error(f"approval: the message does not contain {name}; write {{{{{name}}}}} where its value belongs")
        if not isinstance(value, Future) or value._ff.kind == "node":
            raise error(f"approval: the value {name} is not the result of an operator or an input of the workflow; write it in the message")
        ports.append(Port(name, value._ff.type, value._ff))
    return ports
