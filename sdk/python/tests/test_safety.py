"""Keys, downloads and packages: nothing leaks, and nothing wrong is kept."""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import subprocess
import threading
import traceback
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Dict, List

import pytest

from flowforge import DefinitionError, InputError
from flowforge import _download, _git, _pack
from flowforge._api import Server, keeps_key, store_token
from flowforge.exceptions import ServerError


def test_keys_are_stripped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FLOWFORGE_TOKEN", " abc\r\n")
    assert Server().token == "abc"
    monkeypatch.delenv("FLOWFORGE_TOKEN")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "flowforge").mkdir()
    stored = {"servers": {"http://h": {"token": "def\n"}}}
    (tmp_path / "flowforge" / "credentials.json").write_text(json.dumps(stored))
    assert Server("http://h").token == "def"


@pytest.mark.parametrize("text", ["{", "null", "[]", '{"servers": []}', '{"servers": {"http://h": "key"}}'])
def test_a_damaged_file_of_keys_is_not_replaced(text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("FLOWFORGE_TOKEN", raising=False)
    (tmp_path / "flowforge").mkdir()
    file = tmp_path / "flowforge" / "credentials.json"
    file.write_text(text)
    for use in (lambda: Server("http://h").token, lambda: store_token("http://h", "new", "ada")):
        with pytest.raises(ServerError, match="the API keys in .*credentials.json cannot be read: .*Correct the file, or remove it"):
            use()
    assert file.read_text() == text
    file.write_text('{"servers": null}')
    store_token("http://h", "new", "ada")
    assert Server("http://h").token == "new"


@pytest.mark.parametrize("key", ["top\nsecret", "top secret", "top\x00secret", "töpsecret"])
def test_a_wrong_key_is_not_shown(key: str) -> None:
    try:
        Server("http://127.0.0.1:9", key).get("/workflows")
    except ServerError as err:
        text = "".join(traceback.format_exception(type(err), err, err.__traceback__))
        assert "the API key for http://127.0.0.1:9 contains" in text
        assert key not in text and repr(key) not in text
    else:
        raise AssertionError("the key was accepted")


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_requests_hold_no_nan(number: float) -> None:
    with pytest.raises(ServerError, match="contains NaN or an infinite number"):
        Server("http://127.0.0.1:9", "key").post("/executions", {"inputs": {"lr": number}})


class Store:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def open(self, *_: Any, **__: Any) -> Any:
        return io.BytesIO(self.data)


def test_a_download_has_the_promised_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = {"name": "a.csv", "sha256": hashlib.sha256(b"right").hexdigest(), "download_url": "/api/v1/x"}
    wrong: Any = Store(b"wrong")
    with pytest.raises(InputError, match="the download has the SHA-256"):
        _download.artifact(wrong, found)
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]
    right: Any = Store(b"right")
    assert _download.artifact(right, found).read_bytes() == b"right"


