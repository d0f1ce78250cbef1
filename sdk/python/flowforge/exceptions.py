"""Every error that the package raises.

    FlowForgeError
    ├── InputError    an input that is not there, or is not a file
    └── OutputError   an output or checkpoint that cannot be written

An unreachable server raises nothing: a task never fails because of it.
"""


class FlowForgeError(Exception):
    """Any error of this package."""


class InputError(FlowForgeError):
    """An input that the workflow does not give, or that is not a file."""


class OutputError(FlowForgeError):
    """An output or a checkpoint that cannot be written as it is."""
