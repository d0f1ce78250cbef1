"""Registers a workflow as the version that its author develops, at each save."""

from __future__ import annotations

import contextlib
import datetime
import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Set, Tuple

from . import _launch, _pack
from ._api import Server, quoted
from .exceptions import FlowForgeError

if TYPE_CHECKING:
    from ._workflow import Workflow

_INTERVAL = 0.3  # seconds between two looks at the files
_LOOKS = 10  # until the files are listed again; folders without files are not looked at

_State = Dict[Path, Tuple[int, int]]  # modification time in ns and size; directories, too


def register(workflow: Workflow[Any, Any], server: Server) -> str:
    """Register the files, make the version the one that the caller develops, and describe it."""
    found = _launch.develop(workflow, server)
    answer = server.put(f"/workflows/{quoted(found.name)}/development", {"version": found.version})
    return f"{_now()} {found.name} {found.version}: {found.reason}\n         {server.url}{answer['ui_url']}"


def _now() -> str:
    return datetime.datetime.now().strftime("%H:%M:%S")


def watch(path: str, options: List[str]) -> int:
    """Register the file in a new interpreter now and after each change, until Ctrl+C.

    options are those of `flowforge dev`. Errors of the file or of the server are printed, and
    the next change is another attempt.
    """
    file = Path(path).resolve()
    if not file.is_file():
        raise FlowForgeError(f"the file {path} does not exist")
    watched = _Watched(file)
    count = len(watched.files)
    print(f"Watching {count} {'file' if count == 1 else 'files'} in {_pack.place_of(file)[0]}. Press Ctrl+C to stop.", flush=True)
    try:
        while True:
            registered = watched.list()
            subprocess.run([sys.executable, "-m", "flowforge", "dev", path, "--once", *options], check=False)
            saved = sorted(watched.wait(registered))
            _forget_bytecode(saved)
            changed = [os.fsencode(path.name).decode("utf-8", "replace") for path in saved]
            print(f"{_now()} {', '.join(changed[:3])}{' and others' if len(changed) > 3 else ''} changed", flush=True)
    except KeyboardInterrupt:
        return 0


def _forget_bytecode(saved: Iterable[Path]) -> None:
    """Remove the cached bytecode of files. Python compares only the size and the second of the modification time."""
    for path in saved:
        if path.suffix == ".py":
            with contextlib.suppress(OSError, NotImplementedError):
                os.unlink(importlib.util.cache_from_source(str(path)))


class _Watched:
    """The files of the package of a file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.files = [file]
        self._reported = ""
        self.list()

    def list(self) -> _State:
        """List the files again and return their state. If that fails, the list stays as it was."""
        problem = ""
        try:
            self.files = _pack.near(self.file)
        except (FlowForgeError, OSError) as err:
            problem = str(err)
        if problem and problem != self._reported:
            print(f"flowforge: {problem}", file=sys.stderr, flush=True)
        self._reported = problem
        return _state(self.files)

    def wait(self, registered: _State) -> Set[Path]:
        """Wait until the files differ from the registered ones and no longer change. Return those that differ."""
        state, looks = self.list(), 0
        known = self._known()
        while state == registered:
            time.sleep(_INTERVAL)
            looks += 1
            if looks % _LOOKS == 0 or self._known() != known:  # a changed folder may only have a file that does not belong to the package
                state, known = self.list(), self._known()
        while True:
            time.sleep(_INTERVAL)
            now = self.list()
            if now == state:
                return {path for path, _ in state.items() ^ registered.items()}
            state = now

    def _known(self) -> _State:
        return _state([*self.files, *_folders(self.files)])


def _folders(files: Iterable[Path]) -> List[Path]:
    return sorted({path.parent for path in files})


def _state(paths: Iterable[Path]) -> _State:
    found = {}
    for path in paths:
        try:
            stat = os.stat(path)
        except OSError:
            continue
        found[path] = (stat.st_mtime_ns, stat.st_size)
    return found
