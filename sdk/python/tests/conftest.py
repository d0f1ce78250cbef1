"""A server that implements the protocol over real HTTP and records the requests it receives."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import pytest

from flowforge._config import Config

from .flows_of_metaflow import Author
from .running import Running


class Server:
    """Takes calls on one port; stop and start again to be away for a while."""

    def __init__(self) -> None:
        self.calls: List[Tuple[str, Dict[str, Any]]] = []
        self.answers: Dict[str, Dict[str, Any]] = {}
        self.status = 200
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._http: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                method = self.path.rpartition("/")[2]
                if self.headers["Authorization"] != "Bearer secret":
                    server.status = 401
                if server.status == 200:
                    server.calls.append((method, body))
                answer = json.dumps(server.answers.get(method, {})).encode()
                self.send_response(server.status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args: Any) -> None:
                pass

        ThreadingHTTPServer.allow_reuse_address = True
        self._http = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self) -> None:
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()
            self._http = None

    def entries(self, kind: str) -> List[Dict[str, Any]]:
        return [entry for method, body in self.calls if method == "Send" for entry in body.get(kind, [])]


@pytest.fixture
def server() -> Iterator[Server]:
    s = Server()
    s.start()
    yield s
    s.stop()


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that all tests share."""
    found = Running(tmp_path_factory.mktemp("server") / "data")
    yield found
    found.stop()


@pytest.fixture
def config(server: Server, tmp_path: Path) -> Config:
    inputs = tmp_path / "inputs.json"
    data = tmp_path / "data.csv"
    data.write_text("a,b\n")
    inputs.write_text(json.dumps({"epochs": 5, "data": str(data)}))
    return Config(
        task_id="e.1.1",
        workflow_id="e",
        endpoint=server.url,
        token="secret",
        inputs=inputs,
        outputs=tmp_path / "outputs",
        checkpoints=tmp_path / "checkpoints",
        spool=tmp_path / "spool",
    )


@pytest.fixture(scope="module")
def author(running: Running, tmp_path_factory: pytest.TempPathFactory) -> Author:
    """A person who has Metaflow and a folder of flows."""
    return Author(tmp_path_factory.mktemp("author"), running)
