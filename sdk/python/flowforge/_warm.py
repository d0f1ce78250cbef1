"""Starts Python programs of tasks as forks of a process that has loaded its modules before.

The runner starts one such process for each environment and reaches it through a socket, which
is its standard input. For each attempt the process forks twice. The second child becomes a
child of the runner, reads its request from a socket of its own, and replaces everything that
it shares with its parent. Requests contain secrets, so the parent never reads one.
"""

from __future__ import annotations

import atexit
import builtins
import ctypes
import gc
import importlib
import importlib.machinery
import importlib.util
import json
import os
import signal
import site
import socket
import struct
import sys
import sysconfig
import threading
import types
from typing import Any, Dict, Iterable, List, Mapping, NoReturn, Optional, Set, Tuple

_PR_SET_PDEATHSIG = 1
_MOST_MODULES = 2000  # in the report of one task
_LIBC = ctypes.PyDLL(None)  # holds the interpreter's lock during calls


_LOADS = 0  # libraries of the interpreter and the SDK, which have nothing to do at the end


class _Refused(Exception):
    """A task cannot run in a copy of this process."""


def main(startup: Iterable[str]) -> None:
    """Serve the runner. startup names the modules that every interpreter loads."""
    control = socket.socket(fileno=0)
    order = _receive(control)
    folder = os.getcwd()
    os.chdir("/")
    sys.path[:] = [entry for entry in sys.path if entry != ""]
    os.environ.pop("FLOWFORGE_WARM_SPACE", None)
    server = _Server(control, order, folder, set(startup))
    server.load()
    server.serve()


class _Server:
    def __init__(self, control: socket.socket, order: Mapping[str, Any], folder: str, startup: Set[str]) -> None:
        self.control = control
        self.runner = int(order["runner"])
        self.wanted: List[str] = order["modules"]
        self.startup = startup
        self.given: Dict[str, str] = order["environment"]
        self.added: Dict[str, str] = {}
        self.folder = folder

    def load(self) -> None:
        """Import the modules that tasks use, and tell the runner."""
        import flowforge

        _environment_region()
        for name in ("_task", "_sender", *flowforge._LATER):
            importlib.import_module("flowforge." + name)
        global _LOADS
        _LOADS = _loads()
        for name in self.wanted:
            if name in sys.modules:
                continue
            problem = _preload(name)
            if problem:
                _send(self.control, {"refused": name, "reason": problem})
                os._exit(0)
        folders = [path for path in _library_folders() if os.path.isdir(path)]
        # A wrapper of the interpreter, such as a shim of pyenv, and libraries set variables.
        self.added = {name: value for name, value in os.environ.items() if self.given.get(name) != value}
        for name, value in os.environ.items():
            os.putenv(name, value)  # a copy, because tasks overwrite the first environment
        gc.collect()
        gc.freeze()
        _send(self.control, {"ready": True, "folders": folders})

    def serve(self) -> None:
        """Fork for each file that the runner sends, until it closes the socket."""
        while True:
            mark, files, _, _ = socket.recv_fds(self.control, 1, 1)
            if not mark:
                os._exit(0)
            os.set_inheritable(files[0], False)
            try:
                first = os.fork()
            except OSError as err:
                _send(self.control, {"error": f"fork: {err}"})
                os.close(files[0])
                continue
            if first == 0:
                self._orphan(files[0], mark == b"w")
            os.close(files[0])
            _, status = os.waitpid(first, 0)
            _send(self.control, {"error": "" if status == 0 else f"the first child ended with status {status}"})

    def _orphan(self, file: int, waits: bool) -> NoReturn:
        """Fork again and end, so that the runner becomes the parent of the second child."""
        try:
            if os.fork() != 0:
                os._exit(0)
        except OSError:
            os._exit(1)
        _Task(self, socket.socket(fileno=file)).run(waits)


