"""The same workflow gives the same result in plain Python and on a running server."""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path
from typing import Any, Tuple

import pytest

from flowforge import (
    Dataset,
    DefinitionError,
    ExecutionError,
    File,
    FlowForgeError,
    InputError,
    Model,
    NotFoundError,
    OutputError,
    RetryBudget,
    Run,
    ServerError,
    Workflow,
    approval,
    compare,
    executions,
    failed,
    launch,
    skipped,
    workflow,
    workflow_ref,
)
from flowforge import _cli
from flowforge._api import Server

from .flows import dependent, equal, extra, frames, nested, search, trouble, typed, values
from .serving import PACKAGE, server


def both(flow: Workflow[Any, Any], *args: Any, **kwargs: Any) -> Tuple[Any, Any]:
    """Return the results in plain Python and on the server."""
    return flow(*args, **kwargs), flow.launch(*args, **kwargs).wait(120).result()


def test_search(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "rows.txt"
    data.write_text("a\nb\nc\n")
    local = search.search(Dataset(data), kinds=["svc", "forest"])
    run = search.search.launch(Dataset(data), kinds=["svc", "forest"]).wait(120)
    remote = run.result()
    assert (remote.accuracy, remote.text) == (local.accuracy, local.text) == (6.1, "good: 6.1")
    assert remote.model.load() == local.model.load() == {"kind": "forest", "rows": 2}

    assert "the search ended: SUCCEEDED" in run.logs()
    points = run.metric_points("loss", node="train[1]")
    assert [(p["step"], p["value"]) for p in points] == [(0, 0.5), (1, 0.025)]
    assert run.artifacts["best.model"].load() == {"kind": "forest", "rows": 2}
    with pytest.raises(InputError, match="several nodes produced an artifact 'model'; select one of best.model, train"):
        run.artifacts["model"]
    assert "nothing" not in run.artifacts and run.artifacts.get("nothing") is None and "best.model" in repr(run.artifacts)
    with pytest.raises(KeyError, match="there is no output 'nothing'; the outputs are: accuracy, "):
        run.outputs["nothing"]
    assert run.outputs.get("nothing") is None
    with pytest.raises(InputError, match="there is no node 'nothing'; the nodes are: "):
        run.logs(node="nothing")
    assert "loss" not in run.logs(node="best")
    page = run._repr_html_() or ""
    assert run.url in page and "SUCCEEDED" in page and "<polyline" in page


def test_values(server: Server) -> None:
    config = values.Config(values.Colour.GREEN, datetime.date(2026, 1, 24), values.Sgd(momentum=0.25))
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    local, remote = both(values.values, config, moment, {"name": "ada", "age": 36})
    assert local == remote
    assert local.text == "GREEN 2026 Sgd(momentum=0.25, nesterov=False) 0.05 16 None"


def test_conversions(server: Server) -> None:
    arguments: Any = ({"name": "q"}, {"k": 1}, equal.Point(1), [equal.Layer(1, {"w": 2})], datetime.datetime(2026, 1, 2))
    local, remote = both(equal.equal, *arguments)
    assert local == remote
    assert local == "['name'] {'k': 1.0} Point(x=1.0, y=0.0) [Layer(rate=1.0, weights={'w': 2.0})] 2026-01-02T00:00:00+00:00 [('k', 1.0), ('keys', 1.0)]"


def test_pickles_inside_structures(server: Server) -> None:
    assert both(equal.handed, 4) == (4, 4)


def test_metrics_are_numbers(server: Server) -> None:
    run = equal.diverging.launch("one").wait(120)
    frame = run.metrics("loss")
    assert (frame["value"].max(), frame["value"].isna().sum()) == (float("inf"), 1)
    assert str(frame["timestamp"].dtype) == "datetime64[ns, UTC]"
    with pytest.warns(UserWarning, match="has no metric 'nothing'"):
        assert len(run.metrics("nothing")["timestamp"].dt.year) == 0
    assert run.metric_points("loss")[0]["timestamp"].tzinfo is not None
    assert "SUCCEEDED" in (run._repr_html_() or "")


def test_a_failed_run_has_no_result(server: Server) -> None:
    run = equal.diverging.launch("nan")
    with pytest.raises(ExecutionError, match="(?s)FAILED: node diverged: .*is NaN, which JSON cannot represent. Declare Optional.float. and return None.") as caught:
        run.wait(120)
    assert caught.value.node == "diverged"
    with pytest.raises(ExecutionError, match="FAILED: node diverged: "):
        run.result()
    with pytest.raises(NotFoundError, match="there is no artifact 'nothing'; the artifacts are: none"):
        run.artifacts["nothing"]


def test_nested(server: Server) -> None:
    local, remote = both(nested.nested)
    assert local == remote
    assert local == nested.Nested(48.0, "x=1 y=1", "12,14,16+4.5", 5.0, "1 - 3", "bc", "after", None, 3, 0, {"double": [8.0, 4.0], "none": []}, 3.0, "DONE", "small: 1", "no extra", [1, -2])


def test_pickles(server: Server) -> None:
    assert both(trouble.pickles, 4) == (5, 5)


def test_files(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("12345")
    (tmp_path / "b.txt").write_text("1")
    a, b = File(tmp_path / "a.txt"), File(tmp_path / "b.txt")
    assert both(trouble.files, a, [b], None) == ("total 10", "total 10")


def test_a_launch_takes_the_values_of_a_preset(server: Server) -> None:
    first = trouble.metrics.launch(1, 1).wait(120)
    version = server.get(f"/executions/{first.id}")["version"]
    server.post("/workflows/sdk.metrics/presets", {"name": "few", "version": version, "inputs": {"short": 3, "long": 4}})
    run = trouble.metrics.launch(preset="few", long=5).wait(120)
    assert server.get(f"/executions/{run.id}")["inputs"] == {"short": 3, "long": 5}
    with pytest.raises(ServerError, match="There is no preset"):
        trouble.metrics.launch(preset="many")


def test_a_launch_by_name(server: Server) -> None:
    version = server.get(f"/executions/{trouble.metrics.launch(1, 1).id}")["version"]
    run = launch(f"sdk.metrics@{version}", {"short": 2, "long": 3}, name="by name", tags=["one", "two"], note="by hand", priority="HIGH", cache="off", ttl="2d").wait(120)
    execution = server.get(f"/executions/{run.id}")
    assert (execution["inputs"], execution["name"], execution["version"]) == ({"short": 2, "long": 3}, "by name", version)
    assert (execution["tags"], execution["note"]) == (["one", "two"], "by hand")
    assert run.label(add="best", remove=["one"], note="") == ["best", "two"]
    assert not server.get(f"/executions/{run.id}").get("note")
    run.label(name="renamed", note="Two epochs suffice")
    assert [server.get(f"/executions/{run.id}")[key] for key in ("name", "note", "tags")] == ["renamed", "Two epochs suffice", ["best", "two"]]
    with pytest.raises(ServerError, match="priority"):
        launch("sdk.metrics", {"short": 2, "long": 3}, priority=1000)


def test_inputs_depend_on_each_other(server: Server) -> None:
    flow = dependent.dependent
    entries = {e["name"]: e for e in flow.definition().document("sha256:" + "0" * 64)["inputs"]}
    assert entries["kernel"]["show_if"] == "kind == 'svc'" and entries["batch"]["max"] == "rows / 2"
    assert both(flow, kind="forest", depth=3) == ("forest linear 3 32",) * 2
    for inputs, message in (
        ({"kind": "forest"}, "depth: A value is required"),
        ({"kind": "forest", "depth": 3, "kernel": "rbf"}, "kernel: It applies only if kind == 'svc'"),
        ({"batch": 51}, "batch: 51 is more than 50"),
        ({"kernel": "rbf"}, "kernel: .*is not allowed with these values"),
    ):
        with pytest.raises(ServerError, match=message):
            flow.launch(**inputs)


def test_frames(server: Server, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n1,1\n2,2\n3,3\n")
    local, remote = both(frames.frames, Dataset(tmp_path / "data.csv"), frames.Options(factor=3))
    assert local == remote == {"rows": 5, "weights": 18}
    listed = executions(workflow="sdk.frames")
    assert list(listed["status"]) == ["SUCCEEDED"] and list(listed["workflow"]) == ["sdk.frames"]
    found = executions(where="workflow:sdk.frames options.factor = 3", columns=["inputs.options.factor"], sort="-factor")
    assert list(found["inputs.options.factor"]) == [3] and len(executions(where="workflow:sdk.frames factor > 3")) == 0
    again = frames.frames.launch(Dataset(tmp_path / "data.csv"), frames.Options(factor=4)).wait(120)
    first = str(listed["execution_id"][0])
    table = compare([again, first[-6:]], baseline=first)
    assert list(table.columns) == [again.id, first] and table.attrs["baseline"] == first
    factor = next(key for key in table.index if key[0] == "inputs" and key[1].endswith("factor"))
    assert list(table.loc[factor]) == [4, 3] and table.attrs["deltas"].loc[factor, again.id] == 1
    assert len(compare([again, first], all=True)) > len(table)


def failure(flow: Workflow[Any, Any], **inputs: Any) -> str:
    """Return the log of an execution that fails."""
    run = flow.launch(**inputs)
    with pytest.raises(ExecutionError, match="FAILED"):
        run.wait(120)
    return run.logs()


def test_undeclared_fields_are_kept(server: Server) -> None:
    given = extra.Open.model_validate({"depth": 1, "notes": ["é", {"a": None}]})
    outer = extra.Outer.model_validate({"inner": {"q": 1}, "many": [{"rate": 2, "z": True}]})
    local, remote = both(extra.extra, given, outer)
    assert remote == local and local["seeds"] == [1, 2] and local["depth"] == 1
    assert local["parts"][1] == {"options": {"depth": 1, "notes": ["é", {"a": None}], "seed": 2}, "inner": {"q": 1}, "many": [{"z": True}]}
    local, remote = both(extra.extra)
    assert remote == local and local["parts"][0]["options"] == {"depth": 3, "seed": 1}
    with pytest.raises(DefinitionError, match="outer: .* is not an `Outer`: it has no field 'nope'; its fields are: inner, many"):
        extra.extra.launch(outer={"nope": 1})  # type: ignore[call-overload]


def test_a_lone_surrogate_is_an_error(server: Server) -> None:
    reason = r"operator lone, output 'result': the text at \['x'\]\[0\] contains the lone surrogate '\\udce9'"
    with pytest.raises(OutputError, match=reason):
        extra.lone_surrogate()
    with pytest.raises(ExecutionError, match=reason):
        extra.lone_surrogate.launch().wait(120)
    with pytest.raises(ServerError, match=r"the text at \['inputs'\]\['name'\] contains the lone surrogate"):
        extra.lone_surrogate.launch("\ud800")


def test_a_traceback_has_only_frames_of_the_user(server: Server) -> None:
    run = trouble.trouble.launch(way="raise")
    with pytest.raises(ExecutionError, match="FAILED"):
        run.wait(120)
    log = run.logs()
    assert "RuntimeError: the sevens are gone" in log and "in deep" in log and "in stumble" in log
    assert "_task.py" not in log and "_traceback.py" not in log
    (attempt,) = server.get(f"/executions/{run.id}/nodes/stumble/attempts")["attempts"]
    first, cause = attempt["traceback"]["exceptions"]
    assert (first["type"], [f["function"] for f in first["frames"]]) == ("RuntimeError", ["stumble"])
    assert first["frames"][0]["locals"] == ["way", "found"]
    assert (cause["relation"], cause["type"], [f["function"] for f in cause["frames"]]) == ("cause", "ValueError", ["stumble", "deep"])


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("object", "operator stumble, output 'result': a tests.flows.trouble.Machine has no file format. Write it to a file and return its path, or set pickle=True on the operator to use cloudpickle"),
        ("none", "operator stumble, output 'result': the function returned None, but declares `Model`; declare Optional[…] if it may be absent"),
    ],
)
def test_an_output_that_cannot_be_written(server: Server, way: str, message: str) -> None:
    assert message in failure(trouble.trouble, way=way)


def test_an_exit_code_is_kept(server: Server) -> None:
    run = trouble.trouble.launch(way="exit")
    with pytest.raises(ExecutionError, match="exited with code 7"):
        run.wait(120)


def test_a_pickle_needs_permission(server: Server) -> None:
    log = failure(trouble.unreadable)
    assert "is a pickle, and reading it can run code: set pickle=True on the operator that reads it" in log


def test_the_server_refuses_inputs(server: Server) -> None:
    with pytest.raises(ServerError, match="(?s)way.*Choose raise, object"):
        trouble.trouble.launch(way="sideways")  # type: ignore[call-overload]


def test_the_server_accepts_every_option(server: Server) -> None:
    from .test_package import heavy, hook

    @workflow(name="sdk.options", owner_team="vision", tags=["b"], timeout="2h", max_running=2, max_depth=9, locks=["gpu"], retry_budget=RetryBudget(20), ttl={"after_success": "7d"})
    def options(n: int = 1) -> int:
        hook()
        answer = approval("Go on?", typed.Answer, default=typed.Answer(True), timeout="1h")
        return heavy.options(after=failed(answer) | ~skipped(answer))(n)

    package = server.upload(b"", "package.tar.gz")["$file"]
    assert server.post("/workflows", options.definition().document("sha256:" + package))["status"] == "REGISTERED"


def test_a_registered_workflow_as_operator(server: Server) -> None:
    assert trouble.pickles.deploy() == "1.0.0"

    @workflow_ref("sdk.pickles@1.0.0")
    def other(n: int) -> int: ...  # type: ignore[empty-body]

    @workflow(name="sdk.refers")
    def refers(n: int = 1) -> int:
        return other(n)

    answer = server.post("/workflows", refers.definition().document())
    assert answer["status"] == "REGISTERED"
    launched = server.post("/executions", {"workflow": "sdk.refers", "inputs": {"n": 8}})
    run = Run(launched["execution_id"], server).wait(120)
    assert run.outputs == {"result": 9}


def test_points_that_the_server_leaves_out(server: Server) -> None:
    run = trouble.metrics.launch(1500, 10_001).wait(120)
    short = run.metric_points("short")
    assert [p["step"] for p in short] == list(range(1500))
    with pytest.warns(UserWarning, match="at most 10,000 points per series and may have left out points of: report long$") as caught:
        assert len(run.metric_points("long")) == 10_000
    assert caught[0].filename == __file__


def test_references_to_the_catalogue(server: Server, tmp_path: Path) -> None:
    file = server.upload(b"a\nb\nc\n", "rows.txt")
    server.post("/datasets", {"name": "rows", "version": "1", "file": file})
    run = search.search.launch(Dataset("rows@1")).wait(120)
    assert run.result().text == "bad: 3.1"
    local = search.search("rows@1")  # type: ignore[arg-type]
    assert local.text == "bad: 3.1"
    server.post("/datasets", {"name": "far", "version": "1", "uri": "s3://elsewhere/rows"})
    with pytest.raises(InputError, match="its data is not stored on .* but elsewhere, at s3://elsewhere/rows"):
        search.split(Dataset("far@1"))
    with pytest.raises(InputError, match="has no dataset 'columns@1'"):
        Dataset("columns@1").load()
    with pytest.raises(NotFoundError, match="^rows has no version or alias '2'$"):
        Dataset("rows@2").load()
    model = run.artifacts["best.model"].path.read_bytes()
    server.post("/models", {"name": "best", "version": "1", "file": server.upload(model, "model.json")})
    assert Model("best@1").load() == {"kind": "svc", "rows": 2}


def test_a_folder_of_the_catalogue(server: Server) -> None:
    files = {"labels.csv": b"a,1\n", "images/one.png": b"one"}
    listed = [{"path": path, "sha256": server.upload(data, path)["$file"], "size": len(data)} for path, data in files.items()]
    folder = server.upload(json.dumps({"entries": listed}).encode(), "images")
    server.post("/datasets", {"name": "images", "version": "1", "file": {**folder, "media_type": "application/vnd.flowforge.directory+json"}})
    path = Dataset("images@1").path
    assert {str(one.relative_to(path)): one.read_bytes() for one in path.rglob("*") if one.is_file()} == files
    assert Dataset("images@1").path == path


def test_the_example_digits(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = PACKAGE.parents[1] / "examples" / "digits"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    flow = _cli.load(str(folder / "flow.py")).digits
    local, remote = both(flow, Dataset(folder / "data" / "digits.csv"), model="softmax", epochs=1)
    assert 0.5 < local.accuracy == remote.accuracy
    assert local.history.path.read_bytes() == remote.history.path.read_bytes()


def test_a_result_without_types(server: Server) -> None:
    with pytest.raises(FlowForgeError, match="known only for a run of launch"):
        Run("x", server).result()
