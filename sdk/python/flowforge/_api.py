"""Calls the JSON API of a server.

The address, the API key and the project come from the same environment variables and files as
those of the command line.
"""

from __future__ import annotations

import ipaddress
import json
import os
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Callable, Dict, Iterator, Optional, Type
from urllib.parse import quote, urlencode, urlsplit

from . import _files, _place
from .exceptions import ServerError

DEFAULT = "http://127.0.0.1:8080"
PATIENCE = 60.0  # seconds to wait for a server that does not respond


class Server:
    """One server, with the key of one user."""

    def __init__(self, url: str = "", token: str = "", project: str = "") -> None:
        self.url = (url or os.environ.get("FLOWFORGE_SERVER") or _of_task() or _default()).rstrip("/")
        self.project = project or os.environ.get("FLOWFORGE_PROJECT", "")
        self._token = token

    @property
    def token(self) -> str:
        """The API key. Raises ServerError if there is none."""
        if not self._token:
            self._token = os.environ.get("FLOWFORGE_TOKEN", "").strip() or stored_token(self.url) or _local_token(self.url)
        self._token = self._token.strip()
        if not self._token and _of_task():
            frame = _place.caller()
            if frame is not None and frame.f_code.co_name == "<module>":
                raise _place.error('tasks import this file, so they run this line too: put it under `if __name__ == "__main__":`')
            raise ServerError("tasks have no API key: add an input of type Secret whose value is an API key, and set os.environ[\"FLOWFORGE_TOKEN\"] to it")
        if not self._token:
            raise ServerError(f"no API key for {self.url}: run `flowforge login {self.url}`, or set FLOWFORGE_TOKEN")
        if not all("!" <= c <= "~" for c in self._token):  # http.client would show it in its error
            raise ServerError(f"the API key for {self.url} contains spaces or invalid characters: run `flowforge login {self.url}`, or set FLOWFORGE_TOKEN again")
        return self._token

    def get(self, path: str, **query: Any) -> Any:
        """Return the JSON at a path of the API."""
        return self.call("GET", path, query=query)

    def post(self, path: str, body: Any) -> Any:
        """Send JSON and return the response."""
        return self._send("POST", path, body)

    def put(self, path: str, body: Any) -> Any:
        """Replace what is at a path, and return the response."""
        return self._send("PUT", path, body)

    def _send(self, method: str, path: str, body: Any) -> Any:
        try:
            data = json.dumps(body, allow_nan=False, default=_files.scalar).encode()
        except TypeError as err:
            raise ServerError(f"{method} {path}: the request cannot be written as JSON: {_files.not_json(body) or err}") from None
        except ValueError:
            raise ServerError(f"{method} {path}: the request contains NaN or an infinite number, which JSON cannot represent") from None
        why = _files.not_text(body)
        if why:
            raise ServerError(f"{method} {path}: {why}")
        return self.call(method, path, data, "application/json")

    def call(self, method: str, path: str, body: Any = None, media_type: str = "", query: Optional[Dict[str, Any]] = None) -> Any:
        with self.open(method, path, body, media_type, query) as response:
            answer = response.read()
        try:
            return json.loads(answer)
        except ValueError:
            raise ServerError(f"{method} {path}: the response is not JSON: set FLOWFORGE_SERVER to the address of a FlowForge server") from None

    def open(self, method: str, path: str, body: Any = None, media_type: str = "", query: Optional[Dict[str, Any]] = None, timeout: float = 60) -> Answer:
        """Return the response of a request. Raises ServerError with the server's message."""
        from http.client import HTTPException
        from urllib.error import HTTPError, URLError
        from urllib.request import Request

        given = {k: v for k, v in (query or {}).items() if v not in (None, "")}
        address = self.url + ("" if path.startswith("/api/") else "/api/v1") + path
        headers = {"Accept": "application/json"}
        if self.project:
            headers["X-FlowForge-Project"] = self.project
        if media_type:
            headers["Content-Type"] = media_type
        try:
            if urlsplit(self.url).scheme not in ("http", "https"):
                raise ValueError(self.url)
            request = Request(address + ("?" + urlencode(given) if given else ""), body, headers, method=method)
        except ValueError:
            raise ServerError(f"{self.url} is not the address of a server: set FLOWFORGE_SERVER to an address such as {DEFAULT}") from None
        request.add_unredirected_header("Authorization", "Bearer " + self.token)  # a download may be at another server
        try:
            return Answer(_opener().open(request, timeout=timeout), f"{method} {path}")
        except HTTPError as err:
            with err:
                if 300 <= err.code < 400:
                    place = err.headers.get("Location", "")
                    raise ServerError(f"{method} {path}: the server redirected the request to {place} (status {err.code}): set FLOWFORGE_SERVER to the final address", err.code) from None
                raise _refusal(err.code, Answer(err, f"{method} {path}").read(), f"{method} {path}", self._new_key() if err.code == 401 else "") from None
        except URLError as err:
            raise ServerError(f"cannot reach a server at {self.url} ({err.reason}): set FLOWFORGE_SERVER, or start one with `flowforge serve`") from None
        except (OSError, HTTPException, ValueError) as err:
            raise ServerError(f"{method} {path}: {err}") from None

    def _new_key(self) -> str:
        """Return how to replace the API key, which depends on where it came from."""
        if os.environ.get("FLOWFORGE_TOKEN", "").strip() == self._token:
            return f"Create a key at {self.url}/account/keys and set FLOWFORGE_TOKEN to it."
        return f"Create a key at {self.url}/account/keys and run `flowforge login {self.url}`."

    def find(self, path: str) -> Any:
        """Return the JSON at a path, or None if there is nothing."""
        try:
            return self.get(path)
        except ServerError as err:
            if err.status == 404:
                return None
            raise

    def upload(self, data: Any, filename: str, media_type: str = "application/octet-stream") -> Dict[str, Any]:
        """Store bytes, or an open file, and return the value that refers to them."""
        if hasattr(data, "fileno"):
            data = _Sized(data)
        answer: Dict[str, Any] = self.call("POST", "/blobs", data, media_type, {"filename": filename})
        return answer

    def pages(self, path: str, key: str, **query: Any) -> Iterator[Any]:
        """Iterate over all items of a list."""
        page = ""
        while True:
            answer = self.get(path, page=page, **query)
            yield from answer.get(key) or ()
            page = answer.get("next_page") or ""
            if not page:
                return


