"""Imports modules of libraries in a warm process, unless they change what its forks share."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import signal
import site
import socket
import sys
import sysconfig
import threading
import warnings
from typing import Any, Dict, List, Optional, Tuple


def preload(name: str) -> str:
    """Import a library module. Return the reason why forks cannot use it, if there is one."""
    folders = tuple(path + os.sep for path in library_folders())
    before = _effects()
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and (spec.origin or "").startswith(folders):
            importlib.import_module(name)
    except BaseException:
        pass  # the task that needs it sees the error
    if threads() > 1:
        # A library that supports forks, such as OpenBLAS, ends its threads before one.
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    if threads() > 1:
        return "it starts threads"
    after = _effects()
    return next((f"it changes {what}" for what, value in after.items() if value != before[what]), "")


# scikit-learn sets these variables. Only the OpenMP runtime of Intel reads them.
_HARMLESS = {"KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK"}


def _effects() -> Dict[str, Any]:
    """Return what a task of another program must not find changed."""
    return {
        "signal handlers": [signal.getsignal(number) for number in signal.valid_signals()],
        "the environment": {name: value for name, value in os.environ.items() if name not in _HARMLESS},
        "the working folder": os.getcwd(),
        "the module path": list(sys.path),
        "open files": sorted(os.listdir("/proc/self/fd")),
        "hooks": (sys.excepthook, sys.displayhook, threading.excepthook, sys.unraisablehook, warnings.showwarning, sys.gettrace(), sys.getprofile()),
        "the root logger": _root_logger(),
        "warning filters": _blanket_filters(),
        "limits of the process": _limits(),
        "the recursion limit": sys.getrecursionlimit(),
        "the timeout of sockets": socket.getdefaulttimeout(),
        "garbage collection": (gc.isenabled(), gc.get_threshold(), gc.get_debug(), list(gc.callbacks)),
        "standard streams": [_stream(stream) for stream in (sys.stdin, sys.stdout, sys.stderr)],
    }


def _root_logger() -> Tuple[Any, ...]:
    logging: Any = sys.modules.get("logging")
    if logging is None:
        return 30, [], [], 0  # of a logger without changes
    return logging.root.level, list(logging.root.handlers), list(logging.root.filters), logging.root.manager.disable


def _blanket_filters() -> List[Any]:
    """Return the filters that apply to warnings of all modules.

    Most libraries add filters for classes, messages or modules of their own.
    """
    return [entry for entry in warnings.filters if entry[1] is None and entry[3] is None and entry[2].__module__ == "builtins"]


def _limits() -> List[str]:
    """Return the umask and the limits of setrlimit(2). The module resource could hide one of the code."""
    with open("/proc/self/status") as status, open("/proc/self/limits") as limits:
        return [line for line in status if line.startswith("Umask:")] + limits.readlines()


def _stream(stream: Any) -> Tuple[Any, ...]:
    return stream, *(getattr(stream, name, None) for name in ("encoding", "errors", "line_buffering", "write_through"))


def threads() -> int:
    return max(threading.active_count(), len(os.listdir("/proc/self/task")))


_folders: Optional[List[str]] = None


def library_folders() -> List[str]:
    """Return the folders of the standard library and of installed packages."""
    global _folders
    if _folders is None:
        paths = sysconfig.get_paths()
        found = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
        _folders = list(dict.fromkeys([*found, *site.getsitepackages()]))
    return _folders
