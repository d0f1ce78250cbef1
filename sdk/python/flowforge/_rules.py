"""Rules over the end states of operators, and the state of the execution.

Every function does the same in plain Python, with actual values.
"""

from __future__ import annotations

import contextvars
from typing import Any, Callable, List, Optional

from . import _future, _graph
from ._future import Future, Group
from ._graph import Rule, expression
from ._operator import no_result, node_value
from ._place import error
from ._schema import Type

_STR = Type("String", python="str")
_INT = Type("Integer", python="int")


def length(values: Any) -> int:
    """Return the number of entries in a list. len() works only with actual values."""
    if isinstance(values, Group) and values._ff_depth:
        values = next(iter(values._ff_values.values()))
    if isinstance(values, Future):
        found: Any = Future(expression(_INT, "len(", values._ff, ")"))
        return found  # type: ignore[no-any-return]
    return len(values)


def _rule(value: Any, status: str, holds: bool) -> Rule:
    if _graph.tracer() is None:
        return Rule((status,), holds)
    node = _future.node_of(value)
    if node is None:
        raise no_result(value)
    return Rule((node_value(node), f".{status}"), holds)


def succeeded(value: Any) -> Rule:
    """A rule for the option after: the operator succeeded."""
    return _rule(value, "Succeeded", True)


def failed(value: Any) -> Rule:
    """A rule for the option after: the operator failed. The node that then runs handles the failure."""
    return _rule(value, "Failed", False)


def skipped(value: Any) -> Rule:
    """A rule for the option after: the condition of the operator was false."""
    return _rule(value, "Skipped", False)


def completed(value: Any) -> Rule:
    """A rule for the option after: the operator ended in any state."""
    return _rule(value, "Completed", True)


def any_succeeded(values: Any) -> Rule:
    """A rule for the option after: at least one item of a foreach succeeded."""
    return _rule(values, "AnySucceeded", True)


def all_failed(values: Any) -> Rule:
    """A rule for the option after: all items of a foreach failed."""
    return _rule(values, "AllFailed", False)


def status(value: Any) -> str:
    """Return the end state of an operator, such as "SUCCEEDED", for a condition."""
    if _graph.tracer() is None:
        return "SUCCEEDED"
    node = _future.node_of(value)
    if node is None:
        raise no_result(value)
    found: Any = Future(expression(_STR, node_value(node), ".status"))
    return found  # type: ignore[no-any-return]


class PlainExecution:
    """The state of a workflow that runs in plain Python."""

    def __init__(self) -> None:
        self.status = "RUNNING"
        self.handlers: List[Callable[[], Any]] = []


PLAIN: contextvars.ContextVar[Optional[PlainExecution]] = contextvars.ContextVar("flowforge_plain", default=None)


class _Execution:
    """The execution of the workflow, for conditions and inputs of exit handlers."""

    def _read(self, name: str, plain: Any, t: Type) -> Any:
        if _graph.tracer() is None:
            return plain
        return Future(expression(t, f"execution.{name}"))

    @property
    def status(self) -> str:
        """RUNNING, SUCCEEDED, FAILED or CANCELLED."""
        found = PLAIN.get()
        value: str = self._read("status", found.status if found else "RUNNING", _STR)
        return value

    @property
    def id(self) -> str:
        """The ID of the execution."""
        value: str = self._read("id", "", _STR)
        return value

    @property
    def name(self) -> str:
        """The name of the execution."""
        value: str = self._read("name", "", _STR)
        return value


execution = _Execution()


def on_exit(body: Callable[[], Any]) -> None:
    """Run operators after all others have ended, even after a failure or a cancellation."""
    tracer = _graph.tracer()
    if tracer is None:
        found = PLAIN.get()
        if found is None:
            raise error("on_exit works only inside a workflow")
        found.handlers.append(body)
        return
    scope = tracer.scope
    if scope.final:
        raise error("an exit handler cannot have exit handlers")
    scope.final = True
    try:
        body()
    finally:
        scope.final = False
