"""mypy --strict and pyright accept right user code and report every mistake in wrong code."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, Callable, Dict, Set

import pytest

HERE = Path(__file__).parent / "flows"


def marked() -> Set[int]:
    return {number for number, line in enumerate((HERE / "mistyped.py").read_text().splitlines(), 1) if line.endswith("# wrong")}


FILES = ("typed.py", "mistyped.py", "contract.py")


def contract(checker: Callable[[Path], str]) -> Set[int]:
    """Return the lines of the contract's example that a checker cannot accept.

    A string is no instance of Dataset, and mypy wants the body that the example leaves out.
    """
    refused = ['= "uci-digits@1"', "]: ..."] if checker is mypy else ['= "uci-digits@1"']
    return {number for number, line in enumerate((HERE / "contract.py").read_text().splitlines(), 1) if any(text in line for text in refused)}


Mistakes = Dict[str, Set[int]]  # lines by file


def found_in(output: str) -> Mistakes:
    pairs = re.findall(r"(\w+\.py):(\d+)(?::\d+)?(?: -)?:? error", output)
    return {name: {int(line) for file, line in pairs if file == name} for name in FILES}


def mypy(tmp_path: Path) -> str:
    files = [str(HERE / name) for name in FILES]
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-incremental", "--config-file=", *files]
    return subprocess.run(command, capture_output=True, text=True, cwd=HERE.parents[1]).stdout


def pyright(tmp_path: Path) -> str:
    program = shutil.which("pyright", path=os.pathsep.join([str(Path(sys.executable).parents[2] / "bin"), os.environ["PATH"]]))
    assert program is not None, "pyright is not installed: run scripts/setup python"
    files = [os.path.relpath(HERE / name, tmp_path) for name in FILES]  # pyright ignores absolute paths
    settings = tmp_path / "pyrightconfig.json"
    settings.write_text(json.dumps({"include": files, "extraPaths": [str(HERE.parents[1])], "typeCheckingMode": "strict"}))
    done = subprocess.run([program, "-p", str(settings)], capture_output=True, text=True)
    assert "No source files found" not in done.stdout and done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_checkers_accept_user_code_and_report_mistakes(checker: Callable[[Path], str], tmp_path: Path) -> None:
    output = checker(tmp_path)
    assert found_in(output) == {"typed.py": set(), "mistyped.py": marked(), "contract.py": contract(checker)}, output


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_mypy_accepts_the_first_example_of_a_page(page: str, tmp_path: Path) -> None:
    text = (HERE.parents[3] / page).read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert found is not None
    (tmp_path / "flow.py").write_text(textwrap.dedent(found.group(1)), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-incremental", "--config-file=", str(tmp_path / "flow.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE.parents[1])
    assert done.returncode == 0, done.stdout


def test_the_example_of_the_contract() -> None:
    definition = importlib.import_module("tests.flows.contract").search.definition()
    inputs: Dict[str, Any] = {i["name"]: i for i in definition.document()["inputs"]}
    assert (inputs["data"]["type"], inputs["data"]["default"]) == ("Dataset", "uci-digits@1")
    assert "Finds the best classifier." in definition.yaml()