def test_a_broken_download_leaves_nothing(tmp_path: Path) -> None:
    class Broken(io.BytesIO):
        def read(self, *_: Any) -> bytes:
            raise OSError("the connection broke")

    with pytest.raises(OSError):
        _download.save(Broken(), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a/", ".", "..", "x/..", "x\\..", "a\nb"])
def test_names_of_downloads(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    store: Any = Store(b"")
    with pytest.raises(InputError, match="which is not a valid file name"):
        _download.artifact(store, {"name": "a", "filename": name, "sha256": "0" * 64, "download_url": "/"})


@pytest.mark.parametrize(
    "entry, problem",
    [({"path": "../a"}, "which is not a valid path"), ({"path": "a//b"}, "which is not a valid path"), ({"path": "a", "mode": 1 << 27 | 0o777}, "symbolic link")],
)
def test_folders_stay_in_their_place(entry: Dict[str, Any], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    listed = json.dumps({"entries": [{"sha256": "0" * 64, "size": 0, **entry}]}).encode()
    found = {"name": "a", "sha256": hashlib.sha256(listed).hexdigest(), "download_url": "/", "media_type": "application/vnd.flowforge.directory+json"}
    store: Any = Store(listed)
    with pytest.raises(InputError, match=problem):
        _download.artifact(store, found)
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_programs_of_folders_stay_executable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    sha = hashlib.sha256(b"x").hexdigest()
    listed = json.dumps({"entries": [{"path": "bin/run", "sha256": sha, "size": 1, "mode": 0o755}, {"path": "note", "sha256": sha, "size": 1, "mode": 0o4666}, {"path": "old", "sha256": sha, "size": 1}]})

    class Folder:
        def open(self, *_: Any, query: Dict[str, Any], **__: Any) -> Any:
            return io.BytesIO(b"x" if "path" in query else listed.encode())

    store: Any = Folder()
    found = {"name": "a", "sha256": hashlib.sha256(listed.encode()).hexdigest(), "download_url": "/", "media_type": "application/vnd.flowforge.directory+json"}
    made = _download.artifact(store, found)
    assert [oct((made / name).stat().st_mode & 0o7777) for name in ("bin/run", "note", "old")] == ["0o755", "0o644", "0o600"]


@pytest.mark.parametrize(
    "old, new, keeps",
    [
        ("http://h", "https://h/x", True),
        ("http://h:8080", "https://h", True),
        ("https://h", "https://H:443/x", True),
        ("https://h", "http://h", False),
        ("https://h", "https://h:8443", False),
        ("https://h", "https://a.h", False),
        ("http://h", "https://g", False),
    ],
)
def test_where_a_key_may_go(old: str, new: str, keeps: bool) -> None:
    assert keeps_key(old, new) is keeps


def test_redirects_of_the_server_itself() -> None:
    seen: List[Any] = []

    class Here(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append((self.command, self.path, self.headers["Authorization"]))
            self.send_response(200 if self.path == "/new" else 302)
            self.send_header("Location", "/new")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        do_POST = do_GET

        def log_message(self, *args: Any) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Here) as here:
        threading.Thread(target=here.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        server = Server(f"http://127.0.0.1:{here.server_port}", "key")
        assert server.get("/x") == {}
        with pytest.raises(ServerError, match=r"POST /x: the server redirected the request to /new \(status 302\): set FLOWFORGE_SERVER to the final address"):
            server.post("/x", {"a": 1})
        here.shutdown()
    assert seen == [("GET", "/api/v1/x", "Bearer key"), ("GET", "/new", "Bearer key"), ("POST", "/api/v1/x", "Bearer key")]


def test_a_key_stays_at_its_server() -> None:
    seen: List[Any] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append((self.path, self.headers["Authorization"]))
            if self.path == "/api/v1/x":
                self.send_response(302)
                self.send_header("Location", f"http://127.0.0.1:{other.server_port}/signed")
            else:
                self.send_response(200)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    one, other = (HTTPServer(("127.0.0.1", 0), Elsewhere) for _ in range(2))
    for http in (one, other):
        threading.Thread(target=http.handle_request, daemon=True).start()
    try:
        with Server(f"http://127.0.0.1:{one.server_port}", "key").open("GET", "/x") as response:
            assert response.read() == b""
    finally:
        one.server_close()
        other.server_close()
    assert seen == [("/api/v1/x", "Bearer key"), ("/signed", None)]


def test_an_operator_outside_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "shared" / "far_steps.py").write_text("from flowforge import operator\n@operator\ndef far(n: int) -> int: return n\n")
    (tmp_path / "project" / "near_flow.py").write_text("from flowforge import workflow\nfrom far_steps import far\n@workflow\ndef flow(n: int) -> int: return far(n)\n")
    monkeypatch.syspath_prepend(str(tmp_path / "shared"))
    monkeypatch.syspath_prepend(str(tmp_path / "project"))
    flow = importlib.import_module("near_flow").flow
    with pytest.raises(DefinitionError, match=rf"the operator far is in .*far_steps.py, but tasks get only the files below {tmp_path}/project. Move its file there"):
        flow.definition()


def git(folder: Path, *args: str) -> None:
    options = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *options, "-C", str(folder), *args], check=True, capture_output=True)


def test_packages_hold_submodules_but_no_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library, project = tmp_path / "library", tmp_path / "project"
    for folder in (library, project):
        folder.mkdir()
        git(folder, "init")
    (library / "inner.py").write_text("N = 1\n")
    git(library, "add", ".")
    git(library, "commit", "-m", "a")
    git(project, "submodule", "add", str(library), "lib")
    (project / "packed_flow.py").write_text("def f(): ...\n")
    (project / "lib" / "new.py").write_text("")
    for name in ("admin.token", "server.pem", "tls.KEY", "id_rsa", "id_rsa.pub"):
        (project / name).write_text("secret")
    git(project, "add", "-f", ".")
    monkeypatch.syspath_prepend(str(project))
    code = _pack.collect(importlib.import_module("packed_flow").f)
    assert code.files == ("lib/inner.py", "lib/new.py", "packed_flow.py")

    (project / ".git" / "modules" / "lib" / "HEAD").write_text("damaged")
    with pytest.raises(DefinitionError, match=rf"git cannot list the files of {project}/lib, which belong to the code package: fatal: "):
        _git.files(project)
    git(project, "submodule", "deinit", "-f", "lib")
    with pytest.warns(UserWarning, match="no files of the submodule lib, because it is not checked out"):
        assert "packed_flow.py" in _git.files(project)


def test_a_repository_that_git_refuses(tmp_path: Path) -> None:
    git(tmp_path, "init")
    (tmp_path / "a.py").write_text("")
    assert (_git.files(tmp_path), _git.state(tmp_path)) == (["a.py"], {})
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "First")
    assert _git.state(tmp_path)["dirty"] is False
    (tmp_path / ".git" / "index").write_text("damaged")
    with pytest.raises(DefinitionError, match="git cannot list the files of .*: (error|fatal): "):
        _git.files(tmp_path)
    with pytest.warns(UserWarning, match="does not state whether the files differ from the commit, because git status failed"):
        assert "dirty" not in _git.state(tmp_path)


def test_files_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("")
    assert _git.files(tmp_path) == ["src/a.py"]
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("data/\n")
    for folder in (tmp_path, tmp_path / "src"):
        with pytest.raises(DefinitionError, match=rf"git is not installed, so the files in {tmp_path}/.gitignore cannot be left out of the code package"):
            _git.files(folder)
