"""A registered version says where its functions are and how the signature is written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

FLOW = '''\
from typing import Annotated

from flowforge import Range, workflow

from search import train as fit


@workflow(
    name="sources.search",
)
def search(
    lr: Annotated[float, Range(1e-4, 1)] = 0.05,
    *,
    rows: "int | None" = None,
) -> float:
    text = """
unindented
"""
    return fit(lr)
'''

TRAIN = '''\
from flowforge import operator


@operator(cpu=1,
          retry=2)
def train(lr: float) -> float:
    return lr
'''


def test_functions_and_annotations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "flow.py").write_text(FLOW)
    (tmp_path / "search.py").write_text(TRAIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("flow", "search"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import flow  # type: ignore[import-not-found]

    change = {"level": "minor", "reason": "adds optional input rows", "from": "1.0.0"}
    python: Any = flow.search.definition().registered("sha256:" + 64 * "0", "1.1.0", change)["metadata"]["python"]
    assert python["file"] == "flow.py"
    assert python["functions"] == {
        "flow:search": {"file": "flow.py", "first": 8, "last": 19},
        "search:train": {"file": "search.py", "first": 4, "last": 7},
    }
    assert python["written"] == {"parameters": {"lr": "Annotated[float, Range(1e-4, 1)]", "rows": '"int | None"'}, "returns": "float"}
    assert python["change"] == change
    for name in ("flow", "search"):
        del sys.modules[name]
