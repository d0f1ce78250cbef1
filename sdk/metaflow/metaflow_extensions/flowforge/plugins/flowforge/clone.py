"""Copies the tasks that a resumed execution reuses to its own run."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, List
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
    found = _ask(Request(url, headers=json.loads(os.environ["METAFLOW_SERVICE_HEADERS"])))
    return Reused(str(found.get("origin") or ""), list(found.get("tasks") or ()))


_PAUSES = (0.5, 1, 2, 4, 8, 15, 30, 30)  # seconds, between requests to a server that does not answer


def _ask(request: Request) -> Any:
    """Return the answer of the server. A server that restarts is asked again."""
    for pause in (*_PAUSES, None):
        try:
            with urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except HTTPError as err:
            with err:
                said = f"the server answered {err.code}: {err.read(500).decode('utf-8', 'replace')}"
            if err.code < 500 and err.code != 429:
                break
        except (OSError, HTTPException, ValueError) as err:  # no connection, or an answer that ends early
            said = str(err)
        if pause is None:
            break
        print(f"{request.full_url}: {said}. Retrying in {pause} s.", file=sys.stderr)
        time.sleep(pause)
    raise RuntimeError(f"{request.full_url}: {said}")


def missing(obj: Any, run: str, found: Reused) -> None:
    """Copy all reused tasks that the run does not have, with their parameters."""
    from metaflow.clone_util import clone_task_helper

    obj.metadata.register_run_id(run, [])
    for path in found.tasks:
        origin, step, task = path.split("/")
        for name, ident in ((step, task), ("_parameters", f"{task}-params")):
            source = f"{origin}/{name}/{ident}"
            if name == "_parameters" and not _done(obj, source):
                continue  # only the first step has parameters
            if not _done(obj, f"{run}/{name}/{ident}"):
                clone_task_helper(obj.flow.name, origin, run, name, ident, ident, obj.flow_datastore, obj.metadata)


def _done(obj: Any, path: str) -> bool:
    return bool(obj.flow_datastore.get_task_datastores(pathspecs=[path], allow_not_done=False))