class _Task:
    """One task, in its own process."""

    def __init__(self, server: _Server, runner: socket.socket) -> None:
        self.server = server
        self.socket = runner
        self.pid = os.getpid()

    def run(self, waits: bool) -> NoReturn:
        try:
            os.setpgid(0, 0)
            _send(self.socket, {"pid": self.pid})
            if waits:
                _rehearse()
            request, files = _receive_files(self.socket, 3)
            self.prepare(request, files)
        except BaseException as err:
            try:
                _send(self.socket, {"error": f"{type(err).__name__}: {err}"})
            finally:
                os._exit(1)
        _send(self.socket, {"started": True})
        self.last = next(reversed(sys.modules))
        atexit.register(self.report)
        _execute(request["script"], self.last)

    def prepare(self, request: Mapping[str, Any], files: List[int]) -> None:
        """Replace what a new process would not have of this one."""
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != self.server.runner:
            raise _Refused("the runner is not the parent of this process")
        self.server.control.detach()  # the standard input replaces it
        for target, file in enumerate(files):
            os.dup2(file, target)
            os.close(file)
        os.chdir(request["folder"])
        self._environment(request)
        script = request["script"]
        self._refuse_shadows(os.path.dirname(script))
        sys.argv = [script, *request["arguments"]]
        sys.dont_write_bytecode = True  # the folder of the code is removed at the end
        if hasattr(sys, "orig_argv"):  # Python 3.10
            sys.orig_argv = [request["interpreter"], *sys.argv]
        if not getattr(sys.flags, "safe_path", False):
            sys.path.insert(0, os.path.dirname(script))
        _renew()

    def _environment(self, request: Mapping[str, Any]) -> None:
        new: Dict[str, str] = dict(request["environment"])
        for name, value in self.server.added.items():
            if name in self.server.given or name not in new:  # otherwise it is one of the attempt, such as a secret
                new[name] = request["folder"] if value == self.server.folder else value
        for name in [name for name in os.environ if name not in new]:
            del os.environ[name]
        for name, value in new.items():
            if os.environ.get(name) != value:
                os.environ[name] = value
        # The kernel shows the first environment of a process. The runner finds processes by it.
        start, end = _environment_region()
        marks = b"".join(f"{name}={new[name]}\0".encode() for name in ("FLOWFORGE_TASK_ID", "FLOWFORGE_OUTPUTS"))
        if len(marks) > end - start:
            raise _Refused(f"the paths of the attempt need {len(marks)} bytes; the environment has {end - start}")
        ctypes.memmove(start, marks.ljust(end - start, b"\0"), end - start)

    def _refuse_shadows(self, folder: str) -> None:
        """Refuse code whose modules have names of modules that are loaded already."""
        for entry in os.scandir(folder):
            name = entry.name.partition(".")[0]
            if name not in sys.modules or name in self.server.startup or name in sys.builtin_module_names:
                continue
            file = entry.name.endswith((".py", ".so", ".pyc"))
            if file or os.path.exists(os.path.join(entry.path, "__init__.py")):
                raise _Refused(f"{entry.name} of the code has the name of a loaded module")

    def report(self) -> None:
        """Tell the runner which modules of libraries the task has imported."""
        if os.getpid() != self.pid:
            return
        folders = tuple(path + os.sep for path in _library_folders())
        names = []
        for name, module in _modules_after(self.last):
            origin = getattr(getattr(module, "__spec__", None), "origin", None)
            if isinstance(origin, str) and origin.startswith(folders):
                names.append(name)
        try:
            self.socket.settimeout(1)
            _send(self.socket, {"modules": names[:_MOST_MODULES]})
        except OSError:
            pass  # the task closed its files


def _execute(script: str, last: str) -> NoReturn:
    """Run a file as the main program and end the process as the interpreter would."""
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=script, __builtins__=builtins, __cached__=None)
    module.__loader__ = importlib.machinery.SourceFileLoader("__main__", script)
    sys.modules["__main__"] = module
    interrupted, code = False, 0
    try:
        with open(script, "rb") as file:
            source = file.read()
        exec(compile(source, script, "exec", dont_inherit=True), module.__dict__)
    except SystemExit as err:
        code = _exit_code(err.code)
    except BaseException as err:
        interrupted, code = isinstance(err, KeyboardInterrupt), 1
        _show(err)
    _finish(code, interrupted, last)


def _show(err: BaseException) -> None:
    trace = err.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    err.__traceback__ = trace
    try:
        sys.excepthook(type(err), err, trace)
    except BaseException:
        sys.__excepthook__(type(err), err, trace)


def _exit_code(code: Any) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    _flush()
    print(code, file=sys.stderr)
    return 1


def _finish(code: int, interrupted: bool, last: str) -> NoReturn:
    """End the process.

    The interpreter would also free what was loaded before the fork, which costs more than the
    fork itself and has no effect that another process could notice.
    """
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
    if _threads() > 1:
        sys.exit(code)  # only the interpreter can stop other threads
    _release(last)
    if not (_flush() and well) and code == 0:
        code = 120
    _LIBC.fflush(None)
    if _loads() != _LOADS:
        _LIBC.exit(code)  # libraries may have registered functions with atexit(3)
    os._exit(code)


def _flush() -> bool:
    well = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except (OSError, ValueError):
            well = False
    return well


def _modules_after(last: str) -> List[Tuple[str, Any]]:
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
    """Free the values of the program's own modules, which closes their files."""
    folders = tuple(path + os.sep for path in _library_folders())
    for name, module in [("__main__", sys.modules["__main__"]), *_modules_after(last)]:
        file = getattr(module, "__file__", None)
        if name == "__main__" or isinstance(file, str) and not file.startswith(folders):
            values = module.__dict__
            for key in [key for key in values if key != "__builtins__"]:
                values[key] = None
    gc.collect()


