"""The errors that this package raises.

    FlowForgeError
    ├── InputError        an input does not exist or is not a file
    ├── OutputError       an output or checkpoint cannot be written
    ├── DefinitionError   a workflow or operator is defined incorrectly
    ├── ServerError       the server refused a request or did not answer
    └── ExecutionError    an execution failed or was cancelled

An unreachable server raises no error in a task, so a task never fails because of it.
"""


class FlowForgeError(Exception):
    """Base class of all errors in this package."""


class InputError(FlowForgeError):
    """An input does not exist or is not a file."""


class OutputError(FlowForgeError):
    """An output or a checkpoint cannot be written."""


class DefinitionError(FlowForgeError):
    """A workflow or an operator is defined incorrectly.

    The message starts with the file and the line of the mistake.
    """


class ServerError(FlowForgeError):
    """The server refused a request or did not respond. `status` is the HTTP status, or 0 without a response."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class ExecutionError(FlowForgeError):
    """An execution failed or was cancelled."""
