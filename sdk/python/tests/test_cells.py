"""Workflows in the cells of a notebook, in a kernel that runs as for every notebook."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest

from flowforge._api import Server

from .serving import PACKAGE, server

assert server  # a fixture


def cells(folder: Path, *sources: str) -> List[str]:
    """Return what each cell of a notebook in folder shows."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "IPYTHONDIR": str(folder / ".ipython"), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    done = subprocess.run([sys.executable, "-m", "tests.kernel"], input=json.dumps(sources), capture_output=True, text=True, cwd=folder, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    found: List[str] = json.loads(done.stdout)
    return found


IMPORTS = '''\
import math, dataclasses
from typing import Annotated, List, NamedTuple
from flowforge import Range, foreach, operator, workflow
%pwd
'''

TYPES = '''\
Rate = Annotated[float, Range(0, 10)]
FACTOR = 2
KINDS = ["a", "b"]; unused = 1 / 4

@dataclasses.dataclass
class Fit:
    """A fit."""
    kind: str
    rate: float
'''

OPERATORS = '''\
def scaled(rate):
    text = """
not indented
"""
    return math.floor(rate * FACTOR * len(KINDS))

@operator
def fit(kind: str, rate: Rate) -> Fit:
    return Fit(kind, scaled(rate))

@operator(name="chosen")
async def best(fits: "List[Fit]") -> float:
    return max(fit.rate for fit in fits)
'''

WORKFLOW = '''\
@workflow(name="sdk.cells")
def search(rate: Rate = 3.2) -> float:
    """Finds the best rate."""
    return best(foreach(KINDS, lambda kind: fit(kind, rate)))

search()
'''

MODULE = '''\
"""The cells of a notebook that its workflow uses."""

import math, dataclasses

from typing import Annotated, List, NamedTuple

from flowforge import Range, foreach, operator, workflow

Rate = Annotated[float, Range(0, 10)]

KINDS = ['a', 'b', 'c']

@dataclasses.dataclass
class Fit:
    """A fit."""
    kind: str
    rate: float

def scaled(rate):
    text = """
not indented
"""
    return math.floor(rate * FACTOR * len(KINDS))

@operator
def fit(kind: str, rate: Rate) -> Fit:
    return Fit(kind, scaled(rate))

@operator(name="chosen")
async def best(fits: "List[Fit]") -> float:
    return max(fit.rate for fit in fits)

@workflow(name="sdk.cells")
def search(rate: Rate = 3.2) -> float:
    """Finds the best rate."""
    return best(foreach(KINDS, lambda kind: fit(kind, rate)))

FACTOR = 4
'''


def test_the_module_has_what_the_workflow_uses(tmp_path: Path) -> None:
    (tmp_path / "notebook.ipynb").write_text("{}")
    (tmp_path / "helper.py").write_text("N = 1\n")
    shown = cells(
        tmp_path, IMPORTS, TYPES, OPERATORS, WORKFLOW, "FACTOR += 2\nKINDS.append('c')\nsearch()",
        "d = search.definition()\nprint(d.code.files, d.code.content('notebook_cells.py').decode(), sep='\\n', end='')\nFACTOR = 9",
        "print(search.definition().registered('sha256:' + '0' * 64, '1.0.0', {})['metadata']['python']['functions'])",
    )  # fmt: skip
    assert shown[3:5] == ["12.0", "38.0"]
    files, _, module = shown[5].partition("\n")
    assert (files, module) == ("('helper.py', 'notebook_cells.py')", MODULE)
    assert "'notebook_cells:fit': {'file': 'notebook_cells.py', 'first': 25, 'last': 27}" in shown[6]
    (tmp_path / "notebook_cells.py").write_text(module)
    alone = subprocess.run([sys.executable, "-c", "from notebook_cells import search; print(search())"], capture_output=True, text=True, cwd=tmp_path, env={"PYTHONPATH": str(PACKAGE)})
    assert alone.stdout == "38.0\n", alone.stderr


def test_a_notebook_runs_on_the_server(server: Server, tmp_path: Path) -> None:
    shown = cells(
        tmp_path, IMPORTS, TYPES, OPERATORS, WORKFLOW,
        "run = search.launch(rate=5).wait(120)\nprint(run.result(), search(rate=5))\nlater = run",
        "print(search.launch(rate=2).refresh()['version'] == run.refresh()['version'])",
        OPERATORS.replace("max(", "min(") + "\nprint(search.launch(rate=1.3).wait(120).result())",
        "print(search.deploy())",
    )  # fmt: skip
    assert shown[4:] == ["20.0 20.0\n", "True\n", "5.0\n", "1.0.0\n"]
    python = server.get("/workflows/sdk.cells/versions/1.0.0")["definition"]["metadata"]["python"]
    assert (python["file"], python["function"]) == ("notebook_cells.py", "notebook_cells:search")
    assert python["functions"]["notebook_cells:best"]["file"] == "notebook_cells.py"


