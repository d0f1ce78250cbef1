"""Values of inputs that a sweep varies: the space of flowforge.sweep.

    from flowforge import search, sweep

    sweep("digits.train", {"lr": search.log_range(1e-4, 0.1), "optimizer": ["adam", "sgd"]}, runs=20, metric="accuracy")
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, Optional

__all__ = ["integers", "linear_range", "log_range", "log_uniform", "normal", "uniform", "values"]


def values(choices: Iterable[Any]) -> Dict[str, Any]:
    """Return a parameter with these values. A plain list has the same effect."""
    return {"kind": "values", "values": list(choices)}


def linear_range(low: float, high: float, steps: int = 0, step: Optional[float] = None) -> Dict[str, Any]:
    """Return a parameter from low to high: any value, `steps` evenly spaced values, or one value every `step`."""
    found: Dict[str, Any] = {"kind": "range", "from": low, "to": high}
    if steps:
        found["steps"] = steps
    if step is not None:
        found["step"] = step
    return found


def log_range(low: float, high: float, steps: int = 0) -> Dict[str, Any]:
    """Return a parameter between low and high on a logarithmic scale: any value, or `steps` values."""
    return {**linear_range(low, high, steps), "scale": "log"}


def uniform(low: float, high: float) -> Dict[str, Any]:
    """Return a parameter that is uniformly distributed between low and high."""
    return {"kind": "uniform", "from": low, "to": high}


def log_uniform(low: float, high: float) -> Dict[str, Any]:
    """Return a parameter between low and high whose logarithm is uniformly distributed."""
    return {"kind": "loguniform", "from": low, "to": high}


def integers(low: int, high: int) -> Dict[str, Any]:
    """Return a parameter whose values are uniformly distributed whole numbers from low to high."""
    return {"kind": "int", "from": low, "to": high}


def normal(mean: float, deviation: float, low: Optional[float] = None, high: Optional[float] = None) -> Dict[str, Any]:
    """Return a parameter with a normal distribution, truncated at low and high."""
    found: Dict[str, Any] = {"kind": "normal", "mean": mean, "deviation": deviation}
    if low is not None:
        found["from"] = low
    if high is not None:
        found["to"] = high
    return found
