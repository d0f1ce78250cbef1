"""The unmodified client of Metaflow records runs with the metadata service, and reads them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, List, Mapping
from urllib.request import Request, urlopen

import pytest

from .running import Running

FLOW = '''
from metaflow import FlowSpec, Parameter, current, retry, step


class CountFlow(FlowSpec):
    """Squares of numbers, in parallel."""

    most = Parameter("most", default=3, type=int, help="how many numbers")
    broken = Parameter("broken", default=False, type=bool)

    @step
    def start(self):
        self.numbers = list(range(self.most))
        self.next(self.square, foreach="numbers")

    @retry(times=1, minutes_between_retries=0)
    @step
    def square(self):
        self.squared = self.input**2
        if self.input == 1 and current.retry_count == 0:
            raise ValueError("the first attempt fails")
        self.next(self.join)

    @step
    def join(self, inputs):
        self.squares = [i.squared for i in inputs]
        self.next(self.report)

    @step
    def report(self):
        if self.broken and not current.origin_run_id:
            raise ValueError("broken")
        self.total = sum(self.squares)
        self.next(self.end)

    @step
    def end(self):
        pass


if __name__ == "__main__":
    CountFlow()
'''


class Client:
    """Runs Metaflow's command line and programs that use its client, in processes of their own."""

    def __init__(self, folder: Path, server: Running) -> None:
        self.folder = folder
        (folder / "count_flow.py").write_text(FLOW)
        headers = {"Authorization": "Bearer " + server.token}
        self.env = {
            **{k: v for k, v in os.environ.items() if not k.startswith("METAFLOW_")},
            "HOME": str(folder),
            "USERNAME": "ada",
            "METAFLOW_DEFAULT_METADATA": "service",
            "METAFLOW_SERVICE_URL": server.url + "/metaflow",
            "METAFLOW_SERVICE_HEADERS": json.dumps(headers),
            "METAFLOW_DEFAULT_DATASTORE": "local",
            "METAFLOW_DATASTORE_SYSROOT_LOCAL": str(folder / "datastore"),
        }

    def flow(self, *args: str, ends: int = 0) -> str:
        done = subprocess.run([sys.executable, "count_flow.py", "--no-pylint", *args], cwd=self.folder, env=self.env, capture_output=True, text=True)
        assert done.returncode == ends, done.stdout + done.stderr
        return done.stdout + done.stderr

    def run(self, *args: str, ends: int = 0) -> str:
        """Run the flow and return the ID of the run."""
        output = self.flow(*args, ends=ends)
        found = re.search(r"run-id (\w+)", output)
        assert found, output
        return found.group(1)

    def read(self, program: str) -> Any:
        """Run a program that prints JSON at its end."""
        done = subprocess.run([sys.executable, "-c", "import json\nfrom metaflow import *\n" + program], cwd=self.folder, env=self.env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def client(running: Running, tmp_path_factory: pytest.TempPathFactory) -> Client:
    return Client(tmp_path_factory.mktemp("metaflow"), running)


@pytest.fixture(scope="module")
def completed(client: Client) -> str:
    return client.run("run", "--tag", "first", "--most", "4")


def test_a_run_is_read_back(client: Client, completed: str) -> None:
    found: Mapping[str, Any] = client.read(
        f"""
run = Flow("CountFlow")["{completed}"]
print(json.dumps({{
    "successful": run.successful, "finished": run.finished, "steps": sorted(s.id for s in run),
    "data": [run.data.most, run.data.squares, run.data.total], "tasks": len(list(run["square"])),
    "code": run.code is None, "user_tags": sorted(run.user_tags), "system": "user:ada" in run.system_tags,
    "latest": Flow("CountFlow").latest_successful_run.id, "flows": [f.id for f in Metaflow()],
}}))
"""
    )
    assert found == {
        "successful": True,
        "finished": True,
        "steps": ["end", "join", "report", "square", "start"],
        "data": [4, [0, 1, 4, 9], 14],
        "tasks": 4,
        "code": True,
        "user_tags": ["first"],
        "system": True,
        "latest": completed,
        "flows": ["CountFlow"],
    }


def test_attempts_parents_and_children(client: Client, completed: str) -> None:
    found = client.read(
        f"""
run = Run("CountFlow/{completed}")
retried = next(t for t in run["square"] if t.data.squared == 1)
join = run["join"].task
print(json.dumps({{
    "attempt": retried.current_attempt, "first": Task(retried.pathspec, attempt=0).successful, "second": Task(retried.pathspec, attempt=1).successful,
    "squared": retried["squared"].data, "parents": sorted(t.pathspec for t in join.parent_tasks) == sorted(t.pathspec for t in run["square"]),
    "children": [t.parent.id for t in join.child_tasks], "immediate": len(list(run["start"].task.child_tasks)),
    "log": "the first attempt fails" in Task(retried.pathspec, attempt=0).stderr,
}}))
"""
    )
    assert found == {
        "attempt": 1,
        "first": False,
        "second": True,
        "squared": 1,
        "parents": True,
        "children": ["report"],
        "immediate": 4,
        "log": True,
    }


def test_people_edit_tags(client: Client, completed: str) -> None:
    tags: List[str] = client.read(
        f"""
run = Run("CountFlow/{completed}")
run.add_tags(["good", "kept"])
run.remove_tag("kept")
run.replace_tag(["good"], ["best"])
print(json.dumps(sorted(Run("CountFlow/{completed}").user_tags)))
"""
    )
    assert tags == ["best", "first"]
    assert client.read('print(json.dumps([r.id for r in Flow("CountFlow").runs("best")]))') == [completed]
    assert client.read('print(json.dumps([r.id for r in Flow("CountFlow").runs("none")]))') == []
    assert "best" in client.flow("tag", "list", "--run-id", completed)


def test_namespaces_hide_the_runs_of_others(client: Client, completed: str) -> None:
    assert client.read('namespace("user:ben")\nprint(json.dumps([r.id for r in Metaflow()]))') == []
    assert client.read('namespace(None)\nprint(json.dumps([f.id for f in Metaflow()]))') == ["CountFlow"]
    program = f"""
from metaflow.exception import MetaflowNamespaceMismatch
namespace("user:ben")
try:
    Run("CountFlow/{completed}")
except MetaflowNamespaceMismatch:
    print(json.dumps("hidden"))
"""
    assert client.read(program) == "hidden"


def test_resume_repeats_only_what_failed(client: Client) -> None:
    failed = client.run("run", "--broken", "True", ends=1)
    assert client.read(f'run = Run("CountFlow/{failed}")\nprint(json.dumps([run.successful, run.finished]))') == [False, False]
    resumed = client.run("resume", "--origin-run-id", failed)
    found = client.read(
        f"""
run = Run("CountFlow/{resumed}")
print(json.dumps({{"successful": run.successful, "total": run.data.total, "origin": run["square"].task.metadata_dict.get("origin-run-id"), "tasks": len(list(run["square"]))}}))
"""
    )
    assert found == {"successful": True, "total": 5, "origin": failed, "tasks": 3}


def test_pages_show_what_the_datastore_has(client: Client, running: Running) -> None:
    environment = running.call("GET", "/metaflow/datastore")["environment"]
    own = Client(client.folder, running)
    own.env = {**client.env, **environment}
    run = own.run("run", "--most", "3")
    run_page = page(running, f"/executions/metaflow/CountFlow/{run}")
    assert "Graph of 5 steps of CountFlow" in run_page
    assert "Arrows are derived from the times" not in run_page
    task = own.read(f'print(json.dumps(next(t.id for t in Run("CountFlow/{run}")["square"] if t.data.squared == 1)))')
    path = f"/executions/metaflow/CountFlow/{run}/square/{task}"
    assert "the first attempt fails" in page(running, path + "?attempt=0")
    assert "the first attempt fails" in page(running, path + "/log?attempt=0")
    assert "numbers=1" in page(running, path)


def page(running: Running, path: str) -> str:
    request = Request(running.url + path, headers={"Authorization": "Bearer " + running.token})
    with urlopen(request, timeout=30) as answer:
        return str(answer.read().decode())
