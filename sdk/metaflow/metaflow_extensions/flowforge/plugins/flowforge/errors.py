"""The errors that people see."""

from metaflow.exception import MetaflowException


class FlowForgeException(MetaflowException):  # type: ignore[misc]
    headline = "FlowForge"
