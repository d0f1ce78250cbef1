"""Shows exceptions of operators without the frames of this package."""

from __future__ import annotations

import sys
import traceback
from types import TracebackType
from typing import Callable, List, Optional, Set

from ._place import HERE, line as place
from .exceptions import FlowForgeError


def guard(call: Callable[[], None]) -> None:
    """Make a call. An exception ends the process after its traceback is shown."""
    try:
        call()
    except Exception as err:
        trim(err, set())
        _describe(err)
        sys.excepthook(type(err), err, err.__traceback__)
        if isinstance(err, ModuleNotFoundError):
            print(
                "If a package has this module, add the package to packages=[…] of @operator or @workflow. "
                "A module of your own must be beside the file, and git must not ignore it.",
                file=sys.stderr,
            )
        elif isinstance(err, SyntaxError):
            print(
                f"The task runs Python {sys.version.split()[0]} ({sys.executable}). Code for a later version needs another interpreter: FLOWFORGE_PYTHON on the server, or the image of the operator.",
                file=sys.stderr,
            )
        sys.stderr.flush()
        raise SystemExit(1) from None


def _describe(err: Exception) -> None:
    from . import _failure  # costs time that other tasks need not spend

    try:
        _failure.write(err)
    except Exception:  # the author's class; the log has the exception
        pass


def trim(err: BaseException, seen: Set[int]) -> None:
    """Remove the frames of this package from an exception and from its causes."""
    waiting = [err]  # a recursion would be too deep for long chains
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        # An error of this package is complete as a sentence; its frames would hide it.
        one.__traceback__ = None if isinstance(one, FlowForgeError) else _users(one.__traceback__)
        waiting += [other for other in (one.__cause__, one.__context__) if other is not None]


def in_notebook(err: BaseException) -> List[str]:
    """Return the lines of an exception with the frames of the user's code."""
    lines = []
    for frame in traceback.extract_tb(_users(err.__traceback__)):
        if frame.lineno is not None and "IPython" not in frame.filename:
            lines += [f"{place(frame.filename, frame.lineno)} in {frame.name}" if frame.name != "<module>" else place(frame.filename, frame.lineno), f"    {frame.line}"]
    return [*lines, f"{type(err).__name__}: {err}"]


def _users(trace: Optional[TracebackType]) -> Optional[TracebackType]:
    frames = []
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith((HERE, "<frozen importlib")) and not name.endswith("importlib/__init__.py"):
            frames.append(trace)
        trace = trace.tb_next
    while frames and frames[0].tb_frame.f_globals.get("__name__", "").startswith("asyncio."):  # they run an async operator
        del frames[0]
    kept: Optional[TracebackType] = None
    for frame in reversed(frames):
        kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept
