"""The errors that people see."""

from metaflow.exception import MetaflowException


class FlowForgeException(MetaflowException):
    headline = "FlowForge"
