"""mypy --strict and pyright accept right user code and report every mistake in wrong code."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import List, Set

HERE = Path(__file__).parent / "flows"


def marked() -> Set[int]:
    return {number for number, line in enumerate((HERE / "mistyped.py").read_text().splitlines(), 1) if line.endswith("# wrong")}


def mypy(name: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-incremental", "--config-file=", str(HERE / name)]
    return subprocess.run(command, capture_output=True, text=True, cwd=HERE.parents[1])


def pyright(name: str, tmp_path: Path) -> List[str]:
    program = shutil.which("pyright", path=os.pathsep.join([str(Path(sys.executable).parents[2] / "bin"), os.environ["PATH"]]))
    assert program is not None, "pyright is not installed: run scripts/setup python"
    settings = tmp_path / "pyrightconfig.json"
    file = os.path.relpath(HERE / name, tmp_path)  # pyright ignores absolute paths
    settings.write_text(f'{{"include": ["{file}"], "extraPaths": ["{HERE.parents[1]}"], "typeCheckingMode": "strict"}}')
    done = subprocess.run([program, "-p", str(settings)], capture_output=True, text=True)
    assert "No source files found" not in done.stdout and done.returncode in (0, 1), done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if " error: " in line]


def test_mypy_accepts_user_code() -> None:
    done = mypy("typed.py")
    assert done.returncode == 0, done.stdout


def test_mypy_reports_mistakes() -> None:
    found = {int(n) for n in re.findall(r"mistyped\.py:(\d+): error", mypy("mistyped.py").stdout)}
    assert found == marked()


def test_pyright_accepts_user_code(tmp_path: Path) -> None:
    assert pyright("typed.py", tmp_path) == []


def test_pyright_reports_mistakes(tmp_path: Path) -> None:
    found = {int(n) for line in pyright("mistyped.py", tmp_path) for n in re.findall(r"mistyped\.py:(\d+):", line)}
    assert found == marked()
