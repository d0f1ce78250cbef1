"""Adds the limits of annotations to types."""

from __future__ import annotations

import dataclasses
import datetime
import math
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
    if t.kind in ("String", "List", "Map") and not {"min", "max", "exclusive_min", "exclusive_max", "step"}.isdisjoint(params):
        raise error(f"Range applies to numbers, dates and durations; a `{t.python}` has a Length: Annotated[{t.python}, Length(1, 10)]")
    length = params.pop("length", None)
    if length is not None:
        unit = "items" if t.kind in ("List", "Map") else "length"
        params.update({f"min_{unit}": length[0], f"max_{unit}": length[1]})
    for bound in ("exclusive_min", "exclusive_max"):
        if bound in params and t.kind != "Float":
            params[bound[-3:]] = _next(params.pop(bound), 1 if bound == "exclusive_min" else -1, t)
    for name in ("min", "max"):
        if isinstance(params.get(name), (datetime.date, datetime.timedelta)):
            params[name] = t.encode(params[name])
    return t.with_params(**params)


def _next(value: Any, step: int, t: Type) -> Any:
    """Return the nearest whole number or day beyond an exclusive bound."""
    if t.kind == "Integer":
        return math.floor(value) + 1 if step > 0 else math.ceil(value) - 1
    if t.kind == "Date" and isinstance(value, datetime.date):
        return value + datetime.timedelta(days=step)
    limit = "min" if step > 0 else "max"
    raise error(f"only numbers and dates have exclusive limits; for a `{t.python}`, use an inclusive one: Range({limit}={value!r})")
