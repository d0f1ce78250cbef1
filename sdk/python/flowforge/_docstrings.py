"""Reads descriptions of functions and parameters from docstrings."""

from __future__ import annotations

import inspect
import re
from typing import Dict, List, Optional, Tuple

_SECTION = re.compile(r"(Args|Arguments|Parameters|Returns?|Raises|Yields|Examples?|Notes?|Attributes):?\s*\Z", re.IGNORECASE)
_GOOGLE = re.compile(r"\s*\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?:\s*(?P<text>.*)\Z")
_NUMPY = re.compile(r"(?P<names>\w+(?:\s*,\s*\w+)*)\s*(?::.*)?\Z")
_FIELD = re.compile(r"\s*:param\s+(?:[^:]*\s)?(?P<name>\w+):\s*(?P<text>.*)\Z")


def read(doc: Optional[str]) -> Tuple[str, Dict[str, str]]:
    """Return the description and the texts of the parameters.

    Sections of Google and NumPy, and fields such as ":param rate: …", are understood.
    """
    lines = inspect.cleandoc(doc or "").splitlines()
    description: List[str] = []
    parameters: Dict[str, str] = {}
    index = 0
    while index < len(lines):
        line = lines[index]
        field = _FIELD.match(line)
        if field:
            index = _field(lines, index, parameters)
            continue
        if re.match(r"\s*:\w+", line):
            index += 1
            continue
        underlined = index + 1 < len(lines) and re.match(r"-{3,}\s*\Z", lines[index + 1].strip() or "x") is not None
        if _SECTION.match(line) and (line.rstrip().endswith(":") or underlined):
            start = index + (2 if underlined else 1)
            index = _section(lines, start, underlined)
            if line.strip().lower().startswith(("arg", "param")):
                (_numpy if underlined else _google)(lines[start:index], parameters)
            continue
        description.append(line)
        index += 1
    return _joined(description), parameters


def _field(lines: List[str], index: int, parameters: Dict[str, str]) -> int:
    found = _FIELD.match(lines[index])
    assert found is not None
    texts = [found["text"]]
    index += 1
    while index < len(lines) and lines[index].startswith((" ", "\t")) and not _FIELD.match(lines[index]):
        texts.append(lines[index])
        index += 1
    parameters[found["name"]] = _joined(texts)
    return index


def _section(lines: List[str], start: int, underlined: bool) -> int:
    """Return the index after the section that begins at start."""
    index = start
    while index < len(lines):
        line = lines[index]
        following = lines[index + 1] if index + 1 < len(lines) else ""
        if underlined and re.match(r"-{3,}\s*\Z", following):
            return index
        if not underlined and line.strip() and not line.startswith((" ", "\t")):
            return index
        index += 1
    return index


def _google(lines: List[str], parameters: Dict[str, str]) -> None:
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    name = ""
    for line in lines:
        found = _GOOGLE.match(line) if len(line) - len(line.lstrip()) == indent else None
        if found:
            name = found["name"]
            parameters[name] = found["text"]
        elif name:
            parameters[name] = _joined([parameters[name], line])


def _numpy(lines: List[str], parameters: Dict[str, str]) -> None:
    names: List[str] = []
    for line in lines:
        found = _NUMPY.match(line)
        if found and not line.startswith((" ", "\t")):
            names = [name.strip() for name in found["names"].split(",")]
        else:
            for name in names:
                parameters[name] = _joined([parameters.get(name, ""), line])


def _joined(lines: List[str]) -> str:
    """Join lines to paragraphs of one line each."""
    paragraphs = "\n".join(line.strip() for line in lines).strip().split("\n\n")
    return "\n\n".join(" ".join(p.split()) for p in paragraphs).strip()
