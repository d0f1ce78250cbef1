"""Checks the options that have units, so that a mistake names its line instead of a path in the document."""

from __future__ import annotations

import datetime
import re
from typing import Any, Mapping, Optional

from ._place import error

_NUMBER = r"\+?(?:\d[\d,]*\.?\d*|\.\d+)"
_CORES = re.compile(rf"\s*{_NUMBER}\s*m?\s*\Z")
_SIZE = re.compile(rf"\s*{_NUMBER}\s*(?:[kmgtpeKMGTPE][iI][bB]?|[kKMGTPE]B?)\s*\Z")
_UNIT = "weeks?|wk|w|days?|d|hours?|hrs?|h|milliseconds?|minutes?|mins?|ms|m|seconds?|secs?|s|microseconds?|us|µs|μs|nanoseconds?|ns"
_SPAN = re.compile(rf"\s*(?:\+?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|p[\dt][\d.,wdhmst]*|(?:\d+(?:[.,]\d+)?\s*(?:{_UNIT})\s*)+)\s*\Z", re.IGNORECASE)

_CORES_HELP = 'is not a number of cores, such as 2, 0.5 or "500m"'
_SIZE_HELP = 'is not a size, such as "512Mi" or "2Gi"'
_SPAN_HELP = 'is not a time span, such as "30m", "1h30m", a number of seconds or a timedelta'


def check(options: Mapping[str, Any], name: str) -> None:
    """Raise DefinitionError for resources and time spans that the server would reject."""
    for option, value in options.items():
        why = _problem(option, value)
        if why:
            raise error(f"{name}: {why}")


def _problem(option: str, value: Any) -> str:
    if value is None:
        return ""
    if option == "cpu":
        return "" if _is_number(value) or isinstance(value, str) and _CORES.match(value) else f"{option}={value!r} {_CORES_HELP}"
    if option in ("memory", "storage", "shm", "memory_limit"):
        return "" if isinstance(value, str) and (not value or _SIZE.match(value)) else f"{option}={value!r} {_SIZE_HELP}"
    if option in ("gpu", "pods"):
        return "" if _is_number(value) and isinstance(value, int) else f"{option}={value!r} is not a whole number of 0 or more"
    if option in ("timeout", "grace_period", "initial_delay", "max_delay", "window", "open_for", "ttl"):
        return "" if _is_span(value) else f"{option}={value!r} {_SPAN_HELP}"
    if option == "retry" and isinstance(value, int):
        return "" if _is_number(value) else f"retry={value!r} is not a whole number of 0 or more"
    if option in ("retry", "breaker", "cache", "retry_budget"):
        return next(filter(None, (_inside(option, name, part) for name, part in getattr(value, "__dict__", {}).items())), "")
    return ""


def _inside(option: str, name: str, value: Any) -> Optional[str]:
    why = _problem(name, value)
    return f"{option}: {why}" if why else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")


def _is_span(value: Any) -> bool:
    """Whether a value is a time span. The option ttl of a workflow is a mapping, which the server checks."""
    if isinstance(value, datetime.timedelta):
        return value >= datetime.timedelta()
    if isinstance(value, str):
        return not value or _SPAN.match(value) is not None
    return _is_number(value) or isinstance(value, Mapping)
