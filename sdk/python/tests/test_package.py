"""The package as a whole: public names, documents, and the files that it reads and writes."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any, Dict, List, NamedTuple

import pytest

import flowforge
from flowforge import Breaker, Cache, Connection, ConnectionKind, DefinitionError, FlowForgeError, Lock, Retry, RetryBudget, Table
from flowforge import command, grpc, http, operator, sensor, shell, sql, template_ref, workflow, workflow_ref
from flowforge import _api, _cli, _docstrings, _options, _pack, _requirements, _yaml

from .flows import search

ROOT = Path(__file__).resolve().parents[3]


def test_public_names() -> None:
    for name in flowforge.__all__:
        assert getattr(flowforge, name) is not None
    assert set(flowforge._HOME) <= set(flowforge.__all__)
    assert sorted(flowforge.__all__) == list(flowforge.__all__)
    with pytest.raises(AttributeError, match="no attribute 'opreator'"):
        getattr(flowforge, "opreator")


def test_a_task_imports_only_the_client() -> None:
    code = "import sys, flowforge; print(sorted(m for m in sys.modules if m.startswith('flowforge')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT / "sdk" / "python", check=True)
    assert "_operator" not in done.stdout and "_annotations" not in done.stdout


def test_the_tutorial_runs(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "python.md").read_text()
    code = next(block for block in re.findall(r"```python\n(.*?)```", text, re.S) if "tutorial.search" in block)
    (tmp_path / "flow.py").write_text(code)
    command = next(block for block in re.findall(r"```sh\npython -c '(.*?)'\n```", text, re.S))
    shown = next(block for block in re.findall(r"```\n(METRIC .*?)```", text, re.S))
    environment = {"PYTHONPATH": str(ROOT / "sdk" / "python"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    first, last = shown.split("…\n")
    assert done.stdout.startswith(first) and done.stdout.endswith(last)
    done = subprocess.run([sys.executable, "-m", "flowforge", "export", "flow.py"], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert "description: The size of a step." in done.stdout, done.stderr


def test_options_are_documented() -> None:
    text = (ROOT / "docs" / "python.md").read_text()
    for name in {**_options.OperatorOptions.__annotations__, **_options.WorkflowOptions.__annotations__}:
        assert f"`{name}`" in text, f"docs/python.md does not describe the option {name}"


@operator(
    cpu="250m",
    memory="2Gi",
    gpu=2,
    gpu_type="A100",
    pods=4,
    shm="1Gi",
    network="high",
    timeout=90,
    retry=Retry(3, initial_delay="5s", policy="OnError", condition="exit_code != 3", memory_limit="8Gi"),
    cache=Cache(version="2", ttl="1d", ignore=["n"]),
    breaker=Breaker(3),
    locks=["data", Lock("licences", 2)],
    packages=["numpy==2.1.0"],
    environment={"MODE": "fast"},
    preemptible=False,
    grace_period="1m",
    image="python:3.12",
    pod={"nodeSelector": {"zone": "a"}},
)
def heavy(n: int) -> int:
    return n


@workflow_ref("prepare@1.2.0")
def prepare(n: int) -> int: ...  # type: ignore[empty-body]


@template_ref("scale@2.0.0", timeout="5m")
def scale(n: int) -> int: ...  # type: ignore[empty-body]


@http("https://example.org/hook", method="POST", body={"a": 1}, success=[200, 201])
def hook() -> None: ...


@workflow(
    name="everything",
    version="2.0.0",
    owner_team="vision",
    tags=["b", "a"],
    timeout="2h",
    parallelism=4,
    max_running=2,
    max_depth=9,
    locks=["gpu"],
    retry_budget=RetryBudget(20),
    metadata={"ticket": 7},
    packages=["pandas"],
)
def everything(n: int = 1) -> int:
    hook()
    return scale(prepare(heavy(n)))


class Sales(NamedTuple):
    result: Table
    rows: int


@sql("SELECT * FROM sales WHERE day >= @since", max_rows=100, statement_timeout="5m")
def sales(db: Annotated[Connection, ConnectionKind("postgres")], since: date) -> Sales: ...  # type: ignore[empty-body]


@sql("DELETE FROM sales WHERE day < @before", connection="db", read_only=False)
def purge(db: Annotated[Connection, ConnectionKind("postgres")], before: date) -> None: ...


def test_statements() -> None:
    def flow(db: Annotated[Connection, ConnectionKind("postgres")], day: date) -> Table:
        purge(db, day)
        return sales(db, day).result

    removed, read = workflow(name="sales")(flow).definition().document()["operators"]
    assert (removed["type"], read["type"]) == ("sql", "sql")
    assert removed["sql"] == {"query": "DELETE FROM sales WHERE day < @before", "connection": "db", "read_only": False}
    assert read["sql"] == {"query": "SELECT * FROM sales WHERE day >= @since", "max_rows": 100, "statement_timeout": "5m"}
    assert [(o["name"], o["type"]) for o in read["outputs"]] == [("result", "Table"), ("rows", "Integer")]
    with pytest.raises(DefinitionError, match="an operator of type sql has no option 'image'"):
        sales.options(image="debian:12")


@sensor(url="/runs/{{day}}", condition="body.done", interval="1m", factor=2, wait_timeout=timedelta(hours=6), on_timeout="skip", timeout="10s")
def finished(api: Annotated[Connection, ConnectionKind("http")], day: date) -> int: ...  # type: ignore[empty-body]


@sensor(prefix="in/{{day}}/", connection="store")
def arrived(store: Annotated[Connection, ConnectionKind("s3")], day: date) -> None: ...


def test_sensors() -> None:
    def flow(api: Annotated[Connection, ConnectionKind("http")], store: Annotated[Connection, ConnectionKind("s3")], day: date) -> int:
        arrived(store, day)
        return finished(api, day)

    objects, requests = workflow(name="waits")(flow).definition().document()["operators"]
    assert (objects["type"], objects["sensor"]) == ("sensor", {"object": {"prefix": "in/{{day}}/", "connection": "store"}})
    assert requests["sensor"] == {"http": {"url": "/runs/{{day}}", "condition": "body.done"}, "interval": "1m", "factor": 2, "timeout": "21600s", "on_timeout": "skip"}
    assert requests["timeout"] == "10s"
    with pytest.raises(DefinitionError, match="sensor: set what it waits for"):
        sensor(url="https://example.com", until="2026-01-01")


@grpc("acme.Scores/Get", message={"id": "{{n}}"}, deadline="5s", descriptors=b"\x01", retry_status=["UNAVAILABLE"], retry_limit=2)
def score(api: Annotated[Connection, ConnectionKind("grpc")], n: int) -> int: ...  # type: ignore[empty-body]


def test_calls() -> None:
    def flow(api: Annotated[Connection, ConnectionKind("grpc")], n: int) -> int:
        return score(api, n)

    (call,) = workflow(name="calls")(flow).definition().document()["operators"]
    assert call["type"] == "grpc"
    assert call["grpc"] == {"method": "acme.Scores/Get", "message": {"id": "{{n}}"}, "deadline": "5s", "descriptors": "AQ==", "retry": {"status": ["UNAVAILABLE"], "limit": 2}}


@shell("make report", image="alpine:3.22")
def report(n: int) -> None: ...


@command("make", "report", image="alpine:3.22")
def made(n: int) -> None: ...


@command(image="alpine:3.22")
def default_program() -> None: ...


@http("https://example.org/busy", retry_status=[429, 503], retry_limit=3, retry_max_delay="30s")
def busy() -> None: ...


def test_requests_that_are_sent_again() -> None:
    def flow() -> None:
        busy()

    section = workflow(name="busy")(flow).definition().document()["operators"][0]["http"]
    assert section["retry"] == {"status": [429, 503], "limit": 3, "max_delay": "30s"}
    with pytest.raises(DefinitionError, match="no effect without retry_status"):
        http("https://example.org", retry_limit=3)
    with pytest.raises(DefinitionError, match="no effect without next_page"):
        http("https://example.org", items="body.items")


@http("/runs?since={{since}}", condition="status == 200", next_page="link.next", items="body.runs", max_pages=7, max_size="1Gi")
def listed(api: Annotated[Connection, ConnectionKind("http")], since: str) -> None: ...


def test_requests_that_read_inputs() -> None:
    def flow(api: Annotated[Connection, ConnectionKind("http")], since: str) -> None:
        listed(api, since)

    section = workflow(name="listed")(flow).definition().document()["operators"][0]["http"]
    assert section == {"method": "GET", "url": "/runs?since={{since}}", "condition": "status == 200", "max_size": "1Gi", "pages": {"next": "link.next", "items": "body.runs", "limit": 7}}


def test_images_of_programs() -> None:
    def flow(n: int) -> None:
        report(n)
        report.options(image="debian:12")(n)
        made(n)
        default_program()

    code = [o["code"] for o in workflow(flow).definition().document()["operators"]]
    assert code == [
        {"script": "make report", "image": "alpine:3.22"},
        {"script": "make report", "image": "debian:12"},
        {"command": ["make", "report"], "image": "alpine:3.22"},
        {"image": "alpine:3.22"},
    ]


@pytest.mark.parametrize("name", ["image", "packages", "requirements", "pickle"])
@pytest.mark.parametrize("kind", ["shell", "command", "http", "template", "workflow"])
def test_options_that_other_operators_cannot_use(kind: str, name: str) -> None:
    options: Any = {name: {"pickle": True, "packages": ["a"]}.get(name, "a")}
    decorators: Dict[str, Any] = {
        "shell": functools.partial(shell, "true"),
        "command": functools.partial(command, "true"),
        "http": functools.partial(http, "http://a"),
        "template": functools.partial(template_ref, "a@1.0.0"),
    }
    plain: Dict[str, Any] = {"shell": report, "command": made, "http": hook, "template": scale, "workflow": prepare}
    if name == "image" and kind in ("shell", "command"):
        plain[kind].options(**options)
        return
    message = f"an operator of type {kind} has no option '{name}', because only "
    with pytest.raises(DefinitionError, match=f"test_package.py:.*{message}"):
        plain[kind].options(**options)
    if kind in decorators:
        with pytest.raises(DefinitionError, match=message):
            decorators[kind](**options)(lambda: None)


def test_every_option_is_in_the_document() -> None:
    document = everything.definition().document()
    operators: Dict[str, Dict[str, Any]] = {o["name"]: o for o in document["operators"]}
    heavy_one = operators["heavy"]
    assert heavy_one["resources"] == {
        "cpu": "250m", "memory": "2Gi", "gpu": 2, "gpu_type": "A100", "pods": 4, "shm": "1Gi", "network_bandwidth": "high",
    }  # fmt: skip
    assert heavy_one["retry"] == {"limit": 3, "initial_delay": "5s", "policy": "OnError", "expression": "exit_code != 3", "memory": {"limit": "8Gi"}}
    assert heavy_one["cache"] == {"version": "2", "ttl": "1d", "ignore_inputs": ["n"]}
    assert heavy_one["breaker"] == {"failures": 3, "window": "10m", "open_for": "5m"}
    assert heavy_one["locks"] == ["data", {"name": "licences", "permits": 2}]
    assert (heavy_one["timeout"], heavy_one["grace_period"], heavy_one["preemptible"]) == ("90s", "1m", False)
    assert (heavy_one["environment"], heavy_one["pod"]) == ({"MODE": "fast"}, {"nodeSelector": {"zone": "a"}})
    assert (heavy_one["code"]["requirements"], heavy_one["code"]["image"]) == (["numpy==2.1.0"], "python:3.12")
    assert (operators["prepare"]["type"], operators["prepare"]["workflow"]) == ("workflow", "prepare@1.2.0")
    assert (operators["scale"]["template"], operators["scale"]["timeout"], "type" in operators["scale"]) == ("scale@2.0.0", "5m", False)
    assert operators["hook"]["http"] == {"method": "POST", "url": "https://example.org/hook", "body": {"a": 1}, "success": [200, 201]}
    for name, value in {"version": "2.0.0", "owner_team": "vision", "tags": ["a", "b"], "timeout": "2h", "parallelism": 4, "max_running": 2}.items():
        assert document[name] == value
    assert (document["retry_budget"], document["metadata"], document["max_depth"]) == ({"retries": 20, "window": "1h"}, {"ticket": 7}, 9)


@pytest.mark.parametrize(
    "doc",
    [
        "Trains.\n\nMore text.\n\nArgs:\n    lr (float): The step,\n        in short.\n    n: A number.\n\nReturns:\n    Nothing.",
        "Trains.\n\nMore text.\n\nParameters\n----------\nlr : float\n    The step,\n    in short.\nn : int\n    A number.\n\nReturns\n-------\nint\n    Nothing.",
        "Trains.\n\nMore text.\n\n:param float lr: The step,\n    in short.\n:param n: A number.\n:returns: Nothing.",
    ],
)
def test_docstrings(doc: str) -> None:
    assert _docstrings.read(doc) == ("Trains.\n\nMore text.", {"lr": "The step, in short.", "n": "A number."})


def test_yaml_texts() -> None:
    text = _yaml.dump({"a": "yes", "b": "x: y", "c": 'say "a"', "d": "one\ntwo\n", "e": [], "f": {"g": None, "h": True}, "i": "1.0.0"})
    assert text == 'a: "yes"\nb: "x: y"\nc: \'say "a"\'\nd: |\n  one\n  two\ne: []\nf: {g: null, h: true}\ni: "1.0.0"\n'


def requirements(tmp_path: Path, file: str, text: str) -> List[str]:
    (tmp_path / file).write_text(text)
    return _requirements.read(["a==1"], file, str(tmp_path / "flow.py"))


def test_requirements(tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("c>=2\n")
    assert requirements(tmp_path, "requirements.txt", "# texts\nb==1  # exact\n-r more.txt\n\na==1\n") == ["a==1", "b==1", "c>=2"]
    with pytest.raises(DefinitionError, match="--index-url is a pip option"):
        requirements(tmp_path, "requirements.txt", "--index-url x\n")
    with pytest.raises(DefinitionError, match="does not exist"):
        _requirements.read([], "nothing.txt", str(tmp_path / "flow.py"))
    if sys.version_info >= (3, 11):
        assert requirements(tmp_path, "pyproject.toml", '[project]\nname = "x"\ndependencies = ["numpy>=2"]\n') == ["a==1", "numpy>=2"]


def test_package_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "src" / "vision"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "flow.py").write_text("def f(): ...\n")
    (package / "weights.txt").write_text("1")
    (tmp_path / "src" / "other.py").write_text("")
    assert _pack.place_of(package / "flow.py") == (tmp_path / "src", "vision.flow")
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    import importlib

    module = importlib.import_module("vision.flow")
    code = _pack.collect(module.f)
    assert code.files == ("vision/__init__.py", "vision/flow.py", "vision/weights.txt")
    assert code.archive() == code.archive()
    before = code.digest()
    (package / "weights.txt").write_text("2")
    assert code.digest() != before

    monkeypatch.setattr(_pack, "LIMIT", 10)
    with pytest.raises(DefinitionError, match=r"the limit of a code package is 0 MiB. The largest are vision/flow.py"):
        _pack.collect(module.f)


def test_an_error_of_the_server_is_shown_once() -> None:
    def refusal(detail: str, *errors: Dict[str, str]) -> str:
        return str(_api._refusal(422, json.dumps({"detail": detail, "errors": errors}).encode(), "POST /x"))

    assert refusal("The value is wrong.", {"path": "inputs.n", "message": "The value is wrong."}) == "inputs.n: The value is wrong."
    assert refusal("inputs.n: Wrong.", {"path": "inputs.n", "message": "Wrong."}) == "inputs.n: Wrong."
    assert refusal("The value is wrong.", {"path": "", "message": "The value is wrong."}) == "The value is wrong."
    assert refusal("The query is wrong. Column 1: No x.", {"path": "where", "message": "Column 1: No x."}) == "The query is wrong. Column 1: No x."
    assert refusal("2 values are wrong.", {"path": "a", "message": "A."}, {"path": "b", "message": "B."}) == "2 values are wrong.\n  a: A.\n  b: B."


def test_a_wrong_argument_names_the_parameters() -> None:
    flow: Any = search.search
    for call in (flow, flow.launch):
        with pytest.raises(DefinitionError, match="search: got an unexpected keyword argument 'rows'; its parameters are: data, "):
            call("rows@1", rows=1)


def test_options_and_inputs_of_the_same_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "named.py").write_text("from flowforge import *\n@operator\ndef f(server: str) -> str: ...\n@workflow\ndef flow(server: str) -> str:\n    return f(server)\n")
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(SystemExit):
        _cli.main(["run", str(tmp_path / "named.py"), "--server", "http://127.0.0.1:1"])
    assert "required: --server" in capsys.readouterr().err
    monkeypatch.setenv("FLOWFORGE_TOKEN", "x")
    assert _cli.main(["run", str(tmp_path / "named.py"), "--server", "http://127.0.0.1:1", "--", "--server", "a"]) == 1
    assert "cannot reach a server at http://127.0.0.1:1" in capsys.readouterr().err


def test_files_of_the_same_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same_name.py").write_text(f"NAME = {name!r}\n")
        assert _cli.load(str(tmp_path / name / "same_name.py")).NAME == name
    with pytest.raises(FlowForgeError, match="has no function with @workflow"):
        _cli.choose(_cli.load(str(tmp_path / "two" / "same_name.py")), "same_name.py", "")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    with pytest.raises(FlowForgeError, match="broken.py cannot be imported: ZeroDivisionError"):
        _cli.load(str(tmp_path / "broken.py"))
    (tmp_path / "flow.ipynb").write_text("{}")
    with pytest.raises(FlowForgeError, match="flow.ipynb is a notebook: call launch"):
        _cli.load(str(tmp_path / "flow.ipynb"))


@operator(pool="gpu-lab", labels={"zone": "a"})
def in_a_pool() -> int:
    return 1


@workflow(version="1.0.0")
def lab() -> Any:
    return in_a_pool()


def test_pools_of_workers() -> None:
    only = lab.definition().document()["operators"][0]
    assert (only["pool"], only["labels"]) == ("gpu-lab", {"zone": "a"})


def test_virtual_environments_at_any_depth_stay_out(tmp_path: Path) -> None:
    for name in ("flow.py", "sub/used.py", "sub/env/pyvenv.cfg", "sub/env/lib/x.py", "tools/conda/conda-meta/history", "tools/conda/lib/y.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    assert [path.relative_to(tmp_path).as_posix() for path in _pack._files(tmp_path)] == ["flow.py", "sub/used.py"]