START = "import asyncio, collections, pandas\nfrom flowforge import Run, operator, workflow"

REFUSED = [
    ("@operator\ndef a() -> int:\n    !ls\n    return 1\n", "cell 2, line 3: this is an IPython command (% or !), which is not available in tasks: "),
    ("frame = pandas.DataFrame({'x': [1]})\n@operator\ndef a() -> int:\n    return len(frame)\n", "cell 4, line 1: an operator or a function that it calls uses frame, which is a DataFrame: pass it as an argument"),
    ("run = Run('x')\n@operator\ndef a() -> int:\n    return len(run.logs())\n", "cell 6, line 1: an operator or a function that it calls uses run, which is a Run: pass it as an argument"),
    ("%%time\n@operator\ndef a() -> int:\n    return 1\n", "a has no source in the executed cells, so tasks cannot use it: define it in a cell without a magic such as %%time"),
    ("counts = collections.Counter()\ncounts.update('abc')\n@operator\ndef a() -> int:\n    return len(counts)\n", "cell 10, line 2: this changes counts, and a task runs only the statement that creates it (cell 10, line 1): "),
    ("lock = await asyncio.sleep(0, collections.Counter())\n@operator\ndef a() -> int:\n    return len(lock)\n", "cell 12, line 1: tasks cannot run this statement, because it uses await outside a function: "),
    ("many = list(range(100_000))\n@operator\ndef a() -> int:\n    return len(many)\n", "many has 688,890 characters as a Python literal; values from notebook cells can have at most 65,536: pass many as an argument"),
]


def test_what_tasks_cannot_run_is_an_error(tmp_path: Path) -> None:
    sources = [START]
    for source, _ in REFUSED:
        sources += [source, "@workflow\ndef made() -> int:\n    return a()\n\ntry:\n    made.definition()\nexcept Exception as err:\n    print(f'{type(err).__name__}: {err}')"]
    shown = cells(tmp_path, *sources)[2::2]
    for (_, message), text in zip(REFUSED, shown):
        assert text.startswith("DefinitionError: ") and message in text


def test_a_function_that_a_cell_failed_to_define_again(tmp_path: Path) -> None:
    first = "from flowforge import operator, workflow\n@operator\ndef a() -> int:\n    return 1\n@workflow\ndef flow() -> int:\n    return a()\n"
    shown = cells(tmp_path, first, "1 / 0\n@operator\ndef a() -> int:\n    return 2\n", "flow.definition()")
    assert "a is from cell 1, and the later cell 2 did not redefine it: run that cell so that it succeeds" in shown[2]


@pytest.mark.parametrize("name", ["notebook_cells.py", "notebook_cells2.py"])
def test_the_module_has_a_name_that_no_file_has(tmp_path: Path, name: str) -> None:
    if name != "notebook_cells.py":
        (tmp_path / "notebook_cells.py").write_text("")
    source = "from flowforge import operator, workflow\n@operator\ndef a() -> int:\n    return 1\n@workflow\ndef flow() -> int:\n    return a()\nprint(flow.definition().code.made.keys())\n"
    assert cells(tmp_path, source) == [f"dict_keys(['{name}'])\n"]


def test_an_error_shows_the_cells_instead_of_this_package(tmp_path: Path) -> None:
    code = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance(colors='NoColor')\n"
        "for cell in ('import flowforge', 'def go():\\n    flowforge.launch(\"x\")\\n', 'go()'):\n"
        "    shell.run_cell(cell, store_history=True)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "IPYTHONDIR": str(tmp_path), "FLOWFORGE_SERVER": "http://127.0.0.1:1", "FLOWFORGE_TOKEN": "x"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=100)
    assert done.stdout.splitlines()[:4] == ["cell 3, line 1", "    go()", "cell 2, line 2 in go", '    flowforge.launch("x")'], done.stdout + done.stderr
    assert done.stdout.splitlines()[4].startswith("ServerError: cannot reach a server at http://127.0.0.1:1")
