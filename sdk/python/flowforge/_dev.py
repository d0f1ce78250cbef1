"""Registers a workflow as the version that its author develops, at each save."""

from __future__ import annotations

import datetime
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
    files = _pack.near(file)
    print(f"Watching {len(files)} {'file' if len(files) == 1 else 'files'} in {_pack.place_of(file)[0]}. Press Ctrl+C to stop.", flush=True)
    try:
        while True:
            files = _pack.near(file)
            registered = _state(files)
            subprocess.run([sys.executable, "-m", "flowforge", "dev", path, "--once", *options], check=False)
            changed = sorted(_wait(file, files, registered))
            print(f"{_now()} {', '.join(path.name for path in changed[:3])}{' and others' if len(changed) > 3 else ''} changed", flush=True)
    except KeyboardInterrupt:
        return 0


def _wait(file: Path, files: List[Path], registered: _State) -> Set[Path]:
    """Wait until the files differ from the registered ones and no longer change. Return those that differ."""
    known = _state([*files, *_folders(files)])
    state = _state(_pack.near(file))
    while state == registered:
        time.sleep(_INTERVAL)
        now = _state(known)
        if now != known:  # a changed folder may only have a file that does not belong to the package
            known, state = now, _state(_pack.near(file))
    while True:
        time.sleep(_INTERVAL)
        now = _state(_pack.near(file))
        if now == state:
            return {path for path, _ in state.items() ^ registered.items()}
        state = now


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
