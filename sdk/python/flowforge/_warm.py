"""Starts Python programs of tasks as forks of a process that has loaded its modules before.

The runner starts one such process for each environment and reaches it through a socket, which
is its standard input. For each attempt the process forks a child of the runner: a sibling, or,
where that is impossible, the second of two forks. The child reads its request from a socket of
its own, and replaces everything that it shares with its parent. Requests contain secrets, so the
parent never reads one.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import struct
import sys
from typing import Any, Callable, Dict, Iterable, List, Mapping, NoReturn, Set, Tuple

from . import _compiled, _ending, _preload, _sibling

_PR_SET_PDEATHSIG = 1
_MOST_MODULES = 2000  # in the report of one task
_LIBC = _ending.LIBC
# fork(2) without the functions of os.register_at_fork, which cost as much as the fork itself.
# Only for a process that forks again or ends: its own child runs them.
_bare_fork: Callable[[], int] = _LIBC.fork


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
        self.requested: List[str] = order["modules"]
        self.startup = startup
        self.given: Dict[str, str] = order["environment"]
        self.added: Dict[str, str] = {}
        self.folder = folder

    def load(self) -> None:
        """Import the modules that tasks use, and notify the runner."""
        import flowforge

        self.region = _environment_region()
        for name in ("_task", "_sender", *flowforge._LATER):
            importlib.import_module("flowforge." + name)
        _ending.remember_libraries()
        own = _sibling.libraries()
        for name in self.requested:
            if name in sys.modules:
                continue
            problem = _preload.preload(name)
            if problem:
                _send(self.control, {"refused": name, "reason": problem})
                os._exit(0)
        folders = [path for path in _preload.library_folders() if os.path.isdir(path)]
        # A wrapper of the interpreter, such as a shim of pyenv, and libraries set variables.
        self.added = {name: value for name, value in os.environ.items() if self.given.get(name) != value}
        for name, value in os.environ.items():
            os.putenv(name, value)  # a copy, because tasks overwrite the first environment
        _rehearse()
        self.sibling = _sibling.find(own)
        gc.collect()
        gc.freeze()
        _send(self.control, {"ready": True, "folders": folders})

    def serve(self) -> None:
        """Fork for each file that the runner sends, and compile packages, until it closes the socket."""
        while True:
            mark, files, _, _ = socket.recv_fds(self.control, 1, 1)
            if not mark:
                os._exit(0)
            if mark == b"c":
                _compiled.remember(_receive(self.control)["folder"])
                continue
            os.set_inheritable(files[0], False)
            _send(self.control, self._fork(files[0], mark == b"w"))
            os.close(files[0])

    def _fork(self, file: int, waits: bool) -> Dict[str, Any]:
        """Fork a child of the runner and return the answer to the runner."""
        if self.sibling is not None:
            pid = self.sibling.fork()
            if pid == 0:
                _Task(self, socket.socket(fileno=file)).run(waits)
            if pid > 0:
                return {"pid": pid}
            self.sibling = None  # the kernel or a sandbox does not allow it
        first = _bare_fork()
        if first == 0:
            self._orphan(file, waits)
        if first < 0:
            return {"error": "fork: " + os.strerror(ctypes.get_errno())}
        _, status = os.waitpid(first, 0)
        return {"error": "" if status == 0 else f"the first child ended with status {status}"}

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
            self._leave_control()
            os.setpgid(0, 0)
            if self.server.sibling is None:
                _send(self.socket, {"pid": self.pid})
            if waits:
                _rehearse()
            request, files = _receive_files(self.socket, 3)
            self.prepare(request, files)
            _send(self.socket, {"started": True})
            _exactly(self.socket, 1)  # a runner that waited too long has given up this process
        except BaseException as err:
            try:
                _send(self.socket, {"error": f"{type(err).__name__}: {err}"})
            finally:
                os._exit(1)
        self.last = next(reversed(sys.modules))
        atexit.register(self.report)
        _ending.execute(request["script"], self.last)

    def _leave_control(self) -> None:
        """Close the socket of the parent: the runner notices its end by the end of the stream."""
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, self.server.control.detach())
        os.close(null)

    def prepare(self, request: Mapping[str, Any], files: List[int]) -> None:
        """Replace what a new process would not have of this one."""
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != self.server.runner:
            raise _Refused("the runner is not the parent of this process")
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
        _compiled.use_in(os.path.dirname(script))
        _renew(request["environment"])

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
        start, end = self.server.region
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
        folders = tuple(path + os.sep for path in _preload.library_folders())
        names = []
        for name, module in _ending.modules_after(self.last):
            origin = getattr(getattr(module, "__spec__", None), "origin", None)
            if isinstance(origin, str) and origin.startswith(folders):
                names.append(name)
        try:
            self.socket.settimeout(1)
            _send(self.socket, {"modules": names[:_MOST_MODULES]})
        except OSError:
            pass  # the task closed its files


_REHEARSAL = """
from typing import List
import flowforge
from flowforge import foreach, operator, workflow
@operator
def rehearsal(number: int = 0) -> int:
    return number
@workflow(name="rehearsal")
def numbers() -> List[int]:
    return foreach(range(2), lambda number: rehearsal(number))
"""


def _rehearse() -> None:
    """Do what most tasks do.

    The first use of an object copies its memory from the parent. No task waits for it yet.
    """
    os.environ["FLOWFORGE_WARM_SPACE"] = ""
    del os.environ["FLOWFORGE_WARM_SPACE"]
    _renew(dict(os.environ))
    one, other = socket.socketpair()
    _send(one, dict(os.environ))
    _receive(other)
    one.close()
    other.close()
    _import_rehearsal()
    values: Dict[str, Any] = {"__name__": "rehearsal"}
    exec(compile(_REHEARSAL, "rehearsal", "exec", dont_inherit=True), values)
    for p in values["rehearsal"].signature.parameters:
        p.type.decode(0)
    for result in values["rehearsal"].signature.results:
        json.dumps(result.type.encode(0))
    _ending.loads()


def _import_rehearsal() -> None:
    """Import a module as the one of a task is imported: found in a folder of sys.path, and compiled."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    dont_write_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        importlib.import_module("_rehearsal")
    finally:
        sys.dont_write_bytecode = dont_write_bytecode
        del sys.path[0]
        sys.modules.pop("_rehearsal", None)


def _renew(environment: Mapping[str, str]) -> None:
    """Replace state that libraries made once for this process."""
    import tempfile

    import flowforge
    from flowforge._config import Config

    tempfile.tempdir = None
    client: Any = flowforge.client
    client.__init__(Config.from_env(environment))
    # random seeds itself after a fork.
    numpy_random: Any = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    processes: Any = sys.modules.get("multiprocessing.process")
    if processes is not None:
        processes.current_process().authkey = os.urandom(32)
        processes.ORIGINAL_DIR = os.getcwd()  # where children find the main program


def _environment_region() -> Tuple[int, int]:
    """Return where this process got its first environment (proc_pid_stat(5))."""
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    start, end = int(fields[47]), int(fields[48])
    if not 0 < start < end:
        raise _Refused("the kernel does not report the address of the environment")
    return start, end


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