class Answer:
    """The body of a response. Reading it raises ServerError if the connection breaks."""

    def __init__(self, response: Any, request: str) -> None:
        self._response = response
        self._request = request

    def __enter__(self) -> Answer:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self._response.close()

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over the lines."""
        while True:
            line = self._piece(self._response.readline)
            if not line:
                return
            yield line

    def read(self, size: int = -1) -> bytes:
        """Return up to size bytes, or the rest."""
        return self._piece(self._response.read, *([size] if size >= 0 else []))

    def _piece(self, read: Callable[..., bytes], *size: int) -> bytes:
        from http.client import HTTPException

        try:
            return read(*size)
        except (OSError, HTTPException) as err:
            raise ServerError(f"{self._request}: the response was cut off: {err}") from None


def passes(err: ServerError, sent: float, answered: float) -> bool:
    """Return whether to ask again after an error: the server limits requests, or had answered a while before the request."""
    return (err.status == 429 or not 400 <= err.status < 500) and sent - answered <= PATIENCE


def keeps_key(old: str, new: str) -> bool:
    """Return whether the key for one address may go to another, to which it redirects."""
    a, b = urlsplit(old), urlsplit(new)
    if a.hostname != b.hostname:
        return False
    if a.scheme != b.scheme:
        return b.scheme == "https"
    default = {"http": 80, "https": 443}.get(a.scheme)
    return (a.port or default) == (b.port or default)


def _opener() -> Any:
    from urllib.error import HTTPError
    from urllib.request import HTTPRedirectHandler, build_opener

    class Redirects(HTTPRedirectHandler):
        """Keeps the key at its server, and does not turn a request with a body into a GET."""

        def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
            if req.get_method() not in ("GET", "HEAD"):
                raise HTTPError(req.full_url, code, msg, headers, fp)
            new = super().redirect_request(req, fp, code, msg, headers, newurl)
            key = req.unredirected_hdrs.get("Authorization")
            if new is not None and key and keeps_key(req.full_url, newurl):
                new.add_unredirected_header("Authorization", key)
            return new

    return build_opener(Redirects)


class _Sized:
    """A file with a length, so that it is sent as it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __len__(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def __iter__(self) -> Iterator[bytes]:
        while True:
            piece = self._file.read(1 << 20)
            if not piece:
                return
            yield piece


def _refusal(status: int, body: bytes, what: str, advice: str = "") -> ServerError:
    try:
        problem = json.loads(body)
        lines = [" ".join(filter(None, (str(problem["detail"]), advice)))]
    except (ValueError, KeyError, TypeError):
        return ServerError(f"{what}: the server responded with status {status}", status)
    errors = [(str(e.get("path") or ""), str(e.get("message") or "")) for e in problem.get("errors") or ()]
    if len(errors) == 1 and lines[0] in (errors[0][1], ": ".join(errors[0])):
        lines, errors = [": ".join(filter(None, errors[0]))], []
    elif len(errors) == 1 and errors[0][1] and lines[0].endswith(errors[0][1]):
        errors = []
    lines += [f"  {path}: {message}" for path, message in errors]
    if status >= 500 and problem.get("request_id"):
        lines[0] += f" (request {problem['request_id']})"
    return ServerError("\n".join(lines), status)


def quoted(name: str) -> str:
    """Return a name as one segment of a path."""
    return quote(name, safe="")


def credentials_path() -> Path:
    """Return the file of the keys that `flowforge login` stored."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    elif os.name == "nt":
        base = Path(os.environ.get("AppData", str(Path.home())))
    else:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return base / "flowforge" / "credentials.json"


def _stored() -> Dict[str, Any]:
    path = credentials_path()
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        servers = found.get("servers") if isinstance(found, dict) else []
        servers = {} if servers is None else servers
        if not isinstance(servers, dict) or not all(isinstance(one, dict) for one in servers.values()):
            raise ValueError("it is not a list of servers with their keys")
    except FileNotFoundError:
        return {"servers": {}}
    except (OSError, ValueError) as err:
        raise ServerError(f"the API keys in {path} cannot be read: {err}. Correct the file, or remove it and run `flowforge login` again") from None
    return {**found, "servers": servers}


def _of_task() -> str:
    """Return the server that started this task, "" outside of tasks."""
    return os.environ.get("FLOWFORGE_API_ENDPOINT", "") if os.environ.get("FLOWFORGE_TASK_ID") else ""


def _default() -> str:
    """Return the server of the last login.

    A key in FLOWFORGE_TOKEN does not say for which server it is, so it is never sent to that one.
    """
    if os.environ.get("FLOWFORGE_TOKEN"):
        return DEFAULT
    found = _stored().get("default")
    return found if isinstance(found, str) and found else DEFAULT


def stored_token(url: str) -> str:
    """Return the key for a server, or "". Raises ServerError if the file of keys is damaged."""
    return str(_stored()["servers"].get(url.lower(), {}).get("token", "")).strip()


def store_token(url: str, token: str, user: str) -> Path:
    """Store the key of a server in a file that only its owner can read, and make it the default server.

    Raises ServerError if the file has other keys that cannot be read.
    """
    path = credentials_path()
    found = _stored()
    found["servers"][url.lower()] = {"token": token, "user": user}
    found["default"] = url
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = path.with_name(f".credentials-{os.getpid()}")
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(json.dumps(found, indent=2) + "\n")
    partial.replace(path)
    return path


def _local_token(url: str) -> str:
    """Return the key that a server on this machine wrote to its data directory. It is sent only to this machine."""
    if not _is_loopback(url):
        return ""
    folder = os.environ.get("FLOWFORGE_DATA_DIR") or ".flowforge"
    try:
        return Path(folder, "admin.token").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


