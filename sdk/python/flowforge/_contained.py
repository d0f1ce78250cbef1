"""Files in values: lists, dicts and structures that contain files."""

from __future__ import annotations

import copy
from typing import Any, Callable, List, Mapping

from ._schema import JSON, Type

Change = Callable[[Type, Any], Any]

MAX_FILES = 1000  # in the value of one output; the runner accepts no more


def changed(t: Type, value: Any, change: Change) -> Any:
    """Return a value of type t with its files changed, also those in its parts."""
    inner = t.inner
    if value is None and t.optional or not inner.holds_blob:
        return value
    if inner.blob:
        return change(inner, value)
    if inner.kind == "List" and not isinstance(value, (list, tuple, str, bytes, Mapping)) and hasattr(value, "__iter__"):
        value = list(value)
    return with_parts(inner, value, lambda of, part: changed(of, part, change))


def unsupported(t: Type) -> str:
    """Return which part of a type cannot contain files that a task returns, or ""."""
    t = t.inner
    if not t.holds_blob:
        return ""
    if t.stream:
        return "an iterator, which is an output of its own"
    if t.blob:
        return ""
    if t.kind == "Union":
        return f"the union `{t.shown}`"
    if t.params.get("unique"):
        return f"the set `{t.shown}`, which has no order"
    parts = [part for part in (t.elem, *(f.type for f in t.fields)) if part]
    return next(filter(None, map(unsupported, parts)), "")


def places(t: Type) -> Any:
    """Return where a JSON value of type t has files: True for a file, [places] for a list, places by field or "*" for an object, and None for none."""
    t = t.inner
    if t.blob:
        return True
    if not t.holds_blob:
        return None
    if t.kind == "List" and t.elem is not None:
        return [places(t.elem)]
    found = {f.name: places(f.type) for f in t.fields if f.type.holds_blob}
    return {"*": places(t.elem)} if t.elem is not None else found


def with_parts(t: Type, found: Any, change: Change) -> Any:
    """Return a value with its changed parts, or the value itself if no part changes."""
    if t.kind == "List" and t.elem is not None and isinstance(found, (list, tuple)):
        items = [change(t.elem, one) for one in found]
        return found if _same(items, found) else type(found)(items)
    if isinstance(found, dict) and (t.kind == "Map" or t.fields):
        types = {f.name: f.type for f in t.fields}
        entries = {name: change(t.elem or types.get(name, JSON), one) for name, one in found.items()}
        return found if _same(list(entries.values()), list(found.values())) else entries
    if t.fields and isinstance(found, tuple):
        if len(found) != len(t.fields):
            return found
        items = [change(f.type, one) for f, one in zip(t.fields, found)]
        return found if _same(items, found) else type(found)(*items) if hasattr(found, "_fields") else tuple(items)
    if t.fields and all(hasattr(found, f.name) for f in t.fields):
        changed = copy.copy(found)
        for f in t.fields:
            new = change(f.type, getattr(found, f.name))
            if new is not getattr(found, f.name):
                object.__setattr__(changed, f.name, new)
        return changed
    return found


def _same(new: Any, old: Any) -> bool:
    return all(a is b for a, b in zip(new, old))
