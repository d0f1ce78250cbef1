"""Writes documents of JSON values as YAML that people read."""

from __future__ import annotations

import json
import re
from typing import Any, List

_PLAIN = re.compile(r"(\.\.?(?=/|\Z)|[A-Za-z_/$])[A-Za-z0-9_./@+ <>()=-]*\Z")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "~", "nan", "inf"}
_WIDTH = 100


def dump(value: Any) -> str:
    """Return the YAML of a mapping."""
    return "\n".join(_block(value, 0)) + "\n"


def _block(value: Any, indent: int) -> List[str]:
    pad = " " * indent
    lines: List[str] = []
    if isinstance(value, dict):
        for key, inner in value.items():
            lines += _entry(f"{pad}{_scalar(str(key))}:", inner, indent + 2)
        return lines
    for inner in value:
        lines += _item(pad, inner, indent)
    return lines


def _item(pad: str, value: Any, indent: int) -> List[str]:
    flow = _flow(value)
    if not isinstance(value, (dict, list)) or not value or len(flow) + indent + 2 <= _WIDTH and "\n" not in flow and _flat(value):
        return [f"{pad}- {flow}"]
    inner = _block(value, indent + 2)
    return [f"{pad}- {inner[0].lstrip()}", *inner[1:]]


def _entry(head: str, value: Any, indent: int) -> List[str]:
    if isinstance(value, str) and "\n" in value and _fits_block(value):
        keep = "" if value.endswith("\n") and not value.endswith("\n\n") else "-" if not value.endswith("\n") else "+"
        body = [(" " * indent + line).rstrip() for line in value.split("\n")]
        return [f"{head} |{keep}", *(body[:-1] if value.endswith("\n") else body)]
    flow = _flow(value)
    if not isinstance(value, (dict, list)) or not value or len(head) + 1 + len(flow) <= _WIDTH and _flat(value):
        return [f"{head} {flow}"]
    return [head, *_block(value, indent)]


def _flat(value: Any) -> bool:
    """Whether a value may be on one line: it cannot be converted to a string of several lines and little depth."""
    inner = list(value.values()) if isinstance(value, dict) else value
    return all(not isinstance(v, str) or "\n" not in v for v in inner) and all(not isinstance(v, (dict, list)) or not v or _flat(v) for v in inner)


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(str(k))}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _scalar(value)


def _fits_block(text: str) -> bool:
    """Whether a block of lines holds a text unchanged."""
    lines = text.split("\n")
    return not text.startswith((" ", "\t", "\n")) and all(line == line.rstrip() and line.replace("\t", "").isprintable() for line in lines)


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.match(value) and value.lower() not in _WORDS and value == value.strip():
        return value
    if isinstance(value, str) and value.isprintable() and '"' in value:
        return "'" + value.replace("'", "''") + "'"
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)
