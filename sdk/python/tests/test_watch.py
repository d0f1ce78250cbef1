"""Notebooks show executions and sweeps while they run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, List, Tuple

import pytest

from flowforge import _watch
from flowforge.exceptions import ServerError

from .serving import server
from .test_cells import cells

assert server  # a fixture

FLOW = '''\
from flowforge import client, operator, workflow

@operator
def slow(n: int) -> int:
    for step in range(n):
        client.metric("loss", 1 / (step + 1), step=step)
    if n == 13:
        raise ValueError("thirteen")
    return n

@workflow(name="watched")
def watched(n: int = 3) -> int:
    return slow(n)
'''


def test_in_a_notebook(server: Any, tmp_path: Path) -> None:
    shown = cells(
        tmp_path,
        FLOW,
        "run = watched.launch(4).watch(); run.outputs",
        "watched.launch(13).watch()",
        "import threading\nrun = watched.launch(5).watch(block=False)\nfor t in threading.enumerate():\n    if t.name == 'flowforge-watch': t.join()",
        "watched.sweep({'n': [1, 2, 3]}, method='grid', output='result').watch().best",
    )
    last = [text.rpartition("updated: ")[2] for text in shown]
    assert "<b>SUCCEEDED</b> 1 of 1 nodes" in last[1] and "slow loss 0.25<" in last[1] and "<polyline" in last[1]
    assert last[1].endswith("{'result': 4}")
    assert "<b>FAILED</b>" in last[2] and "ExecutionError: execution" in last[2] and "thirteen" in last[2]
    assert "<b>SUCCEEDED</b>" in last[3] and "ExecutionError" not in last[3]
    assert "3 of 3 runs ended" in last[4] and "best: result = 3 (n = 3)" in last[4] and "<polyline" in last[4]


def updates(*answers: Any) -> Tuple[Callable[[], Tuple[str, bool]], List[str]]:
    """Return a function that gives the answers, and a list for what is shown."""
    left = list(answers)

    def read() -> Tuple[str, bool]:
        found = left.pop(0)
        if isinstance(found, Exception):
            raise found
        return found, not left

    return read, []


def test_a_server_that_restarts() -> None:
    read, shown = updates("one", ServerError("gone"), ServerError("busy", 429), "two")
    _watch._update(read, shown.append, pause=lambda seconds: None)
    assert shown == ["one", "two"]


def test_a_refusal_ends_the_updates() -> None:
    read, shown = updates("one", ServerError("no such execution", 404))
    with pytest.raises(ServerError, match="no such execution"):
        _watch._update(read, shown.append, pause=lambda seconds: None)
    assert shown == ["one"]


def test_without_a_notebook() -> None:
    assert not _watch.in_notebook()
