"""Names of runs, tasks and workflows."""

from __future__ import annotations

import hashlib
import re

RUN = "flowforge-"
_LONGEST = 96  # of a task; it is the name of a folder


def run_id(execution: str) -> str:
    """Return the ID of the run of an execution."""
    return RUN + execution


def execution_of(run: str) -> str:
    """Return the execution of a run, or "" for runs of others."""
    name = run.rpartition("/")[2]
    return name[len(RUN) :] if name.startswith(RUN) else ""


def task_id(node: str) -> str:
    """Return the ID of the task of a node: the same in every attempt and in resumed executions.

    Names of nodes such as each-work[2]/score contain no dots, so different nodes have different IDs.
    """
    name = re.sub(r"\[(\d+)\]", r".\1", node).replace("/", ".")
    if len(name) <= _LONGEST:
        return name
    return name[: _LONGEST - 33] + "." + hashlib.sha256(node.encode()).hexdigest()[:32]


def workflow_name(name: str) -> str:
    """Return a name of a flow as the name of a workflow."""
    found = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).lstrip("._-")
    if len(found) > 128:
        found = found[:119] + "-" + hashlib.sha256(name.encode()).hexdigest()[:8]
    return found
