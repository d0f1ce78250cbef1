"""Addresses and answers that are wrong: each is a ServerError that says what to do."""

from __future__ import annotations

import json
import socket
import tempfile
import threading
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest

import flowforge
from flowforge import _follow, _launch
from flowforge._api import Server, passes
from flowforge._run import Run
from flowforge.exceptions import ServerError

CUT = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"status\": "
PAGE = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"
NOISE = b"SSH-2.0-OpenSSH_9.6\r\n\r\n"
REFUSAL = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 100\r\n\r\n{\"detail\": "


def answer(status: str, body: Dict[str, Any]) -> bytes:
    text = json.dumps(body).encode()
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text


class Answers:
    """A port that sends each connection the next answer, then always the last one."""

    def __init__(self, *answers: bytes) -> None:
        self._answers = list(answers)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.recv(1 << 16)
                connection.sendall(self._answers[0])
            if len(self._answers) > 1:
                self._answers.pop(0)

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    answers = Answers(request.param)
    yield Server(answers.url, "key")
    answers.close()


@pytest.mark.parametrize(("server", "message"), [
    (CUT, "GET /executions/x: the response was cut off"),
    (REFUSAL, "GET /executions/x: the response was cut off"),
    (NOISE, "GET /executions/x: "),
    (PAGE, "GET /executions/x: the response is not JSON: set FLOWFORGE_SERVER"),
], indirect=["server"])
def test_a_wrong_answer(server: Server, message: str) -> None:
    with pytest.raises(ServerError, match=message):
        server.get("/executions/x")


@pytest.mark.parametrize("server", [CUT], indirect=True)
def test_a_stream_that_breaks(server: Server) -> None:
    with pytest.raises(ServerError, match="cut off"):
        with server.open("GET", "/executions/x/logs") as response:
            response.read()


@pytest.mark.parametrize("url", ["myhost", "myhost:8080", "127.0.0.1:8080", "localhost:8080"])
def test_an_address_without_a_protocol(url: str) -> None:
    with pytest.raises(ServerError, match=f"{url} is not the address of a server: set FLOWFORGE_SERVER to an address such as http://"):
        Server(url, "key").get("/workflows")


@pytest.mark.parametrize("server", [answer("401 Unauthorized", {"detail": "The API key expired."})], indirect=True)
def test_a_key_that_is_not_valid(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLOWFORGE_TOKEN", raising=False)
    with pytest.raises(ServerError, match=f"The API key expired. Create a key at {server.url}/account/keys and run `flowforge login {server.url}`."):
        server.get("/workflows")
    monkeypatch.setenv("FLOWFORGE_TOKEN", "key")
    with pytest.raises(ServerError, match=f"Create a key at {server.url}/account/keys and set FLOWFORGE_TOKEN to it."):
        server.get("/workflows")


@pytest.mark.parametrize("url", ["http://myhost:port", "http://my host"])
def test_a_wrong_address(url: str) -> None:
    with pytest.raises(ServerError, match="port|my host"):
        Server(url, "key").get("/workflows")


RUNNING, DONE = answer("200 OK", {"status": "RUNNING"}), answer("200 OK", {"status": "SUCCEEDED"})
LIMITED = answer("429 Too Many Requests", {"detail": "One API key may send at most 600 requests per minute."})


def test_a_wait_survives_a_restart_of_the_server() -> None:
    answers = Answers(RUNNING, b"", CUT, LIMITED, answer("503 Service Unavailable", {"detail": "The server stops."}), DONE)
    assert Run("x", Server(answers.url, "key")).wait(timeout=30).state == "SUCCEEDED"
    answers.close()


def test_a_sweep_is_awaited_across_a_restart_of_the_server() -> None:
    answers = Answers(answer("200 OK", {"state": "RUNNING"}), b"", answer("429 Too Many Requests", {}), answer("200 OK", {"state": "SUCCEEDED", "counts": {"succeeded": 2}, "runs": 2}))
    sweep = flowforge.Sweep("9", Server(answers.url, "key"))
    assert repr(sweep.wait(poll=0)) == f"Sweep(9, SUCCEEDED, 2 of 2 runs ended, {answers.url}/sweeps/9)"
    answers.close()


@pytest.mark.parametrize("given", [[b""], [RUNNING, answer("403 Forbidden", {"detail": "You may not."})]])
def test_a_wait_ends_with_a_final_error(given: List[bytes]) -> None:
    answers = Answers(*given)
    with pytest.raises(ServerError):
        Run("x", Server(answers.url, "key")).wait(timeout=30)
    answers.close()


def test_a_request_without_an_answer_is_repeated_once_more() -> None:
    slow = ServerError("timed out")
    assert passes(slow, sent=100.0, answered=99.0), "even if it took longer than all patience"
    assert not passes(slow, sent=200.0, answered=99.0) and not passes(ServerError("no", 404), sent=100.0, answered=99.0)


def test_who_cannot_follow_says_that_the_execution_continues() -> None:
    answers = Answers(answer("403 Forbidden", {"detail": "You may not."}))
    server = Server(answers.url, "key")
    with pytest.raises(ServerError, match=rf"You may not\.\nThis command cannot follow the execution any longer\. The execution continues: {answers.url}/executions/x"):
        _follow.follow(Run("x", server), server)
    answers.close()


def test_a_rejected_definition_names_its_operators() -> None:
    document = {"operators": [{"name": "load"}, {"name": "train"}], "graphs": {"fit-all": {"operators": [{"name": "best"}]}}}
    text = "operators[1].retry.limit: …\n  graphs.fit-all.operators[0].cache: …\n  operators[7]: …\n  graphs.x.operators[0]: …"
    assert _launch.with_names(text, document) == (
        "operators[train].retry.limit: …\n  graphs.fit-all.operators[best].cache: …\n  operators[7]: …\n  graphs.x.operators[0]: …"
    )


def test_executions_have_times(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"execution_id": "a", "workflow": "w", "created_at": "2026-01-02T03:04:05.123456789Z", "finished_at": "2026-01-02T03:04:06Z"}]
    answers = Answers(answer("200 OK", {"executions": [*rows, {"execution_id": "b", "created_at": "2026-01-02T03:05:00Z"}]}), answer("200 OK", {"executions": []}))
    monkeypatch.setenv("FLOWFORGE_SERVER", answers.url)
    monkeypatch.setenv("FLOWFORGE_TOKEN", "key")
    found, none = flowforge.executions(), flowforge.executions()
    assert (found.finished_at - found.created_at).dt.total_seconds().tolist()[0] == pytest.approx(0.876544) and found.finished_at.isna().tolist() == [False, True]
    assert str(none.created_at.dtype) == str(found.created_at.dtype) == "datetime64[ns, UTC]" and not len(none)
    answers.close()


def test_a_written_value_is_removed_after_its_upload(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    class Takes:
        def upload(self, file: object, filename: str) -> str:
            assert list(tmp_path.rglob(filename))
            return filename

    assert _launch._upload_file(Takes(), {"a": 1}, "settings").startswith("settings")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_the_token_of_this_machine_is_sent_only_to_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "admin.token").write_text("secret")
    monkeypatch.setenv("FLOWFORGE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("FLOWFORGE_TOKEN", raising=False)
    for url in ("http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080"):
        assert Server(url).token == "secret"
    for url in ("http://192.0.2.1:8080", "https://flowforge.example.com", "http://127.0.0.1.example.com"):
        with pytest.raises(ServerError, match="no API key for "):
            Server(url).token
