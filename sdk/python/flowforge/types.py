"""The words of the protocol: states, levels and kinds of metrics."""

from ._types import LogLevel, MetricType, TaskStatus

__all__ = ["LogLevel", "MetricType", "TaskStatus"]
