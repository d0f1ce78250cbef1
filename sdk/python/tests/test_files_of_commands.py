"""Files that a command cannot use say why, instead of ending as if it had worked."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import pytest

from flowforge._cli import main

FLOW = """
import sys
from flowforge import operator, workflow

@operator
def load(n: int) -> int:
    return n

@workflow(name="same")
def first(n: int) -> int:
    return load(n)
"""

SECOND = """
@workflow(name="same")
def second(n: int) -> int:
    return load(n)
"""


@pytest.fixture
def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def export(name: str, text: str, *options: str) -> str:
        file = tmp_path / name
        file.write_text(text)
        assert main(["export", str(file), *options]) == 1
        return capsys.readouterr().err.replace(str(tmp_path), "…")

    return export


@pytest.mark.parametrize("end", ["sys.exit(0)", "sys.exit('no data')", "raise SystemExit"])
def test_a_file_that_ends_the_program(refused: Any, end: str) -> None:
    printed = refused("ends.py", FLOW + end + "\n")
    assert "ends.py\", line 12" in printed
    assert 'flowforge: …/ends.py cannot be imported: it ends the program; put what the file does as a script under `if __name__ == "__main__":`' in printed


def test_workflows_of_one_name(refused: Any) -> None:
    message = "flowforge: first and second of …/twice.py have the same name, same, so each would replace the other on the server; set @workflow(name=…)"
    assert message in refused("twice.py", FLOW + SECOND)
    assert message in refused("twice.py", FLOW + SECOND, "--workflow", "first")


def test_a_copy_of_a_workflow_is_no_other_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "copies.py").write_text(FLOW + "second = first.options(name='other')\n")
    assert main(["export", str(tmp_path / "copies.py")]) == 0
    assert "name: same" in capsys.readouterr().out


def test_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(tmp_path)]) == 1
    assert "is a folder; name the Python file with the workflow" in capsys.readouterr().err
