"""Versions of models and datasets, and what is sent to register them."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
from pathlib import Path
from typing import Any, Iterator, List, Tuple

import pytest

import flowforge
from flowforge._api import Server
from flowforge._run import Artifact
from flowforge.exceptions import InputError, NotFoundError, ServerError

_ENTRY = {
    "ref": "digits-net@2",
    "name": "digits-net",
    "version": "2",
    "metadata": {"accuracy": 0.97, "framework": "torch", "done": True},
    "metrics": {"loss": 0.1},
    "download_url": "/api/v1/models/digits-net@2/download",
    "filename": "net.json",
    "sha256": hashlib.sha256(b'{"w": 1}').hexdigest(),
}


@pytest.fixture()
def requests(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[List[Tuple[str, Any]]]:
    """What a server receives; it has one version of a model."""
    found: List[Tuple[str, Any]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def _answer(self) -> None:
            if self.headers.get("Transfer-Encoding") == "chunked":
                text = b""
                while size := int(self.rfile.readline(), 16):
                    text += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            else:
                text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            is_json = self.headers.get("Content-Type") == "application/json"
            found.append((f"{self.command} {self.path}", json.loads(text) if text and is_json else text))
            status, body = 200, json.dumps(_ENTRY).encode()
            if self.path.endswith("/download"):
                body = b'{"w": 1}'
            elif self.path.endswith("/stage"):
                body = json.dumps({"moved": json.loads(text)["stage"] != "production", "request": {"id": "r7"}}).encode()
            elif self.path.startswith("/api/v1/blobs"):
                body = json.dumps({"$file": "ab", "name": "x.csv"}).encode()
            elif "absent" in self.path or "staging" in self.path and self.command == "GET":
                status, body = 404, b"{}"
            elif self.command == "PUT":
                status, body = 204, b""
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = _answer

        def log_message(self, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("FLOWFORGE_SERVER", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("FLOWFORGE_TOKEN", "secret")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield found
    server.shutdown()
    server.server_close()


def test_a_version_has_metrics_and_a_value(requests: List[Tuple[str, Any]]) -> None:
    found = flowforge.model("digits-net@production")
    assert requests[0][0] == "GET /api/v1/models/digits-net%40production"
    assert (found.ref, found.name, found.version) == ("digits-net@2", "digits-net", "2")
    assert found.metrics == {"accuracy": 0.97, "loss": 0.1}
    assert found.metadata["framework"] == "torch"
    assert found.load() == {"w": 1}
    with pytest.raises(InputError, match="has no model 'absent'"):
        flowforge.model("absent")
    with pytest.raises(NotFoundError, match="^digits-net has no version in staging$"):
        flowforge.model("digits-net@staging")
    with pytest.raises(NotFoundError, match="^digits-net has no version or alias 'absent'$"):
        flowforge.model("digits-net@absent")
    with pytest.raises(InputError, match="only datasets have drift"):
        found.drift()


def test_a_task_calls_its_server_with_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWFORGE_TASK_ID", "t")
    monkeypatch.setenv("FLOWFORGE_API_ENDPOINT", "http://127.0.0.1:1")
    for name in ("FLOWFORGE_SERVER", "FLOWFORGE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    assert Server().url == "http://127.0.0.1:1"
    with pytest.raises(ServerError, match="tasks have no API key: add an input of type Secret"):
        flowforge.model("digits-net")


def test_a_version_is_promoted_and_named(requests: List[Tuple[str, Any]]) -> None:
    found = flowforge.model("digits-net")
    assert found.promote(reason="better") == "r7"
    assert requests[-1] == ("POST /api/v1/model-registry/digits-net/versions/2/stage", {"stage": "production", "reason": "better"})
    assert found.promote("staging") is None
    found.alias("champion")
    assert requests[-1] == ("PUT /api/v1/model-registry/digits-net/aliases/champion", {"version": "2"})
    with pytest.raises(InputError, match="only models have stages"):
        flowforge.dataset("digits").promote()


def test_versions_of_a_model_are_compared(requests: List[Tuple[str, Any]]) -> None:
    found = flowforge.model("digits-net")
    assert found.compare("production")["name"] == "digits-net"
    assert requests[-1][0] == "GET /api/v1/model-registry/digits-net/compare?version=2&against=production"
    with pytest.raises(InputError, match="only models can be compared"):
        flowforge.dataset("digits").compare()


def test_registrations_send_metrics_and_signature(requests: List[Tuple[str, Any]], tmp_path: Path) -> None:
    artifact = "01a20984-0000-7000-8000-000000000001"
    flowforge.register_model("digits-net@2", artifact, metrics={"accuracy": 0.97}, test_set="digits-test@1", inputs=[{"name": "x", "dtype": "Float"}])
    assert requests[-1] == (
        "POST /api/v1/models",
        {
            "name": "digits-net",
            "version": "2",
            "artifact": artifact,
            "metrics": {"accuracy": 0.97},
            "test_set": "digits-test@1",
            "input_schema": [{"name": "x", "dtype": "Float"}],
        },
    )
    found = {"artifact_id": artifact, "name": "model", "node": "train", "kind": "Model", "size_bytes": 2}
    flowforge.register_model("digits-net@3", Artifact(Server(), found))
    assert requests[-1][1] == {"name": "digits-net", "version": "3", "artifact": artifact}
    table = tmp_path / "x.csv"
    table.write_text("a\n1\n")
    flowforge.register_dataset("digits@3", table, tags="new")
    assert requests[-2][1] == b"a\n1\n"
    assert requests[-1] == ("POST /api/v1/datasets", {"name": "digits", "version": "3", "tags": ["new"], "file": {"$file": "ab", "name": "x.csv"}})
    with pytest.raises(InputError, match="has no version"):
        flowforge.register_dataset("digits", table)
    with pytest.raises(InputError, match="pass the path of a file"):
        flowforge.register_dataset("digits@4", tmp_path / "absent.csv")
