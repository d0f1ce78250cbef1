"""Values in plain Python: operators and workflows receive them as a task would."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Dict, List, Mapping, Tuple

from . import _contained, _files, _handles, _streams, _wire
from ._connection import Connection
from ._place import error
from ._schema import JSON, Type, article
from ._signature import REQUIRED, Signature
from .exceptions import OutputError

HANDLES = (_handles.File, _handles.Directory, _handles.Dataset, _handles.Model, _handles.Table, _handles.Image, _handles.Report, _handles.FeatureSet)


def arguments(function: Callable[..., Any], signature: Signature, args: Tuple[Any, ...], kwargs: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the arguments of a call in plain Python as a task would receive them."""
    given = _wire.bind(function, args, kwargs)
    for name, argument in given.items():
        if _wire.holds_future(argument):
            raise error(f"{function.__name__}: {name}: {argument!r} has no value, because it belongs to the definition of a workflow; call {function.__name__} inside that workflow's function")
    return {p.name: value(p.type, given.get(p.name, p.default)) for p in signature.parameters if p.name in given or not p.required}


def check(name: str, signature: Signature, given: Mapping[str, Any]) -> None:
    """Raise DefinitionError for arguments that the server would reject."""
    for p in signature.parameters:
        argument = given.get(p.name, REQUIRED)
        why = "" if argument is REQUIRED or argument is None and p.default is None else _problem(p.type, argument)
        if why:
            text = p.type.text()
            raise error(f"{name}: {p.name}: {why}" + (f"; its type is {text}" if len(text) <= 100 else ""))


def _problem(t: Type, found: Any) -> str:
    """Return why a value is not of type t, or "". Files are checked when they are read."""
    if t.optional and t.elem is not None:
        return "" if found is None else _problem(t.elem, found)
    if t.kind == "JSON":
        return _files.not_json(found) or _wire.constant_mismatch(found, t)
    if t.blob or t.stream or t.kind == "Connection":
        return f"None is not {article(t)}" if found is None else ""
    if is_plain(t):
        try:
            encoded = t.encode(found)
            why = _wire.constant_mismatch(encoded, t)
            if not why:
                t.decode(encoded)
            return why
        except Exception as err:  # the author's classes run
            return f"{found!r} is not {article(t)}: {err}"
    problems: List[str] = []

    def look(of: Type, part: Any) -> Any:
        problems.append(_problem(of, part))
        return part

    _contained.with_parts(t, found, look)
    return next(filter(None, problems), "")


def value(t: Type, found: Any) -> Any:
    """Return a value as a task would receive it: files are handles, and numbers and structures have their declared types.

    A value that is not of type t is returned unchanged.
    """
    if t.optional and t.elem is not None:
        return None if found is None else value(t.elem, found)
    if t.stream and not isinstance(found, (str, os.PathLike)) and hasattr(found, "__iter__"):
        return found.fork() if isinstance(found, _streams.Shared) else _streams.Shared(found)
    if t.kind == "JSON":
        return as_json(found)
    if t.kind == "Connection" and isinstance(found, str):
        return Connection(found)
    cls = next((c for c in HANDLES if c.kind == t.kind and t.python == c.__name__), None)
    if cls is not None and not isinstance(found, cls):
        return cls(found)
    return _converted(t, found) if is_plain(t) else _contained.with_parts(t, found, value)


def _converted(t: Type, found: Any) -> Any:
    try:
        encoded = t.encode(found)
        return found if _wire.constant_mismatch(encoded, t) else t.decode(as_json(encoded))
    except Exception:  # the author's classes run
        return found


def as_json(encoded: Any) -> Any:
    """Return a value of JSON as a task reads it: keys are strings, and tuples are lists."""
    if isinstance(encoded, dict):
        return {_key(key): as_json(one) for key, one in encoded.items()}
    return [as_json(one) for one in encoded] if isinstance(encoded, (list, tuple)) else encoded


def _key(key: Any) -> Any:
    return json.dumps(key) if key is None or isinstance(key, (int, float)) else key


def check_path(name: str, result: Any) -> None:
    """Raise OutputError for a result that is the path of a missing file, as a task does."""
    path = result._path if isinstance(result, _handles.File) else result
    if isinstance(path, os.PathLike) and not os.path.exists(path):
        raise OutputError(f"output {name!r}: the file {os.fspath(path)} does not exist")


def received(t: Type, found: Any, pickle: bool) -> Any:
    """Return a value of one operator as another one receives it: only pickle lets it read a pickle."""
    if isinstance(found, _handles.File):
        return _handles.received(found, pickle)
    return _contained.with_parts(t.inner, found, lambda of, part: received(of, part, pickle))


def is_plain(t: Type) -> bool:
    """Whether a task receives a value as JSON, so that it contains no files and no connections."""
    inner = [p for p in (t.elem, *(f.type for f in t.fields), *(v for _, v in t.variants)) if p]
    return not t.blob and t.kind not in ("JSON", "Connection") and all(p.kind == "JSON" or is_plain(p) for p in inner)
