"""The space of sweeps. The stories of the server run whole sweeps."""

from __future__ import annotations

import datetime
import enum
import http.server
import json
import threading
from typing import Any, Dict, Iterator, List, Tuple

import numpy
import pytest

import flowforge
from flowforge import operator, search, workflow
from flowforge.exceptions import DefinitionError, FlowForgeError, ServerError


@pytest.fixture()
def requests(monkeypatch: pytest.MonkeyPatch) -> Iterator[List[Tuple[str, Any]]]:
    """What an HTTP server on this machine receives; it answers with a paused sweep."""
    found: List[Tuple[str, Any]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def _answer(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            found.append((f"{self.command} {self.path}", json.loads(text) if text else None))
            body = json.dumps({"id": "7", "execution_id": "8", "state": "PAUSED", "message": "Paused by Mei."}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = _answer

        def log_message(self, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("FLOWFORGE_SERVER", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("FLOWFORGE_TOKEN", "secret")
    yield found
    server.shutdown()
    server.server_close()


def test_a_sweep_sends_its_space(requests: List[Tuple[str, Any]]) -> None:
    space: Dict[str, Any] = {"lr": search.log_range(1e-4, 0.1), "net.depth": search.integers(1, 4), "kind": ["a", "b"]}
    made = flowforge.sweep("digits.train", space, method="tpe", runs=20, metric="accuracy", early_stopping={"rule": "median"}, tags="baseline")
    assert made.id == "7"
    path, body = requests[0]
    assert path == "POST /api/v1/sweeps"
    assert body["space"] == [
        {"path": "lr", "kind": "range", "from": 1e-4, "to": 0.1, "scale": "log"},
        {"path": "net.depth", "kind": "int", "from": 1, "to": 4},
        {"path": "kind", "kind": "values", "values": ["a", "b"]},
    ]
    assert body["objective"] == {"metric": "accuracy", "goal": "max", "value": "best"}
    assert body["early_stopping"] == {"rule": "median"}
    assert body["tags"] == ["baseline"]
    assert repr(made).startswith("Sweep(7, PAUSED, 0 of 0 runs ended, http")
    flowforge.sweep("digits.train", space, runs=2, metric="accuracy", early_stopping="halving")
    assert requests[-1][1]["early_stopping"] == {"rule": "halving"}
    with pytest.raises(FlowForgeError, match="Paused by Mei"):
        made.wait()
    made.pause()
    made.stop(cancel=True)
    assert requests[-2][0] == "POST /api/v1/sweeps/7/pause"
    assert requests[-1] == ("POST /api/v1/sweeps/7/stop", {"running": "cancel"})


def test_the_runs_as_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    run = {"index": 3, "rank": 1, "state": "SUCCEEDED", "objective": 0.9, "values": {"rank": 16, "lr": 0.1}}
    found = {"space": [{"path": "rank"}, {"path": "lr"}], "run_list": [run, {"index": 4, "state": "RUNNING", "values": {"rank": 8}}]}
    monkeypatch.setattr(flowforge.Sweep, "refresh", lambda _: found)
    frame = flowforge.Sweep("7").runs()
    assert list(frame.columns) == ["rank", "index", "state", "objective", "inputs.rank", "lr", "gpu_hours", "execution_id", "message"]
    assert (frame["rank"][0], frame["inputs.rank"][0], frame["lr"][0]) == (1, 16, 0.1)


def test_a_task_creates_no_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWFORGE_TASK_ID", "x.0.1")
    with pytest.raises(FlowForgeError, match="a task cannot create a sweep"):
        flowforge.sweep("digits.train", {"lr": [1]}, runs=1)


def test_kinds_of_parameters() -> None:
    assert search.values(range(2)) == {"kind": "values", "values": [0, 1]}
    assert search.linear_range(0, 1, step=0.5) == {"kind": "range", "from": 0, "to": 1, "step": 0.5}
    assert search.log_range(1, 10, 3) == {"kind": "range", "from": 1, "to": 10, "steps": 3, "scale": "log"}
    assert search.uniform(0, 1)["kind"] == "uniform"
    assert search.log_uniform(1, 2)["kind"] == "loguniform"
    assert search.normal(0, 1, high=2) == {"kind": "normal", "mean": 0, "deviation": 1, "to": 2}


class Kind(enum.Enum):
    SVC = "svc"
    FOREST = "forest"


@operator
def score(lr: float, kind: Kind, names: List[str]) -> float:
    return lr


@workflow(name="sdk.scored")
def scored(lr: float = 0.1, kind: Kind = Kind.SVC, names: List[str] = ["a"]) -> float:
    return score(lr, kind, names)


def test_a_sweep_of_a_function_registers_it(requests: List[Tuple[str, Any]]) -> None:
    flowforge.sweep(scored, {"lr": numpy.linspace(0, 1, 3), "kind": [Kind.SVC, Kind.FOREST]}, inputs={"names": ("b", "c")}, runs=2)
    body = requests[-1][1]
    assert (body["workflow"], body["version"].partition("-dev")[0], body["inputs"]) == ("sdk.scored", "1.0.0", {"names": ["b", "c"]})
    assert [p["values"] for p in body["space"]] == [[0, 0.5, 1], ["svc", "forest"]]
    flowforge.sweep("digits.train@1.2.0", {"depth": numpy.arange(3)}, runs=2)
    body = requests[-1][1]
    assert (body["workflow"], body["version"], body["space"][0]["values"]) == ("digits.train", "1.2.0", [0, 1, 2])


@pytest.mark.parametrize(
    ("workflow", "space", "message"),
    [
        ("digits.train", {"kind": "svc"}, r"test_sweep\.py:\d+: the space of kind is 'svc'; use a list of values, or a function of flowforge\.search"),
        ("digits.train", {"lr": 0.1}, "the space of lr is 0.1; use a list of values"),
        (scored, {"rate": [1]}, "sdk.scored has no input 'rate'; its inputs are: lr, kind, names"),
        (scored, {"lr.x": [1]}, "lr.x: a `float` has no field 'x'"),
    ],
)
def test_a_space_that_is_wrong(requests: List[Tuple[str, Any]], workflow: Any, space: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        flowforge.sweep(workflow, space, runs=2)
    assert not requests


def test_launch_takes_a_function(requests: List[Tuple[str, Any]]) -> None:
    flowforge.launch("digits.train", {"n": numpy.int64(3)})
    assert requests[-1][1] == {"workflow": "digits.train", "inputs": {"n": 3}}
    flowforge.launch(scored, {"kind": Kind.FOREST}, tags="baseline")
    body = requests[-1][1]
    assert (body["workflow"], body["inputs"], body["tags"]) == ("sdk.scored", {"kind": "forest"}, ["baseline"])
    wrong: Any = [1]
    with pytest.raises(DefinitionError, match=r"test_sweep.py:\d+: the inputs are \[1\]; use a dictionary of values by name"):
        flowforge.launch("digits.train", wrong)
    with pytest.raises(DefinitionError, match="is not a workflow: use a function with @workflow, or the name of a registered workflow"):
        flowforge.launch(scored.function, {"lr": 0.1})  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="sdk.scored has no input 'n'; its inputs are: lr, kind, names"):
        flowforge.launch(scored, {"n": 3})
    with pytest.raises(ServerError, match=r"POST /executions: the request cannot be written as JSON: \['inputs'\]\['when'\] has the type `date`"):
        flowforge.launch("digits.train", {"when": datetime.date(2026, 1, 2)})


def test_the_options_of_a_workflow_are_those_of_the_function() -> None:
    import inspect

    from flowforge._sweep import SweepOptions

    assert list(SweepOptions.__annotations__) == list(inspect.signature(flowforge.sweep).parameters)[2:]


def test_the_space_of_a_workflow_is_a_dictionary() -> None:
    @workflow
    def flow(n: int) -> None: ...

    wrong: Any = [1, 2]
    with pytest.raises(DefinitionError, match=r'test_sweep.py:\d+: the space is \[1, 2\]; use a dictionary, such as flow.sweep\(\{"lr": '):
        flow.sweep(wrong)
