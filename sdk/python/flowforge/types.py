"""The constants of the protocol: task states, log levels and metric types."""

from ._types import LogLevel, MetricType, TaskStatus

__all__ = ["LogLevel", "MetricType", "TaskStatus"]
