"""The constants of the protocol."""

from enum import Enum


class TaskStatus(Enum):
    """States that a task can report."""

    PENDING = "PENDING"
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    RETRYING = "RETRYING"
    SKIPPED = "SKIPPED"


class LogLevel(Enum):
    """Severity of a log line."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


class MetricType(Enum):
    """How to interpret the points of a metric."""

    GAUGE = "gauge"  # a value at a point in time
    COUNTER = "counter"  # a total that only grows
    HISTOGRAM = "histogram"  # samples of a distribution
