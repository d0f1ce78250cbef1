"""Shows an execution in the terminal until it ends."""

from __future__ import annotations

import json
import sys
import threading
import time
from datetime import datetime
from typing import Any, Dict, Iterator, Tuple

from ._api import PATIENCE, Server, passes, quoted
from ._run import ENDED, Run
from ._times import moment
from .exceptions import ServerError

CODES = {"SUCCEEDED": 0, "FAILED": 1, "CANCELLED": 3}
_SOON = 10  # looks at an execution; reasons such as a start of a task pass before
INTERRUPTED = 130  # by Ctrl-C, as in a shell


def follow(run: Run, server: Server) -> int:
    """Print progress and log lines, then the outputs or the error. Return the exit code.

    Ctrl-C ends only this command, and a message names the command that cancels the execution.
    """
    try:
        return _follow(run, server)
    except KeyboardInterrupt:
        print(f"\nThe execution continues: {run.url}. To stop it: flowforge cancel {run.id}", file=sys.stderr, flush=True)
        return INTERRUPTED


def _follow(run: Run, server: Server) -> int:
    logs = threading.Thread(target=_logs, args=(run, server), daemon=True)
    logs.start()
    previous, answered, waits = "", time.monotonic(), _Waits()
    found: Dict[str, Any] = {}
    while found.get("status") not in ENDED:
        sent = time.monotonic()
        try:
            found = run.refresh()
            answered = time.monotonic()
        except ServerError as err:
            if not passes(err, sent, answered):
                raise ServerError(f"{err}\nThis command cannot follow the execution any longer. The execution continues: {run.url}", err.status) from None
        line = _progress(found) if found else previous
        if line != previous:
            print(line, flush=True)
            previous = line
        for line in waits.new(found):
            print(line, flush=True)
        time.sleep(0.3)
    logs.join(timeout=10)  # the last lines arrive after the end
    _end(run, server, found)
    return CODES[str(found["status"])]


class _Waits:
    """What the nodes of an execution wait for. Each reason is shown once."""

    def __init__(self) -> None:
        self._seen: Dict[Tuple[str, str], int] = {}

    def new(self, found: Dict[str, Any]) -> Iterator[str]:
        """Yield a line for an approval, and for another reason that has not passed soon."""
        for node in found.get("nodes") or ():
            reason = node.get("reason") or {}
            key = (str(node["operator"]), str(reason.get("code")))
            if reason.get("message"):
                self._seen[key] = self._seen.get(key, 0) + 1
                if self._seen[key] == (1 if key[1] == "APPROVAL" else _SOON):
                    yield f"          {key[0]} waits{' for your answer on its page' if key[1] == 'APPROVAL' else ''}: {reason['message']}"


def _progress(found: Dict[str, Any]) -> str:
    progress = found.get("progress") or {}
    total, done = progress.get("total_operators", 0), progress.get("completed", 0)
    filled = 24 * done // total if total else 0
    running = ", ".join((progress.get("current_nodes") or ())[:3])
    failed, skipped = progress.get("failed"), progress.get("skipped")
    others = f", {failed} failed{' (allowed)' if found.get('status') == 'SUCCEEDED' else ''}" if failed else ""
    others += f", {skipped} skipped" if skipped else ""
    return f"{found.get('status', ''):<9} [{'#' * filled}{'-' * (24 - filled)}] {done} of {total} nodes{others}  {running}".rstrip()


def _shown(server: Server, value: Any) -> str:
    """Return an output as text: JSON, or the name, the size and the address of a file."""
    if not isinstance(value, dict) or "$artifact" not in value:
        return json.dumps(value, ensure_ascii=False)
    found = server.get(f"/artifacts/{quoted(value['$artifact'])}")
    return f"{found.get('filename') or found['name']} ({found['kind']}, {found['size_bytes']:,} bytes): {server.url}{found['download_url']}"


def _end(run: Run, server: Server, found: Dict[str, Any]) -> None:
    if found["status"] == "SUCCEEDED":
        for name, value in (found.get("outputs") or {}).items():
            print(f"{name} = {_shown(server, value)}")
    else:
        error = found.get("error") or {}
        place = f"{error.get('node')}: " if error.get("node") else ""
        print(f"{place}{error.get('message', '')}".strip(), file=sys.stderr)
    print(run.url, flush=True)


def _logs(run: Run, server: Server) -> None:
    """Print log lines until the stream ends. Continue after the last line if it breaks."""
    last = ""
    while True:
        try:
            path = f"/executions/{quoted(run.id)}/logs/stream"
            with server.open("GET", path, query={"last-event-id": last}, timeout=PATIENCE) as stream:
                event, identity = "", ""
                for raw in stream:
                    field, _, value = raw.decode("utf-8", "replace").rstrip("\n").partition(": ")
                    if field == "id":
                        identity = value
                    elif field == "event":
                        event = value
                    elif field == "data" and event == "end":
                        return
                    elif field == "data":
                        _print(value)
                    elif not field:
                        last, event = identity or last, ""
        except ServerError as err:
            if 400 <= err.status < 500 and err.status != 429:
                print(f"cannot read the log: {err}", file=sys.stderr, flush=True)
                return
        time.sleep(1)


def _print(data: str) -> None:
    for line in json.loads(data):
        at = moment(line["timestamp"]).astimezone()
        print(f"{_clock(at)} {line['level']:<5} {line['node']} | {line['message']}{_fields(line)}", flush=True)


def _fields(line: Dict[str, Any]) -> str:
    """Return the fields that the task logged with a message, such as " rows=3"."""
    found = line.get("fields") if line.get("stream") == "sdk" else None
    return "".join(f" {key}={_field(value)}" for key, value in found.items()) if isinstance(found, dict) else ""


def _field(value: Any) -> str:
    plain = isinstance(value, str) and value and not any(c in " \t\r\n=\"" for c in value)
    return str(value) if plain else json.dumps(value, ensure_ascii=False)


def _clock(at: datetime) -> str:
    return at.strftime("%H:%M:%S.%f")[:-3]
