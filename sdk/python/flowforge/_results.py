"""Checks what an operator returns, in a task and in plain Python."""

from __future__ import annotations

import json
import math
import os
from typing import Any, Callable, List, Optional

from . import _contained, _files, _handles, _wire
from ._formats import library
from ._schema import Type, article
from ._signature import Signature
from .exceptions import OutputError

MAX_VALUE = 1 << 20  # bytes of a value that is not a file; the runner accepts no more


def split(operator: str, signature: Signature, returned: Any) -> List[Any]:
    """Take a returned value apart, in the order of the results. Raises OutputError."""
    try:
        return signature.split(returned)
    except (TypeError, ValueError) as err:
        raise OutputError(f"{operator} returned {type(returned).__name__}, but declares `{signature.returns}`: {err}") from None


def present(operator: str, name: str, t: Type, value: Any) -> bool:
    """Whether there is a value. Raises OutputError for None where one is required."""
    if value is None and not t.optional and t.kind != "JSON":
        raise OutputError(f"operator {operator}, output {name!r}: the function returned None, but declares `{t.shown}`; declare Optional[…] if it may be absent")
    return value is not None or not t.optional


def check_file(operator: str, name: str, t: Type, value: Any) -> None:
    """Raise OutputError for a value that would be written as a file of another type than declared."""
    if isinstance(value, (_handles.File, os.PathLike)) or t.stream:
        return
    package, cls = library(type(value)), type(value).__name__
    what = f"operator {operator}, output {name!r}: "
    if t.python == "DataFrame" and cls not in ("DataFrame", "Table"):
        advice = "; return its to_frame()" if cls == "Series" else "; return a DataFrame that contains it"
        raise OutputError(f"{what}a `{package + '.' if package not in ('', 'builtins') else ''}{cls}` is not a `DataFrame`{advice}")
    if t.python == "bytes" and not isinstance(value, (bytes, bytearray, memoryview)):
        raise OutputError(f"{what}{value!r:.100} is not bytes")
    if isinstance(value, str) and t.python.endswith("Path"):
        raise OutputError(f"{what}{value!r:.100} is a string; return Path({value!r:.100}) for a file")
    if isinstance(value, str) and len(value) < 1000 and "\n" not in value and os.path.exists(value):
        raise OutputError(f"{what}{value!r} is a string and would be the content; return Path({value!r}) for the file with this name")


def with_files(operator: str, name: str, t: Type, value: Any, keep: Callable[[str, Type, Any], Any]) -> Any:
    """Return a value with what keep makes of its files. Their names are those of the output and their position. Raises OutputError."""
    number = 0

    def one(of: Type, file: Any) -> Any:
        nonlocal number
        number += 1
        place = f"{name}, file {number}"
        if number > _contained.MAX_FILES:
            raise OutputError(f"operator {operator}, output {name!r} contains more than {_contained.MAX_FILES:,} files; return a Directory")
        present(operator, place, of, file)
        return keep(place, of, file)

    return _contained.changed(t, value, one)


def encode(operator: str, name: str, t: Type, value: Any) -> Any:
    """Return a value as JSON. Raises OutputError if it is not of type t."""
    what = f"operator {operator}, output {name!r}"
    number = None
    try:
        encoded = _whole(t, _plain_numbers(t.encode(_plain_numbers(value))))
        number = _not_finite(encoded)
        size = 0 if number is not None else len(_files.to_json(encoded, f"output {name!r}"))
    except OutputError as err:
        raise OutputError(f"operator {operator}, {err}; convert it to values of JSON, declare its class as the result type, such as a dataclass or DataFrame, or return a File or Model") from None
    except Exception as err:  # the author's classes run
        raise OutputError(f"{what}: {value!r} is not {article(t)}: {err}") from err
    if number is not None and encoded is number:
        raise OutputError(f"{what} is {json.dumps(number)}, which JSON cannot represent. Declare Optional[float] and return None.")
    if number is not None:
        raise OutputError(f"{what} contains {json.dumps(number)}, which JSON cannot represent. Declare Optional[float] for the number and use None.")
    why = _wire.constant_mismatch(encoded, t)
    if why:
        raise OutputError(f"{what}: {why}")
    if size > MAX_VALUE:
        raise OutputError(f"{what} has {size / (1 << 20):,.1f} MiB as JSON, and a value can have 1 MiB; return a File, Table, Model or DataFrame, which have no such limit")
    return encoded


def _not_finite(value: Any) -> Optional[float]:
    """Return the first number of a value that is NaN or infinite, if there is one."""
    if isinstance(value, float):
        return None if math.isfinite(value) else value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return next((found for found in map(_not_finite, inner) if found is not None), None)


def _plain_numbers(value: Any) -> Any:
    """Convert scalars of numpy, which functions of other libraries often return."""
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return value.item()
    if type(value) in (list, tuple):
        return type(value)(_plain_numbers(v) for v in value)
    if isinstance(value, dict):
        return {k: _plain_numbers(v) for k, v in value.items()}
    return value


def _whole(t: Type, value: Any) -> Any:
    """Return JSON with integers for floats such as 4.0 where t has integers, as the server does."""
    t = t.inner
    if t.kind == "Integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if t.kind == "List" and t.elem is not None and isinstance(value, list):
        return [_whole(t.elem, v) for v in value]
    if isinstance(value, dict):
        types = {f.name: f.type for f in t.fields}
        return {k: _whole(types.get(k) or t.elem or t, v) if k in types or t.kind == "Map" else v for k, v in value.items()}
    return value
