"""Numbers versions by what changed in the signature of a workflow.

A change that makes an old launch fail is major. A new optional input, a wider input, a new
default and a new output are minor. Everything else is a patch.
"""

from __future__ import annotations

import datetime
import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from . import _times
from ._schema import Columns, Field, Type, literal, mismatch

LEVELS = ("patch", "minor", "major")


class Change(NamedTuple):
    """How much a version differs from the one before, and why."""

    level: str
    reason: str


def signature(document: Mapping[str, Any], types: Mapping[str, Type]) -> Dict[str, Any]:
    """Return inputs and outputs of a definition in the form that later versions are compared with."""
    inputs = {}
    for i in document.get("inputs", ()):
        t = types[i["name"]]
        inputs[i["name"]] = {"type": structure(t), "required": "default" not in i and not t.optional, "default": i.get("default")}
    return {"inputs": inputs, "outputs": {o["name"]: {"type": structure(types["output:" + o["name"]])} for o in document.get("outputs", ())}}


def structure(t: Type) -> Dict[str, Any]:
    """Return a type as JSON."""
    found: Dict[str, Any] = {"text": t.text(), "kind": t.kind}
    found["params"] = {k: _parameter(v) for k, v in t.params.items() if v is not None}
    for name, value in (("custom", t.custom), ("options", list(t.options))):
        if value:
            found[name] = value
    if t.elem is not None:
        found["elem"] = structure(t.elem)
    if t.fields:
        found["fields"] = [{"name": f.name, "type": structure(f.type), "optional": f.has_default, "default": f.default} for f in t.fields]
    if t.variants:
        found["variants"] = [[tag, structure(v)] for tag, v in t.variants]
    return found


def _parameter(value: Any) -> Any:
    if isinstance(value, Columns):
        return dict(value.types)
    return list(value) if isinstance(value, (tuple, set, frozenset)) else value


def _restored(s: Mapping[str, Any]) -> Type:
    return Type(
        s["kind"],
        dict(s["params"]),
        elem=_restored(s["elem"]) if "elem" in s else None,
        fields=tuple(Field(f["name"], _restored(f["type"]), f.get("default"), f["optional"]) for f in s.get("fields", ())),
        options=tuple(s.get("options", ())),
        variants=tuple((tag, _restored(v)) for tag, v in s.get("variants", ())),
        custom=s.get("custom", ""),
    )


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> Change:
    """Return the largest change from one signature to the next."""
    found = [*_inputs(old["inputs"], new["inputs"]), *_outputs(old["outputs"], new["outputs"])]
    if not found:
        return Change("patch", "signature unchanged")
    level = max((c.level for c in found), key=LEVELS.index)
    return Change(level, "; ".join(c.reason for c in found if c.level == level))


def _inputs(old: Mapping[str, Any], new: Mapping[str, Any]) -> List[Change]:
    found = []
    for name in old:
        if name not in new:
            found.append(Change("major", f"input {name} removed"))
    for name, entry in new.items():
        before = old.get(name)
        if before is None:
            level = "major" if entry["required"] else "minor"
            found.append(Change(level, f"adds {'required' if entry['required'] else 'optional'} input {name}"))
            continue
        if entry["required"] and not before["required"]:
            found.append(Change("major", f"input {name} becomes required"))
        elif before["required"] and not entry["required"]:
            found.append(Change("minor", f"input {name} becomes optional"))
        elif entry["default"] != before["default"]:
            found.append(Change("minor", f"default of {name} changed from {literal(before['default'])} to {literal(entry['default'])}"))
        found += _type(name, before["type"], entry["type"])
    return found


