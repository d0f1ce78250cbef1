"""Adds the limits of annotations to types."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any, Dict

from ._place import error
from ._schema import Type


def constrain(t: Type, params: Dict[str, Any]) -> Type:
    """Return t with parameters. Those of an optional value belong to the value."""
    params = {name: value for name, value in params.items() if value is not None}
    if not params:
        return t
    if t.optional and t.elem is not None:
        elem = constrain(t.elem, params)
        return dataclasses.replace(t, elem=elem)
    if t.kind in ("String", "List", "Map") and not {"min", "max", "gt", "lt", "step"}.isdisjoint(params):
        raise error(f"Range applies to numbers, dates and durations; a `{t.python}` has a Length: Annotated[{t.python}, Length(1, 10)]")
    length = params.pop("length", None)
    if length is not None:
        unit = "items" if t.kind in ("List", "Map") else "length"
        params.update({f"min_{unit}": length[0], f"max_{unit}": length[1]})
    for bound, step in (("gt", 1), ("lt", -1)):
        if bound in params:
            value = params.pop(bound)
            params["min" if step > 0 else "max"] = _next(value, step, t.kind)
    for name in ("min", "max"):
        if isinstance(params.get(name), (datetime.date, datetime.timedelta)):
            params[name] = t.encode(params[name])
    return t.with_params(**params)


def _next(value: Any, step: int, kind: str) -> Any:
    """Return the nearest value beyond an exclusive bound."""
    if kind == "Integer":
        return int(value) + step
    import math

    return math.nextafter(value, math.inf * step)
