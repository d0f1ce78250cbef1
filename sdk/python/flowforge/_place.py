"""Finds the line of the user's code to which an error refers."""

from __future__ import annotations

import contextlib
import contextvars
import os
import sys
from types import CodeType, FrameType
from typing import Any, Iterator, Optional

from .exceptions import DefinitionError

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


def caller() -> Optional[FrameType]:
    """Return the innermost frame outside this package and the standard library."""
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None and not _users(os.path.abspath(frame.f_code.co_filename)):
        if frame.f_code.co_name == "main" and frame.f_code.co_filename == HERE + "_cli.py":
            return None  # the program of the command line is not the user's
        frame = frame.f_back
    return frame


def _users(path: str) -> bool:
    library = path.startswith(_LIBRARY) and "site-packages" not in path and "dist-packages" not in path
    return not library and not path.startswith(HERE)


_AT: contextvars.ContextVar[str] = contextvars.ContextVar("flowforge_place", default="")


@contextlib.contextmanager
def at(place: str) -> Iterator[None]:
    """Let errors name this place, such as a function whose body has already run."""
    token = _AT.set(place)
    try:
        yield
    finally:
        _AT.reset(token)


def here() -> str:
    """Return the file and the line of the user's call, such as "flow.py:12"."""
    if _AT.get():
        return _AT.get()
    frame = caller()
    return "" if frame is None else line(frame.f_code.co_filename, frame.f_lineno)


def of_code(code: CodeType) -> str:
    """Return the file and the first line of a function."""
    return line(code.co_filename, code.co_firstlineno)


def line(file: str, number: int) -> str:
    """Return a line of a file or of a cell as errors show it."""
    of_cell = cell(file)
    return f"cell {of_cell}, line {number}" if of_cell else f"{shown(file)}:{number}"


def shell() -> Any:
    """Return the shell of IPython if this process is one, such as the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    return getattr(ipython, "get_ipython", lambda: None)()


def cell(file: str) -> int:
    """Return the number of the cell for which IPython made this name of a file, or 0."""
    running = shell()
    numbers = getattr(getattr(running, "compile", None), "_filename_map", None) or {}
    return int(numbers.get(file, 0))


def shown(path: str) -> str:
    """Return a path below the current folder as relative, any other unchanged."""
    try:
        relative = os.path.relpath(path)
    except ValueError:
        return path
    return path if relative.startswith("..") else relative


def error(message: str, place: str = "") -> DefinitionError:
    """Return a DefinitionError that names the user's line, or place if it is given."""
    place = place or here()
    return DefinitionError(f"{place}: {message}" if place else message)