def _type(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> List[Change]:
    if old["text"] == new["text"]:
        return []
    a, b = _restored(old), _restored(new)
    if not _accepts(b, a):
        return [Change("major", f"type of {name} changed from {old['text']} to {new['text']}")]
    if not _accepts(a, b):
        return [Change("minor", f"input {name} accepts more: {new['text']} instead of {old['text']}")]
    if _defaults(a) != _defaults(b):
        return [Change("minor", f"defaults in {name} changed: {new['text']} instead of {old['text']}")]
    return []


def _defaults(t: Type) -> List[Any]:
    """Return the defaults of fields at every depth."""
    own: List[Any] = [(f.name, f.default, _defaults(f.type)) for f in t.fields]
    return own + ([_defaults(t.elem)] if t.elem else []) + [_defaults(v) for _, v in t.variants]


def _accepts(wide: Type, narrow: Type) -> bool:
    """Whether every value of narrow is one of wide, at every depth."""
    if wide.custom or narrow.custom or mismatch(narrow, wide):
        return wide.custom == narrow.custom and not mismatch(narrow, wide)
    if wide.optional and wide.elem is not None:
        return _accepts(wide.elem, narrow.inner)
    if wide.kind == "Union" or narrow.kind == "Union":  # a value names its variant
        variants = dict(wide.variants)
        return wide.kind == narrow.kind and all(tag in variants and _accepts(variants[tag], t) for tag, t in narrow.variants)
    if not _within(wide, narrow):
        return False
    if wide.elem is not None and narrow.elem is not None and not _accepts(wide.elem, narrow.elem):
        return False
    return all(_accepts_field(f, narrow.field_named(f.name)) for f in wide.fields)


def _accepts_field(wide: Field, narrow: Optional[Field]) -> bool:
    required = not wide.has_default and not wide.type.optional
    if narrow is None:
        return not required
    if required and (narrow.has_default or narrow.type.optional):
        return False
    return _accepts(wide.type, narrow.type)


_RANGE = ("min", "max", "exclusive_min", "exclusive_max")
_LEAST = ("min_items", "min_length")
_MOST = ("max_items", "max_length", "max_bytes")
_TEXTS = ("log", "step", "unit", "multiline")  # they change only the form


def _within(wide: Type, narrow: Type) -> bool:
    """Whether the parameters of narrow are as strict as those of wide, or stricter."""
    if narrow.kind == "Enum" and wide.kind != "Enum":
        return not any(k not in _TEXTS for k in wide.params)
    if not _inside(wide.kind, wide.low, narrow.low, -1) or not _inside(wide.kind, wide.high, narrow.high, 1):
        return False
    for name, limit in wide.params.items():
        mine = narrow.params.get(name)
        if name in _TEXTS or name in _RANGE or name == "extra" or mine == limit:
            continue
        if mine is None:
            return False
        if name in _LEAST or name in _MOST:
            order = _order(wide.kind, mine, limit)
            if order is None or (order < 0 if name in _LEAST else order > 0):
                return False
        elif name == "media_types":
            if not set(mine) <= set(limit):
                return False
        elif name == "columns":
            if any(c not in mine or of not in ("Any", mine[c]) for c, of in limit.items()):
                return False
        else:  # pattern, format, unique and what later versions add
            return False
    return True


def _inside(kind: str, wide: Tuple[Any, bool], narrow: Tuple[Any, bool], outward: int) -> bool:
    """Whether one limit of narrow is that of wide, or stricter. outward is -1 for lower limits."""
    if wide[0] is None or narrow[0] is None:
        return wide[0] is None
    order = _order(kind, narrow[0], wide[0])
    return order is not None and order != outward and (order != 0 or narrow[1] or not wide[1])


def _order(kind: str, a: Any, b: Any) -> Optional[int]:
    """Return whether a is less than (-1), equal to (0) or more than b (1), or None if that is unknown."""
    read: Any = {"DateTime": _times.moment, "Date": datetime.date.fromisoformat, "Duration": _times.duration}.get(kind)
    try:
        if read is not None:
            a, b = (read(v) if isinstance(v, str) else v for v in (a, b))
        return int(a > b) - int(a < b)
    except (TypeError, ValueError):
        return None


def _outputs(old: Mapping[str, Any], new: Mapping[str, Any]) -> List[Change]:
    found = []
    for name, entry in old.items():
        if name not in new:
            found.append(Change("major", f"output {name} removed"))
        elif entry["type"]["text"] != new[name]["type"]["text"] and mismatch(_restored(new[name]["type"]), _restored(entry["type"])):
            found.append(Change("major", f"type of output {name} changed from {entry['type']['text']} to {new[name]['type']['text']}"))
    found += [Change("minor", f"adds output {name}") for name in new if name not in old]
    return found


def following(version: str, level: str) -> str:
    """Return the version after a release."""
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if match is None:
        return "1.0.0"
    major, minor, patch = map(int, match.groups())
    if level == "major":
        return f"{major + 1}.0.0"
    return f"{major}.{minor + 1}.0" if level == "minor" else f"{major}.{minor}.{patch + 1}"
