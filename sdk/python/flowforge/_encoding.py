"""Reports of tasks as JSON."""

from __future__ import annotations

import json
import math
from typing import Any, Dict, Mapping, Union


def message(values: Dict[str, Any]) -> bytes:
    """Return a message to the server. It rejects lone surrogates, as in names of files: they become ?."""
    return json.dumps(values, ensure_ascii=False).encode("utf-8", "replace")


def fields(values: Mapping[str, Any]) -> str:
    """Return values as JSON. What JSON cannot represent, such as dates and NaN, becomes text."""
    try:
        return json.dumps(values, default=str, allow_nan=False)
    except (TypeError, ValueError):
        return json.dumps(_plain(values), default=str)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def number(value: float) -> Union[float, str]:
    """Return a double in protobuf's JSON encoding, which writes NaN and infinities as strings."""
    double = float(value)
    if math.isnan(double):
        return "NaN"
    if math.isinf(double):
        return "Infinity" if double > 0 else "-Infinity"
    return double
