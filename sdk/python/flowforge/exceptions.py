"""The errors that this package raises.

    FlowForgeError
    ├── InputError    an input does not exist or is not a file
    └── OutputError   an output or checkpoint cannot be written

An unreachable server raises no error, so a task never fails because of it.
"""


class FlowForgeError(Exception):
    """Base class of the errors of this package."""


class InputError(FlowForgeError):
    """An input does not exist or is not a file."""


class OutputError(FlowForgeError):
    """An output or a checkpoint cannot be written."""
