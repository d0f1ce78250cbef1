"""Checks the values of options, so that a mistake names its line instead of a path in the document."""

from __future__ import annotations

import datetime
import os
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


# What a value of another type would become: the names "g", "p" and "u" for locks="gpu", or true for pickle="no".
_TEXT = ("name", "version", "description", "owner_team", "gpu_type", "network", "image", "pool", "requirements")
_SWITCH = ("spread", "allow_failure", "preemptible", "resident", "fresh", "pickle")
_TEXTS = ("tags", "packages")
_NAMED = ("environment", "labels", "pod", "metadata", "ttl")
_COUNT = ("parallelism", "max_running", "max_depth")
_CLASSES = {
    "retry": "a whole number of retries, or Retry(limit, …)", "cache": "True, or Cache(…)", "breaker": "True, or Breaker(…)", "retry_budget": "RetryBudget(retries, …)",
}  # fmt: skip


def check(options: Mapping[str, Any], name: str) -> None:
    """Raise DefinitionError for values of the wrong type, and for resources and time spans that the server would reject."""
    for option, value in options.items():
        why = _wrong_type(option, value) if option == "ttl" else _problem(option, value)  # ttl of a Cache is a time span
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
    if option in _CLASSES:
        if not (isinstance(value, bool) and option != "retry_budget" or type(value).__name__.lower() == option.replace("_", "")):
            return f"{option}={value!r} is not {_CLASSES[option]}"
        return next(filter(None, (_inside(option, name, part) for name, part in getattr(value, "__dict__", {}).items())), "")
    return _wrong_type(option, value)


def _wrong_type(option: str, value: Any) -> str:
    shown = f"{option}={value!r}"
    if value is None:
        return ""
    if option in _TEXT:
        return "" if isinstance(value, (str, os.PathLike)) else f"{shown} is not a string"
    if option in _SWITCH:
        return "" if isinstance(value, bool) else f"{shown} is not True or False"
    if option in _COUNT:
        return "" if _is_number(value) and isinstance(value, int) else f"{shown} is not a whole number of 0 or more"
    if option in _NAMED:
        return "" if isinstance(value, Mapping) else f"{shown} is not a dict"
    if option in _TEXTS:
        return "" if _is_list(value) and all(isinstance(one, str) for one in value) else f"{shown} is not a list of strings{_instead(option, value)}"
    if option == "locks":
        locks = _is_list(value) and all(isinstance(one, str) or type(one).__name__ == "Lock" for one in value)
        return "" if locks else f"{shown} is not a list of names and Lock(name, permits){_instead(option, value)}"
    if option == "ignore" and isinstance(value, str):
        return f"{shown} is not a list of inputs{_instead(option, value)}"
    return ""


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset))


def _instead(option: str, value: Any) -> str:
    return f"; write {option}=[{value!r}]" if isinstance(value, str) or type(value).__name__ == "Lock" else ""


def _inside(option: str, name: str, value: Any) -> Optional[str]:
    why = _problem(name, value)
    return f"{option}: {why}" if why else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")


def _is_span(value: Any) -> bool:
    """Whether a value is a time span."""
    if isinstance(value, datetime.timedelta):
        return value >= datetime.timedelta()
    if isinstance(value, str):
        return not value or _SPAN.match(value) is not None
    return _is_number(value)