_REHEARSAL = '''
import flowforge
@flowforge.operator
def rehearsal(number: int = 0) -> int:
    return number
'''


def _rehearse() -> None:
    """Do what most tasks do.

    The first use of an object copies its memory from the parent. No task waits for it yet.
    """
    os.environ["FLOWFORGE_WARM_SPACE"] = ""
    del os.environ["FLOWFORGE_WARM_SPACE"]
    _environment_region()
    _renew()
    one, other = socket.socketpair()
    _send(one, dict(os.environ))
    _receive(other)
    one.close()
    other.close()
    values: Dict[str, Any] = {"__name__": "rehearsal"}
    exec(compile(_REHEARSAL, "rehearsal", "exec", dont_inherit=True), values)
    for p in values["rehearsal"].signature.parameters:
        p.type.decode(0)
    for result in values["rehearsal"].signature.results:
        json.dumps(result.type.encode(0))
    _loads()


def _renew() -> None:
    """Replace state that libraries made once for this process."""
    import tempfile

    import flowforge
    from flowforge._config import Config

    tempfile.tempdir = None
    client: Any = flowforge.client
    client.__init__(Config.from_env())
    # random seeds itself after a fork.
    numpy_random: Any = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    processes: Any = sys.modules.get("multiprocessing.process")
    if processes is not None:
        processes.current_process().authkey = os.urandom(32)


def _preload(name: str) -> str:
    """Import a module of a library; the result says why a copy of it could not be used."""
    folders = tuple(path + os.sep for path in _library_folders())
    before = _effects()
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and (spec.origin or "").startswith(folders):
            importlib.import_module(name)
    except BaseException:
        pass  # the task that needs it sees the error
    if _threads() > 1:
        # A library that supports forks, such as OpenBLAS, ends its threads before one.
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    if _threads() > 1:
        return "it starts threads"
    after = _effects()
    after["the environment"] = {variable: after["the environment"].get(variable) for variable in before["the environment"]}
    return next((f"it changes {what}" for what, value in after.items() if value != before[what]), "")


def _effects() -> Dict[str, Any]:
    """Return what a task of another program must not find changed."""
    return {
        "signal handlers": [signal.getsignal(number) for number in signal.valid_signals()],
        "the environment": dict(os.environ),
        "the working folder": os.getcwd(),
        "the module path": list(sys.path),
        "open files": sorted(os.listdir("/proc/self/fd")),
        "hooks": (sys.excepthook, sys.displayhook, threading.excepthook, sys.unraisablehook),
    }


def _threads() -> int:
    return max(threading.active_count(), len(os.listdir("/proc/self/task")))


_folders: Optional[List[str]] = None


def _library_folders() -> List[str]:
    """Return the folders of the standard library and of installed packages."""
    global _folders
    if _folders is None:
        paths = sysconfig.get_paths()
        found = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
        _folders = list(dict.fromkeys([*found, *site.getsitepackages()]))
    return _folders


def _environment_region() -> Tuple[int, int]:
    """Return where this process got its first environment (proc_pid_stat(5))."""
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    start, end = int(fields[47]), int(fields[48])
    if not 0 < start < end:
        raise _Refused("the kernel does not report the address of the environment")
    return start, end


class _Loaded(ctypes.Structure):
    """What dl_iterate_phdr(3) says about a library."""

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


def _loads() -> int:
    """Return how many libraries this process has loaded."""
    found: List[int] = []
    _LIBC.dl_iterate_phdr(_VISIT, ctypes.py_object(found))
    return found[0]


def _send(to: socket.socket, message: Mapping[str, Any]) -> None:
    text = json.dumps(message).encode()
    to.sendall(struct.pack(">I", len(text)) + text)


def _receive(source: socket.socket) -> Dict[str, Any]:
    return _receive_files(source, 0)[0]


def _receive_files(source: socket.socket, count: int) -> Tuple[Dict[str, Any], List[int]]:
    """Receive a message, and the files that come with its first byte."""
    files: List[int] = []
    head = b""
    if count:
        head, files, _, _ = socket.recv_fds(source, 4, count)
        if len(files) != count:
            raise EOFError("the runner closed the socket")
    head += _exactly(source, 4 - len(head))
    text = _exactly(source, struct.unpack(">I", head)[0])
    found: Dict[str, Any] = json.loads(text)
    return found, files


def _exactly(source: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = source.recv(size - len(parts))
        if not part:
            raise EOFError("the runner closed the socket")
        parts += part
    return bytes(parts)
