"""Describes the exception that ends a task for the page of its node.

The description has frames, lines of source code and the names of local variables, never their
values. It goes to the file that FLOWFORGE_TRACEBACK names, which the runner sends to the server.
"""

from __future__ import annotations

import json
import linecache
import os
import re
import sys
import sysconfig
import traceback
from pathlib import Path
from types import FrameType
from typing import Any, Dict, Iterator, Tuple

from ._place import shown

LIMIT = 32 << 10  # bytes; the runner sends no more
EXCEPTIONS = 8
LOCALS = 30
_DETAILS = ((3, 30, 2000), (1, 16, 1000), (0, 6, 300))  # lines around, frames and length of messages, until it fits
_LINE = 200  # characters
_NAME = 200
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[@-~]")  # colors of a terminal


def write(err: BaseException) -> None:
    """Write the description of an exception that has frames of the author's code."""
    path = os.environ.get("FLOWFORGE_TRACEBACK")
    if not path:
        return
    for around, frames, message in _DETAILS:
        found = describe(err, around, frames, message)
        data = json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")
        if len(data) <= LIMIT:
            break
    if not any(e["frames"] for e in found["exceptions"]) or len(data) > LIMIT:
        return
    try:
        Path(path).write_bytes(data)
    except OSError:  # the log has the traceback too
        pass


def describe(err: BaseException, around: int, frames: int, message: int) -> Dict[str, Any]:
    """Return an exception and its causes, the last one raised first."""
    chain = list(_chain(err))
    found: Dict[str, Any] = {"exceptions": [_exception(e, relation, around, frames, message) for relation, e in chain[:EXCEPTIONS]]}
    if len(chain) > EXCEPTIONS:
        found["omitted"] = len(chain) - EXCEPTIONS
    return found


def _chain(err: BaseException) -> Iterator[Tuple[str, BaseException]]:
    """Iterate over an exception, its causes, and the parts of groups, each with its relation to the first."""
    seen = set()
    waiting = [("", err)]
    while waiting:
        relation, e = waiting.pop(0)
        if id(e) in seen:
            continue
        seen.add(id(e))
        yield relation, e
        if e.__cause__ is not None:
            waiting.append(("cause", e.__cause__))
        elif e.__context__ is not None and not e.__suppress_context__:
            waiting.append(("context", e.__context__))
        if sys.version_info >= (3, 11) and isinstance(e, BaseExceptionGroup):
            waiting += [("part", part) for part in e.exceptions]


def _exception(e: BaseException, relation: str, around: int, limit: int, length: int) -> Dict[str, Any]:
    frames = [_frame(frame, line, around) for frame, line in traceback.walk_tb(e.__traceback__)]
    if isinstance(e, SyntaxError) and e.filename and e.lineno:
        frames.append(_source(e.filename, e.lineno, "", around, {}))
    kind = type(e)
    module = "" if kind.__module__ in ("builtins", "__main__") else kind.__module__ + "."
    found: Dict[str, Any] = {"type": _cut(module + kind.__qualname__, _NAME), "message": _cut(_message(e), length), "frames": frames}
    if relation:
        found["relation"] = relation
    if len(frames) > limit:  # such as those of an endless recursion
        first = limit // 3
        found["frames"] = frames[:first] + frames[len(frames) - (limit - first) :]
        found["omitted"] = len(frames) - limit
    return found


def _message(e: BaseException) -> str:
    try:
        notes = getattr(e, "__notes__", ()) if sys.version_info >= (3, 11) else ()
        return _ESCAPE.sub("", "\n".join([str(e), *map(str, notes)]))
    except Exception:  # the author's class
        return "The message cannot be written as a string."


def _frame(frame: FrameType, line: int, around: int) -> Dict[str, Any]:
    code = frame.f_code
    name = getattr(code, "co_qualname", code.co_name)  # Python 3.11
    found = _source(code.co_filename, line, "" if name == "<module>" else name, around, frame.f_globals)
    if "library" not in found and name != "<module>":
        names = [n for n in frame.f_locals if not n.startswith((".", "__"))]
        if names:
            found["locals"] = [_cut(n, 100) for n in names[:LOCALS]]
        if len(names) > LOCALS:
            found["omitted"] = len(names) - LOCALS
    return found


def _source(file: str, line: int, function: str, around: int, names: Dict[str, Any]) -> Dict[str, Any]:
    """Return a frame with the lines around it."""
    library, path = _library(file)
    found: Dict[str, Any] = {"file": _cut(path, _NAME), "line": line}
    if function:
        found["function"] = _cut(function, _NAME)
    if library:
        found["library"] = _cut(library, _NAME)
        around = 0
    lines = linecache.getlines(file, names)
    if 1 <= line <= len(lines):
        first = max(1, line - around)
        found["first"] = first
        found["source"] = [_cut(text.rstrip("\n"), _LINE) for text in lines[first - 1 : line + around]]
    return found


def _library(file: str) -> Tuple[str, str]:
    """Return the library that contains a file, "" for the author's, and the path to show."""
    parts = Path(file).parts
    for folder in ("site-packages", "dist-packages"):
        if folder in parts[:-1]:
            inside = parts[len(parts) - parts[::-1].index(folder) :]
            return Path(inside[0]).stem, "/".join(inside)
    if not shown(file).startswith(("/", "<")):
        return "", shown(file).replace(os.sep, "/")
    for name in ("stdlib", "platstdlib"):
        folder = sysconfig.get_path(name) + os.sep
        if file.startswith(folder):
            return "Python", file[len(folder) :].replace(os.sep, "/")
    return ("Python", file) if file.startswith("<frozen ") else ("", file)


def _cut(text: str, length: int) -> str:
    text = text.replace("\0", "\N{SYMBOL FOR NULL}")
    if len(text) <= length:
        return text
    kept = text[:length]
    if not text[length].isspace():  # a part of a secret would not be recognized and masked
        kept = re.sub(r"\S+\Z", "", kept)
    return f"{kept}… ({len(text) - len(kept)} more characters)"
