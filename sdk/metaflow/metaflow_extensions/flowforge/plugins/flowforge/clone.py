"""Copies the tasks that a resumed execution reuses to its own run."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Dict, List, Tuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen


@dataclass(frozen=True)
class Reused:
    """What an execution took over from an earlier one."""

    origin: str  # the run that this one resumes; "" for none
    tasks: List[str]  # run/step/task


def reused() -> Reused:
    """Ask the server what this execution reuses."""
    url = os.environ["METAFLOW_SERVICE_URL"].rstrip("/") + "/flowforge/reused"
    found = _request(Request(url, headers=json.loads(os.environ["METAFLOW_SERVICE_HEADERS"])))
    return Reused(str(found.get("origin") or ""), list(found.get("tasks") or ()))


_PAUSES = (0.5, 1, 2, 4, 8, 15, 30, 30)  # seconds, between requests to a server that does not respond


def _request(request: Request) -> Any:
    """Return the answer of the server. A server that restarts is asked again."""
    from . import certificates

    for pause in (*_PAUSES, None):
        try:
            with urlopen(request, timeout=60, context=certificates.context()) as answer:
                return json.load(answer)
        except HTTPError as err:
            with err:
                problem = f"the server responded with status {err.code}: {err.read(500).decode('utf-8', 'replace')}"
            if err.code < 500 and err.code != 429:
                break
        except (OSError, HTTPException, ValueError) as err:  # no connection, or an answer that ends early
            problem = str(err)
        if pause is None:
            break
        print(f"{request.full_url}: {problem}. Retrying in {pause} s.", file=sys.stderr)
        time.sleep(pause)
    raise RuntimeError(f"{request.full_url}: {problem}")


# Metadata of the first reused task with which tasks agree on the one that copies.
_CLAIM = "flowforge-copies"
_COPIED = "copied"
_SILENCE = 60_000  # milliseconds after which a task that copies is taken to be gone
_RENEW = 15.0  # seconds between claims of one task
_POLL = 1.0


def missing(obj: Any, run: str, found: Reused, task: str) -> None:
    """Return when the run has copies of all reused tasks. One of the tasks that need them copies."""
    obj.metadata.register_run_id(run, [])
    _, step, first = found.tasks[0].split("/")
    obj.metadata.register_task_id(run, step, first, 0)
    place = (run, step, first)
    claimed = 0.0
    while True:
        if time.monotonic() - claimed > _RENEW:
            _claim(obj, place, task)
            claimed = time.monotonic()
        records = obj.metadata.get_object("task", "metadata", None, None, obj.flow.name, *place) or []
        if any(r["field_name"] == _CLAIM and r["value"] == _COPIED for r in records):
            return
        if elected(records) == task:
            break
        time.sleep(_POLL)
    for path in found.tasks:
        if time.monotonic() - claimed > _RENEW:
            _claim(obj, place, task)
            claimed = time.monotonic()
        _copy(obj, run, path)
    _claim(obj, place, _COPIED)


def elected(records: List[Dict[str, Any]]) -> str:
    """Return the task that copies: the first that claimed it, unless it is silent for a minute.

    Times are those of the server, and a task that waits claims again, so no clocks are compared.
    """
    claims = sorted((r for r in records if r["field_name"] == _CLAIM), key=lambda r: int(r["id"]))
    latest = {r["value"]: int(r["ts_epoch"]) for r in claims}
    now = max(latest.values(), default=0)
    return next((str(r["value"]) for r in claims if now - latest[r["value"]] <= _SILENCE), "")


def _claim(obj: Any, place: Tuple[str, str, str], value: str) -> None:
    from metaflow.metadata_provider import MetaDatum

    obj.metadata.register_metadata(*place, [MetaDatum(field=_CLAIM, value=value, type=_CLAIM, tags=["attempt_id:0"])])


def _copy(obj: Any, run: str, path: str) -> None:
    """Copy a task that the run does not have, with its parameters."""
    from metaflow.clone_util import clone_task_helper

    origin, step, task = path.split("/")
    for name, ident in ((step, task), ("_parameters", f"{task}-params")):
        source = f"{origin}/{name}/{ident}"
        if name == "_parameters" and not _done(obj, source):
            continue  # only the first step has parameters
        if not _done(obj, f"{run}/{name}/{ident}"):
            _copy_logs(obj, run, source)
            clone_task_helper(obj.flow.name, origin, run, name, ident, ident, obj.flow_datastore, obj.metadata)
    for other in _others(obj, path):
        _copy(obj, run, other)


def _copy_logs(obj: Any, run: str, source: str) -> None:
    """Copy the logs of a task, which Metaflow does not. The client finds logs in the run of the task only."""
    from metaflow.mflog import TASK_LOG_SOURCE

    origin, step, task = source.split("/")
    logs = obj.flow_datastore.get_task_datastore(origin, step, task)
    found = {stream: b"".join(data for _, data in logs.load_logs([TASK_LOG_SOURCE], stream)) for stream in ("stdout", "stderr")}
    obj.flow_datastore.get_task_datastore(run, step, task, attempt=0, mode="w").save_logs(TASK_LOG_SOURCE, found)


def _others(obj: Any, path: str) -> List[str]:
    """Return the tasks of @parallel that the attempt of a task also ran."""
    found = obj.flow_datastore.get_task_datastores(pathspecs=[path], allow_not_done=False)
    tasks = (found[0].get("_control_mapper_tasks") if found else None) or ()
    own = ["/".join([path.split("/")[0], *task.split("/")[1:]]) for task in tasks]  # copies have the names of an earlier run
    return [task for task in own if task != path]


def _done(obj: Any, path: str) -> bool:
    return bool(obj.flow_datastore.get_task_datastores(pathspecs=[path], allow_not_done=False))
