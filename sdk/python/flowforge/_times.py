"""Dates, moments and durations as JSON texts."""

from __future__ import annotations

import datetime
import re
from typing import Any

_ISO = re.compile(r"P(?:(?P<days>[\d.]+)D)?(?:T(?:(?P<hours>[\d.]+)H)?(?:(?P<minutes>[\d.]+)M)?(?:(?P<seconds>[\d.]+)S)?)?\Z")
_UNIT = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|weeks?|w|days?|d|hours?|h|minutes?|mins?|m|seconds?|secs?|s)(?![a-z])", re.IGNORECASE)
_UNITS = re.compile(rf"\s*(?:{_UNIT.pattern}\s*)+\Z", re.IGNORECASE)
_NAMES = ("weeks", "days", "hours", "minutes", "seconds")
_FRACTION = re.compile(r"\.(\d{6})\d+")


def moment(text: str) -> datetime.datetime:
    """Read RFC 3339, also with "Z" and nanoseconds, which Python 3.9 does not read."""
    text = _FRACTION.sub(r".\1", text)
    if text.endswith(("Z", "z")):
        text = text[:-1] + "+00:00"
    fraction = re.search(r"\.(\d+)", text)
    if fraction:
        text = text.replace(fraction.group(0), "." + fraction.group(1).ljust(6, "0"), 1)
    return datetime.datetime.fromisoformat(text)


def date_text(value: Any) -> Any:
    """Write ISO 8601 without the time of day that a datetime has too."""
    if isinstance(value, datetime.datetime):
        value = value.date()
    return value if isinstance(value, str) else value.isoformat()


def moment_text(value: Any) -> Any:
    """Write RFC 3339. A time without a zone is UTC."""
    if not isinstance(value, datetime.datetime):
        return value
    if value.tzinfo is None:
        value = value.replace(tzinfo=datetime.timezone.utc)
    return value.isoformat()


def duration(text: Any) -> datetime.timedelta:
    """Read ISO 8601 in days, hours, minutes and seconds, such as "PT1H30M", or a number with a unit, such as "1h30m"."""
    found = _ISO.match(text)
    if found is not None:
        return datetime.timedelta(**{name: float(number) for name, number in found.groupdict().items() if number})
    if not _UNITS.match(text):
        raise ValueError(f"{text!r} is not a duration such as 90s, 1h30m or PT1H30M")
    total = datetime.timedelta()
    for number, unit in _UNIT.findall(text):
        name = "milliseconds" if unit.lower() == "ms" else next(name for name in _NAMES if name.startswith(unit[0].lower()))
        total += datetime.timedelta(**{name: float(number)})
    return total


def duration_text(value: Any) -> Any:
    """Write ISO 8601 in seconds. Raise ValueError for a negative duration."""
    if not isinstance(value, datetime.timedelta):
        return value
    if value < datetime.timedelta():
        raise ValueError("a duration must not be negative")
    seconds = value.total_seconds()
    return f"PT{seconds:.6f}".rstrip("0").rstrip(".") + "S"


def span(value: Any) -> str:
    """Write a time span of a definition: "30m", a number of seconds, or a timedelta."""
    if isinstance(value, datetime.timedelta):
        value = value.total_seconds()
    if isinstance(value, (int, float)):
        return f"{value:g}s" if value < 1e6 else f"{int(value)}s"
    return str(value)
