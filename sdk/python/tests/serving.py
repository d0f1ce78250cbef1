"""A running server for tests of workflows, and a project with a workflow in a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Iterator

import pytest

from flowforge._api import Server

from .running import Running

PACKAGE = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def server(running: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("flows")
    before = dict(os.environ)
    os.environ.update(FLOWFORGE_SERVER=running.url, FLOWFORGE_TOKEN=running.token, XDG_CACHE_HOME=str(folder), XDG_CONFIG_HOME=str(folder))
    yield Server()
    os.environ.clear()
    os.environ.update(before)


def cli(*argv: str, cwd: Path = PACKAGE) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    return subprocess.run([sys.executable, "-m", "flowforge", *argv], capture_output=True, text=True, env=environment, cwd=cwd, timeout=120)


def accept_interrupts() -> None:
    """For preexec_fn: accept SIGINT, which a shell ignores in commands that it runs in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


FLOW = '''
from typing import Optional
from flowforge import operator, workflow
from helper import FACTOR

@operator(cpu=0.1, memory="64Mi")
def scale(n: int) -> int:
    print("scaling", n)
    if n > 10:
        raise ValueError("too much")
    return n * FACTOR

@workflow(name="cli.scale")
def flow({parameters}) -> int:
    return scale(n)
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "flow.py").write_text(FLOW.format(parameters="n: int = 2"))
    (tmp_path / "helper.py").write_text("FACTOR = 3\n")
    (tmp_path / ".gitignore").write_text("data/\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "large.bin").write_bytes(b"x" * 1000)
    return tmp_path
