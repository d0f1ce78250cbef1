"""Runs the program of a fork and ends its process as an interpreter does.

The interpreter would also free what was loaded before the fork, which costs more than the fork
itself and has no effect that another process could notice.
"""

from __future__ import annotations

import atexit
import builtins
import ctypes
import gc
import importlib.machinery
import io
import os
import signal
import sys
import threading
import types
from typing import Any, List, NoReturn, Optional, Tuple

from ._preload import library_folders, threads

LIBC = ctypes.PyDLL(None, use_errno=True)  # holds the interpreter's lock during calls

_loads_before = 0  # libraries of the interpreter and the SDK, which have nothing to do at the end


def remember_libraries() -> None:
    """Take the libraries that are loaded now as those of the interpreter and the SDK."""
    global _loads_before
    _loads_before = loads()


def execute(script: str, last: str) -> NoReturn:
    """Run a file as the main program and end the process as the interpreter would."""
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=script, __builtins__=builtins, __cached__=None)
    module.__loader__ = importlib.machinery.SourceFileLoader("__main__", script)
    sys.modules["__main__"] = module
    interrupted, code = False, 0
    raised: Optional[BaseException] = None
    try:
        with open(script, "rb") as file:
            source = file.read()
        exec(compile(source, script, "exec", dont_inherit=True), module.__dict__)
    except BaseException as err:
        raised = err
    # Outside the handler, so that errors of hooks have no context.
    if isinstance(raised, SystemExit):
        code = _exit_code(raised.code)
    elif raised is not None:
        interrupted, code = isinstance(raised, KeyboardInterrupt), _show(raised)
    raised = None
    del module  # _release frees it
    _finish(code, interrupted, last)


def _show(err: BaseException) -> int:
    """Show an exception as the interpreter does, and return the exit code."""
    trace = _trimmed(err)
    if sys.version_info >= (3, 12):
        sys.last_exc = err
    sys.last_type, sys.last_value, sys.last_traceback = type(err), err, trace
    failure: Optional[BaseException] = None
    try:
        sys.excepthook(type(err), err, trace)
    except BaseException as second:
        failure = second
    if isinstance(failure, SystemExit):
        return _exit_code(failure.code)
    if failure is not None:
        _complain("Error in sys.excepthook:\n")
        sys.__excepthook__(type(failure), failure, _trimmed(failure))
        _complain("\nOriginal exception was:\n")
        sys.__excepthook__(type(err), err, trace)
    return 1


def _trimmed(err: BaseException) -> Optional[types.TracebackType]:
    """Remove the frames of this file from an exception and return its traceback."""
    trace = err.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    err.__traceback__ = trace
    return trace


def _complain(text: str) -> None:
    try:
        if sys.stderr is None:
            os.write(2, text.encode())
        else:
            sys.stderr.write(text)
    except Exception:
        pass  # there is no stream to report this to


def _exit_code(code: Any) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF if -(2**63) <= code < 2**63 else 0xFF  # the interpreter reads a long of C
    try:
        text = str(code)
    except Exception:  # the class of the author
        text = ""
    _complain(text + "\n")
    return 1


def _finish(code: int, interrupted: bool, last: str) -> NoReturn:
    """End the process without the values that were loaded before the fork."""
    shutdown: Any = getattr(threading, "_shutdown")
    shutdown()  # waits for threads
    try:
        run_exit_functions: Any = getattr(atexit, "_run_exitfuncs")
        run_exit_functions()
    except BaseException:
        pass  # its traceback is printed
    well = _flush()
    if interrupted:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    own = any(type(stream) not in (io.TextIOWrapper, type(None)) for stream in (sys.stdout, sys.stderr))
    if threads() > 1 or not well or own:
        sys.exit(code)  # only the interpreter can stop other threads, reports what cannot be written, and knows when to free a stream of the author
    _release(last)
    if not _flush():
        sys.exit(code)
    LIBC.fflush(None)
    if loads() != _loads_before:
        LIBC.exit(code)  # libraries may have registered functions with atexit(3)
    os._exit(code)


def _flush() -> bool:
    well = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not getattr(stream, "closed", False):
                stream.flush()
        except Exception:  # the stream can be of the author's class
            well = False
    return well


def modules_after(last: str) -> List[Tuple[str, Any]]:
    """Return the modules that were imported after another, in this order.

    To look at all modules would copy the memory of all from the parent.
    """
    found = []
    for name in reversed(sys.modules):
        if name == last:
            break
        found.append((name, sys.modules[name]))
    return found[::-1]


def _release(last: str) -> None:
    """Free the values of the program's own modules, which closes their files.

    As in the interpreter, objects without references from elsewhere go first, while the names of
    their modules exist. Libraries that hold an object of the program keep the names alive.
    """
    folders = tuple(path + os.sep for path in library_folders())
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        if hasattr(sys, name):
            setattr(sys, name, None)  # their frames hold variables
    names = ["__main__"]
    module: Any = None
    for name, module in modules_after(last):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and not file.startswith(folders):
            names.append(name)
    names_of = {}
    for name in names:
        values = getattr(sys.modules.pop(name, None), "__dict__", None)
        names_of[id(values)] = name
    del module, values
    gc.collect()
    left = [found for found in gc.get_objects() if type(found) is dict and id(found) in names_of and found.get("__name__") == names_of[id(found)]]
    for turn in range(3) if left else ():
        for values in left:
            for key in [key for key, value in values.items() if key != "__builtins__" and _turn(value) <= turn]:
                values[key] = None
        gc.collect()


def _turn(value: Any) -> int:
    """Return when a value goes: methods __del__ may use those that go later."""
    if hasattr(type(value), "__del__"):
        return 0
    return 2 if isinstance(value, (type, types.FunctionType, types.ModuleType)) else 1


class _Loaded(ctypes.Structure):
    """The information of dl_iterate_phdr(3) about a library."""

    _fields_ = [
        ("address", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("headers", ctypes.c_void_p),
        ("count", ctypes.c_uint16),
        ("loads", ctypes.c_ulonglong),
        ("unloads", ctypes.c_ulonglong),
    ]


_VISITOR = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Loaded), ctypes.c_size_t, ctypes.py_object)


def _visit(library: Any, size: int, found: List[int]) -> int:
    found.append(library.contents.loads)
    return 1  # this is enough


_VISIT = _VISITOR(_visit)


def loads() -> int:
    """Return how many libraries this process has loaded."""
    found: List[int] = []
    LIBC.dl_iterate_phdr(_VISIT, ctypes.py_object(found))
    return found[0]
