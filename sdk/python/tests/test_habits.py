"""Names that people use who know other systems, and the errors that answer them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any, AsyncIterator, Callable, Dict, List

import pytest

import flowforge
from flowforge import Client, DefinitionError, File, InputError, Model, OutputError, failed, operator, workflow
from flowforge import _habits
from flowforge._cli import main

from .serving import PACKAGE


@operator
def get(n: int) -> int:
    return n


untyped: Any = get  # type checkers know that there is no submit


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda n: untyped.submit(n), r"get has no submit: call get\(…\): in a workflow, a call returns at once"),
        (lambda n: untyped.map([n]), r"get has no map: write foreach\(items, lambda item: get\(item\)\)"),
        (lambda n: untyped.with_options(retries=1), r"get has no with_options: write get\.options\(…\)"),
        (lambda n: untyped(n).result(), r"get\.result is a future, which has no result\(\): pass it to other operators as it is"),
        (lambda n: [get(i) for i in range(n)], r"call foreach with the result of an operator that returns list\(range\(…\)\)"),
        (lambda n: get.options(after=failed(get))(n), r"get is an operator; pass the result of a call, such as found after found = get\(…\)"),
        (lambda n: get.options(after=get)(n), "after=get is an operator; pass the result of a call"),
    ],
)
def test_names_of_other_systems_have_an_answer(body: Callable[[Any], Any], message: str) -> None:
    @workflow
    def flow(n: int) -> None:
        body(n)

    with pytest.raises(DefinitionError, match=r"test_habits\.py:\d+: .*" + message):
        flow.definition()


def test_other_names_are_missing_as_usual() -> None:
    flow: Any = workflow(lambda: None)
    assert not hasattr(get, "submit") and not hasattr(flow, "serve") and not hasattr(get, "nothing")
    with pytest.raises(AttributeError, match="Operator get has no attribute 'nothing'"):
        getattr(get, "nothing")
    with pytest.raises(DefinitionError, match="flowforge deploy"):
        getattr(flow, "serve")


@operator
async def wait(n: int) -> int:
    await asyncio.sleep(0)
    return n + 1


@workflow
def waiting(n: int) -> int:
    return get(wait(n))


def test_an_async_operator_returns_its_value() -> None:
    assert waiting(2) == 3

    async def in_a_loop() -> int:
        return waiting(3)  # as in a cell of a notebook

    assert asyncio.run(in_a_loop()) == 4


def test_other_async_functions_are_refused() -> None:
    async def load(n: int) -> int:
        return n

    async def items(n: int) -> AsyncIterator[int]:
        yield n

    with pytest.raises(DefinitionError, match=r"test_habits\.py:\d+: load is async, and only functions with @operator can be"):
        workflow(load)
    with pytest.raises(DefinitionError, match=r"test_habits\.py:\d+: items is an async generator"):
        operator(items)


def test_a_task_runs_an_async_operator(tmp_path: Path) -> None:
    code = "import asyncio\nfrom flowforge import operator\n@operator\nasync def get() -> int:\n    await asyncio.sleep(0)\n    return 3\n"
    done = task(tmp_path, code, "flow:get")
    assert done.returncode == 0, done.stderr
    assert [p.read_text() for p in tmp_path.iterdir() if p.name.startswith("result")] == ["3"]
    failed = task(tmp_path, code.replace("return 3", "raise ValueError('no')"), "flow:get")
    assert "asyncio" not in failed.stderr.partition("Traceback")[2].partition("in get")[0], failed.stderr


def test_an_import_of_another_system_names_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "habit_flow.py").write_text("from flowforge import flow\n")
    assert main(["export", str(tmp_path / "habit_flow.py")]) == 1
    assert "cannot import name 'flow'" in (printed := capsys.readouterr().err) and "; use workflow" in printed


class Fitted:
    pass


@operator
def fit() -> Model:
    return Model(Fitted())


@operator(pickle=True)
def fit_pickled() -> Model:
    return Model(Fitted())


@operator
def use(model: Model) -> str:
    return type(model.load()).__name__


@operator(pickle=True)
def use_pickled(models: List[Model]) -> str:
    return type(models[0].load()).__name__


@operator
def passed(model: Model) -> Model:
    return model


def test_plain_python_needs_pickle_as_a_task_does() -> None:
    with pytest.raises(OutputError, match="output 'result': a .*Fitted has no file format"):
        fit()
    with pytest.raises(InputError, match="this Model is a pickle"):
        use(fit_pickled())
    assert use_pickled([passed(fit_pickled())]) == "Fitted"
    assert File({"a": 1})._needs_pickle is False


def task(folder: Path, code: str, target: str) -> "subprocess.CompletedProcess[str]":
    (folder / "flow.py").write_text(code)
    (folder / "inputs.json").write_text("{}")
    environment = {"PYTHONPATH": str(PACKAGE), "FLOWFORGE_TASK_ID": "t", "FLOWFORGE_INPUTS": str(folder / "inputs.json"), "FLOWFORGE_OUTPUTS": str(folder)}
    program = f"from flowforge._task import run; run({target!r})"
    return subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True)


def test_a_task_that_exits_before_its_result(tmp_path: Path) -> None:
    code = "import sys\nfrom flowforge import operator\n@operator\ndef get() -> int:\n    sys.exit({})\n"
    for name in ("zero", "three", "nothing"):
        (tmp_path / name).mkdir()
    done = task(tmp_path / "zero", code.format(0), "flow:get")
    assert done.returncode == 1 and done.stderr.endswith("operator get called sys.exit() before it returned its result; use return\n"), done.stderr
    assert task(tmp_path / "three", code.format(3), "flow:get").returncode == 3
    assert task(tmp_path / "nothing", code.format("").replace("int:", "None:"), "flow:get").returncode == 0


def test_a_missing_module_names_packages(tmp_path: Path) -> None:
    done = task(tmp_path, "from flowforge import operator\n@operator\ndef get() -> int:\n    import nowhere_at_all\n    return 1\n", "flow:get")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("If a package has this module, add the package to packages=[…]")


def test_a_task_reads_the_signature_of_its_own_operator_only(tmp_path: Path) -> None:
    code = "from flowforge import operator\n@operator\ndef get() -> bool:\n    return 'signature' in other.__dict__\n@operator\ndef other(n: int) -> int:\n    return n\n"
    done = task(tmp_path, code, "flow:get")
    assert done.returncode == 0, done.stderr
    [result] = [p for p in tmp_path.iterdir() if p.name.startswith("result")]
    assert result.read_text() == "false"


def test_an_old_interpreter() -> None:
    code = "import sys; sys.version_info = (3, 8, 10, 'final', 0); import flowforge"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE)
    assert f"ImportError: flowforge requires Python 3.9 or later, and this is Python 3.8 ({sys.executable})" in done.stderr


def test_a_command_of_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["launch", "tutorial.search", "--wait"])
    assert "has no command 'launch'; its commands are: export, run, dev, deploy, cancel, login. The server's flowforge program" in capsys.readouterr().err


def test_code_without_a_file() -> None:
    names: Dict[str, Any] = {}
    exec(compile("from flowforge import operator\n@operator\ndef f(n: int) -> int: return n\n", "<cell 1>", "exec"), names)

    def flow(n: int) -> int:
        found: int = names["f"](n)
        return found

    with pytest.raises(DefinitionError, match="f is not in a file, so a task cannot import it. Write it to a file and import it$"):
        workflow(flow).definition()


def test_a_syntax_error_names_the_interpreter(tmp_path: Path) -> None:
    done = task(tmp_path, "from flowforge import operator\n@operator\ndef get() -> int:\n    return 1 +\n", "flow:get")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"The task runs Python {sys.version.split()[0]} ({sys.executable}). Code for a later version needs another interpreter")
    assert _habits.of_version(SyntaxError("invalid syntax")) == f". This command uses Python {sys.version.split()[0]} ({sys.executable})"
    assert _habits.of_version(TypeError("something else")) == ""


def test_unions_of_a_later_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    err = TypeError("unsupported operand type(s) for |: 'type' and 'NoneType'")
    assert _habits.of_version(err).endswith("and X | Y in annotations needs Python 3.10: write Optional[X] or Union[X, Y]")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("retries", r"operator has no option 'retries': use retry=3 or retry=Retry\("),
        ("cache_policy", r"use cache=True or cache=Cache\("),
        ("log_prints", r"leave it out: print\(…\) and logging write to the log of the task"),
        ("on_failure", r"call another operator with notify.options\(after=failed\(result\)\)"),
        ("tags", "tags belong to workflows and executions"),
    ],
)
def test_options_of_other_systems_have_an_answer(option: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=r"test_habits\.py:\d+: .*" + message):
        operator(**{option: 1})(get.function)  # type: ignore[call-overload]


def test_options_of_workflows_of_other_systems_have_an_answer() -> None:
    for option, message in (("on_failure", r"call on_exit\(lambda: …\)"), ("cron", 'use schedule="0 2 '), ("task_runner", "independent operators run in parallel")):
        with pytest.raises(DefinitionError, match=f"workflow has no option '{option}': .*{message}"):
            workflow(**{option: 1})(get.function)  # type: ignore[call-overload]


def test_arguments_of_other_systems_have_an_answer() -> None:
    with pytest.raises(DefinitionError, match=r"test_habits\.py:\d+: get has no argument 'wait_for': write get.options\(after=\[…\]\)\(…\)"):
        workflow(lambda: untyped(1, wait_for=[2])).definition()


def test_trackers_have_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    package: Any = flowforge
    for read, message in (
        (lambda: package.client.log_metric, r"client has no attribute 'log_metric'; use client.metric\(name, value, step=…\)"),
        (lambda: package.client.log_figure, r"use a result of the type Image, list\[Image\], Table or Report"),
        (lambda: package.client.nothing, r"client has no attribute 'nothing'$"),
        (lambda: package.log, r"module 'flowforge' has no attribute 'log'; use client.log\(message\), or client.metrics"),
        (lambda: package.init, "use an operator in a workflow: each of its executions is a run"),
        (lambda: package.flow, "module 'flowforge' has no attribute 'flow'; use workflow"),
        (lambda: package.nothing, "module 'flowforge' has no attribute 'nothing'$"),
    ):
        call: Any = read
        with pytest.raises(AttributeError, match=message):
            call()
    client = Client.from_env()
    for _ in range(2):
        client.log({"loss": 0.5})  # type: ignore[arg-type]
    assert capsys.readouterr().out.count("WARN client.log writes text, so these numbers are not metrics. Use client.metrics({…}, step=…).") == 1


def test_several_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    Client.from_env().metrics({"loss": 0.5, "f1": {"cat": 1}}, step=3, prefix="val_")
    assert capsys.readouterr().out.splitlines() == ["METRIC val_loss=0.5 step=3", "METRIC val_f1.cat=1 step=3"]


def test_a_file_that_launches_when_a_task_imports_it(tmp_path: Path) -> None:
    file = tmp_path / "flow.py"
    file.write_text("import flowforge\nflowforge.launch('digits.train')\n")
    environment = {"PYTHONPATH": str(PACKAGE), "FLOWFORGE_TASK_ID": "e.1.1", "FLOWFORGE_API_ENDPOINT": "http://127.0.0.1:9", "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert 'flow.py:2: tasks import this file, so they run this line too: put it under `if __name__ == "__main__":`' in done.stderr
