"""The errors that this package raises.

    FlowForgeError
    ├── InputError        an input does not exist or is not a file
    │   └── NotFoundError an output, an artifact or a version does not exist
    ├── OutputError       an output or checkpoint cannot be written
    ├── DefinitionError   a workflow or operator is defined or called incorrectly
    ├── ServerError       the server rejected a request or did not respond
    └── ExecutionError    an execution failed or was cancelled

An unreachable server raises no error in a task, so a task never fails because of it.
"""


from __future__ import annotations

from typing import List


class FlowForgeError(Exception):
    """Base class of all errors in this package."""

    def _render_traceback_(self) -> List[str]:
        """Return what IPython shows: frames of this package would push the message out of sight."""
        from . import _traceback

        return _traceback.in_notebook(self)


class InputError(FlowForgeError):
    """An input does not exist or is not a file."""


class NotFoundError(InputError, KeyError):
    """A run has no output or artifact with this name, or the catalogue has no such version. It is also a KeyError."""

    __str__ = Exception.__str__  # a KeyError would quote the message


class OutputError(FlowForgeError):
    """An output or a checkpoint cannot be written."""


class DefinitionError(FlowForgeError):
    """A workflow or an operator is defined incorrectly, or called with wrong arguments.

    The message starts with the file and the line of the error.
    """


class ServerError(FlowForgeError):
    """The server rejected a request or did not respond. `status` is the HTTP status, or 0 without a response."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class ExecutionError(FlowForgeError):
    """An execution failed or was cancelled. `node` is the name of the node that failed, or ""."""

    def __init__(self, message: str, node: str = "") -> None:
        super().__init__(message)
        self.node = node
