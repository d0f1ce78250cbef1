"""The space of sweeps. The stories of the server run whole sweeps."""

from __future__ import annotations

import http.server
import json
import threading
from typing import Any, Dict, Iterator, List, Tuple

import pytest

import flowforge
from flowforge import search
from flowforge.exceptions import FlowForgeError


@pytest.fixture()
def requests(monkeypatch: pytest.MonkeyPatch) -> Iterator[List[Tuple[str, Any]]]:
    """What an HTTP server on this machine receives; it answers with a paused sweep."""
    found: List[Tuple[str, Any]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def _answer(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            found.append((f"{self.command} {self.path}", json.loads(text) if text else None))
            body = json.dumps({"id": "7", "state": "PAUSED", "message": "Paused by Mei."}).encode()
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
    made = flowforge.sweep("digits.train", space, method="tpe", runs=20, metric="accuracy", early_stopping={"rule": "median"})
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
    with pytest.raises(FlowForgeError, match="Paused by Mei"):
        made.wait()
    made.pause()
    made.stop(cancel=True)
    assert requests[-2][0] == "POST /api/v1/sweeps/7/pause"
    assert requests[-1] == ("POST /api/v1/sweeps/7/stop", {"running": "cancel"})


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
