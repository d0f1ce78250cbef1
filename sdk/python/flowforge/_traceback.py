"""Shows exceptions of operators without the frames of this package."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Callable, Optional, Set

from ._place import HERE
from .exceptions import FlowForgeError


def guard(call: Callable[[], None]) -> None:
    """Make a call. An exception ends the process after its traceback is shown."""
    try:
        call()
    except Exception as err:
        trim(err, set())
        _describe(err)
        sys.excepthook(type(err), err, err.__traceback__)
        sys.stderr.flush()
        raise SystemExit(1) from None


def _describe(err: Exception) -> None:
    from . import _failure  # costs time that other tasks need not spend

    _failure.write(err)


def trim(err: BaseException, seen: Set[int]) -> None:
    """Remove the frames of this package from an exception and from its causes."""
    if id(err) in seen:
        return
    seen.add(id(err))
    # An error of this package is complete as a sentence; its frames would hide it.
    err.__traceback__ = None if isinstance(err, FlowForgeError) else _users(err.__traceback__)
    for other in (err.__cause__, err.__context__):
        if other is not None:
            trim(other, seen)


def _users(trace: Optional[TracebackType]) -> Optional[TracebackType]:
    frames = []
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith((HERE, "<frozen importlib")) and not name.endswith("importlib/__init__.py"):
            frames.append(trace)
        trace = trace.tb_next
    kept: Optional[TracebackType] = None
    for frame in reversed(frames):
        kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept
