"""The commands of the package with a running server: run, deploy, export and login."""

from __future__ import annotations

import importlib
import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flowforge import ExecutionError, Run, failed
from flowforge import _cli, _follow
from flowforge._api import Server, store_token, stored_token

from .serving import FLOW, PACKAGE, accept_interrupts, cli, project, server


def test_command_line(server: Server, project: Path) -> None:
    done = cli("run", "flow.py", "--n", "5", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "result = 15" in done.stdout and "scale | scaling 5" in done.stdout and "/executions/" in done.stdout

    failed = cli("run", "flow.py", "--n", "11", cwd=project)
    assert failed.returncode == 1
    assert "ValueError: too much" in failed.stdout + failed.stderr

    wrong = cli("run", "flow.py", "--n", "x", cwd=project)
    assert (wrong.returncode, "argument --n: 'x' is not an `int`" in wrong.stderr) == (2, True)


REPORTING = """
from flowforge import Report, operator, when, workflow

@operator
def report(n: int) -> Report:
    return Report(f"<p>{n} rows\u2026</p>")

@operator
def warn() -> Report:
    return Report("few")

@workflow(name="tests.reporting")
def flow(n: int = 2) -> Report:
    return when(n > 1, lambda: report(n), lambda: warn())
"""


def test_files_and_skipped_nodes_in_the_terminal(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "reporting.py").write_text(REPORTING, encoding="utf-8")
    done = cli("run", "reporting.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^result = result\.html \(Report, 16 bytes\): http://\S+/api/v1/artifacts/\S+/download$", done.stdout, re.M), done.stdout
    assert re.search(r"^SUCCEEDED .* nodes, 1 skipped$", done.stdout, re.M), done.stdout
    monkeypatch.syspath_prepend(str(tmp_path))
    flow = importlib.import_module("reporting").flow
    run = flow.launch().wait(120)
    assert run.artifacts["report.result"].load() == run.result().load() == flow().load() == "<p>2 rows\u2026</p>"


INPUTS = """
import time
from typing import List, NamedTuple
from flowforge import HyperparameterSet, operator, workflow

class Settings(HyperparameterSet):
    learning_rate: float = 0.05
    batch: int = 16

class Pair(NamedTuple):
    a: int
    b: int = 2

@operator(allow_failure=True)
def fragile(n: int) -> int:
    raise ValueError(n)

@operator
def show(pair: Pair, settings: Settings, xs: List[int], pairs: List[Pair], seconds: float) -> str:
    time.sleep(seconds)
    return f"{pair} {settings} {xs} {len(pairs)}"

@workflow(name="tests.inputs")
def flow(pair: Pair, settings: Settings = Settings(), xs: List[int] = [1], pairs: List[Pair] = [Pair(1)], seconds: float = 0) -> str:
    fragile(1)
    return show(pair, settings, xs, pairs, seconds)
"""


def test_fields_and_lists_as_options(server: Server, tmp_path: Path) -> None:
    (tmp_path / "inputs.py").write_text(INPUTS)
    done = cli("run", "inputs.py", "--pair.a", "3", "--settings.learning-rate", "0.2", "--xs", "[]", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'result = "Pair(a=3, b=2) Settings(learning_rate=0.2, batch=16) [] 1"' in done.stdout
    assert re.search(r"^SUCCEEDED .* 1 of 2 nodes, 1 failed \(allowed\)$", done.stdout, re.M), done.stdout


def test_an_interrupted_run_continues(server: Server, tmp_path: Path) -> None:
    (tmp_path / "inputs.py").write_text(INPUTS)
    command = [sys.executable, "-m", "flowforge", "run", "inputs.py", "--pair.a", "3", "--seconds", "60"]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path, preexec_fn=accept_interrupts) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert any("RUNNING" in line and "1 of 2" not in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=20)
    execution = url.rpartition("/")[2]
    assert (process.returncode, message) == (130, f"\nThe execution continues: {url}. To stop it: flowforge cancel {execution}\n")
    run = Run(execution, server)
    assert run.state == "RUNNING"
    assert cli("cancel", execution).stdout == f"{execution} is being cancelled\n"
    with pytest.raises(ExecutionError, match="CANCELLED"):
        run.wait(60)


def test_files_that_choose_an_interpreter_do_not_reach_tasks(server: Server, project: Path) -> None:
    (project / ".python-version").write_text("3.8.99\n")
    (project / "pyproject.toml").write_text('[project]\nname = "mine"\nversion = "1"\nrequires-python = ">=99"\n')
    (project / "uv.lock").write_text("version = 1\n")
    flow = FLOW.format(parameters="n: int = 2").replace("cli.scale", "cli.interpreter")
    (project / "flow.py").write_text(flow.replace('    print("scaling", n)\n', '    import os\n    print(sorted(os.listdir(".")))\n'))
    done = cli("run", "flow.py", "--n", "5", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "result = 15" in done.stdout and "'pyproject.toml'" in done.stdout and ".python-version" not in done.stdout


def test_deploy_numbers_versions_by_content(server: Server, project: Path) -> None:
    (project / "flow.py").write_text(FLOW.format(parameters="n: int = 2").replace("cli.scale", "cli.deploy"))
    first = cli("deploy", "flow.py", cwd=project)
    assert first.stdout.splitlines() == ["cli.deploy 1.0.0: the first version.", f"{server.url}/workflows/cli.deploy/launch"], first.stderr
    again = cli("deploy", "flow.py", cwd=project)
    assert again.stdout.splitlines()[0] == "cli.deploy 1.0.0 has the same content. Nothing to register."

    (project / "helper.py").write_text("FACTOR = 4\n")
    patch = cli("deploy", "flow.py", cwd=project)
    assert patch.stdout.splitlines()[0] == "cli.deploy 1.0.0 → 1.0.1 (patch): signature unchanged."

    (project / "flow.py").write_text(FLOW.format(parameters="n: int = 2, rows: Optional[int] = None").replace("cli.scale", "cli.deploy"))
    minor = cli("deploy", "flow.py", cwd=project)
    assert minor.stdout.splitlines()[0] == "cli.deploy 1.0.1 → 1.1.0 (minor): adds optional input rows."

    chosen = cli("deploy", "flow.py", "--version", "7.0.0", cwd=project)
    assert chosen.returncode == 0 and "7.0.0" in chosen.stdout
    versions = [v["version"] for v in server.get("/workflows/cli.deploy")["versions"]]
    assert sorted(versions) == ["1.0.0", "1.0.1", "1.1.0", "7.0.0"]


def test_git_is_recorded(server: Server, project: Path) -> None:
    for command in ("init -q -b main", "add -A", "-c user.name=a -c user.email=a@b.c commit -q -m First"):
        subprocess.run(["git", *command.split()], cwd=project, check=True)
    (project / "helper.py").write_text("FACTOR = 9\n")
    assert cli("deploy", "flow.py", "--version", "3.0.0", cwd=project).returncode == 0
    definition = server.get("/workflows/cli.scale/versions/3.0.0")["definition"]
    git = definition["metadata"]["git"]
    assert (git["branch"], git["subject"], git["dirty"], len(git["commit"])) == ("main", "First", True, 40)
    assert definition["metadata"]["python"]["file"] == "flow.py"


def test_export_can_be_applied(server: Server, project: Path) -> None:
    out = project / "out"
    out.mkdir()
    done = cli("export", "flow.py", "-o", "out/workflow.yaml", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "package: .." in (out / "workflow.yaml").read_text()
    binary = os.environ.get("FLOWFORGE_BINARY", str(PACKAGE.parents[1] / "bin" / "flowforge"))
    applied = subprocess.run([binary, "apply", "-f", str(out / "workflow.yaml"), "--server", server.url], capture_output=True, text=True)
    assert "cli.scale@1.0.0" in applied.stdout, applied.stderr


def test_login_stores_the_key(server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(server.token + "\n"))
    assert _cli.main(["login", server.url]) == 0
    assert stored_token(server.url) == server.token
    assert "Signed in to" in capsys.readouterr().out
    monkeypatch.delenv("FLOWFORGE_SERVER", raising=False)
    monkeypatch.delenv("FLOWFORGE_TOKEN", raising=False)
    assert Server().url == server.url and Server().get("/me")["name"]
    monkeypatch.setenv("FLOWFORGE_TOKEN", "key-of-another-server")
    assert Server().url != server.url
    with pytest.raises(SystemExit):
        _cli.main(["login", server.url, "--token", "ffk_secret"])
    assert "ffk_secret" not in capsys.readouterr().err
    store_token(server.url, "other", "ada")
    assert stored_token(server.url) == "other"


def test_a_log_that_the_server_refuses(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    _follow._logs(Run("01990000-0000-7000-8000-000000000000", server), server)
    assert capsys.readouterr().err.startswith("cannot read the log: ")


NESTED = """
from flowforge import operator, workflow

@operator
def double(n: int) -> int:
    return 2 * n

@workflow
def inner(n: int) -> int:
    return double(n)

@workflow
def outer(n: int = 1) -> int:
    return inner(n)
"""


def test_the_workflow_that_no_other_one_calls(project: Path) -> None:
    file = project / "nested.py"
    file.write_text(NESTED)
    done = cli("export", "nested.py", cwd=project)
    assert done.returncode == 0 and "name: outer" in done.stdout, done.stderr
    assert "name: inner" in cli("export", "nested.py", "--workflow", "inner", cwd=project).stdout
    file.write_text(NESTED + "\n@workflow\ndef other(n: int) -> int:\n    return inner(n)\n")
    done = cli("export", "nested.py", cwd=project)
    assert done.returncode != 0 and "nested.py has several workflows; choose one with --workflow: outer, other" in done.stderr
