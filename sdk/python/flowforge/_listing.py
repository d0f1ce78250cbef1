"""Lists what a project contains, as pandas DataFrames: workflows, sweeps, schedules, models and datasets."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Sequence, Union

from . import _show
from ._api import Server, quoted
from ._run import _table
from ._times import moment
from .exceptions import InputError, NotFoundError

if TYPE_CHECKING:
    from ._workflow import Workflow


def workflows(search: str = "", tag: str = "", limit: int = 100) -> Any:
    """Return the workflows of the project as a pandas DataFrame.

    The columns are name, version (the latest one), description, tags, team, created_at and
    updated_at. `search` is a part of a name, and `tag` is a tag. Raises FlowForgeError if pandas
    is not installed.
    """
    found = _limited(Server().pages("/workflows", "workflows", q=search, tag=tag, limit=min(limit, 100)), limit)
    rows = [{**one, "version": one.get("latest_version"), "team": one.get("owner_team")} for one in found]
    return _frame(rows, ["name", "version", "description", "tags", "team", "created_at", "updated_at"], ["created_at", "updated_at"])


def versions(workflow: Union[str, Workflow[Any, Any]]) -> Any:
    """Return the versions of a workflow as a pandas DataFrame, newest first.

    The columns are version, created_at and nodes, which is the number of nodes. Raises
    NotFoundError if the project has no such workflow.
    """
    found = _workflow(Server(), _name(workflow))
    return _frame(found.get("versions") or [], ["version", "created_at", "nodes"], ["created_at"])


def inputs(workflow: Union[str, Workflow[Any, Any]]) -> Any:
    """Return the inputs of a workflow as a pandas DataFrame, as the launch form shows them.

    `workflow` is a name, or a name with a version, such as "digits.train@1.0.0"; without a
    version, it is the latest one. The columns are name, type, required, default and description.
    Raises NotFoundError if the project has no such workflow or version.
    """
    server = Server()
    name, _, version = _name(workflow).partition("@")
    version = version or str(_workflow(server, name).get("latest_version") or "")
    found = server.find(f"/workflows/{quoted(name)}/versions/{quoted(version)}/ui-schema")
    if found is None:
        _workflow(server, name)
        raise NotFoundError(f"the workflow {name} has no version {version!r}; flowforge.versions({name!r}) lists its versions")
    rows = [{**one, "description": one.get("description", "")} for one in found.get("fields") or ()]
    return _frame(rows, ["name", "type", "required", "default", "description"])


def sweeps(workflow: str = "", state: str = "", limit: int = 50) -> Any:
    """Return sweeps as a pandas DataFrame, newest first.

    `state` is RUNNING, PAUSED, STOPPING, SUCCEEDED or STOPPED. The columns are sweep_id, name,
    workflow, version, state, method, runs, objective, best (the best value so far), best_run (its
    execution) and created_at. Sweep(sweep_id) is the sweep itself. Raises FlowForgeError if pandas
    is not installed.
    """
    rows: List[Dict[str, Any]] = []
    for one in _limited(_after("/sweeps", "sweeps", "before", workflow=workflow, state=state, limit=min(limit, 100)), limit):
        best = one.get("best") or {}
        optimized = _show.objective(one) if one.get("objective") else None
        rows.append({**one, "sweep_id": one["id"], "objective": optimized, "best": best.get("objective"), "best_run": best.get("execution_id")})
    names = ["sweep_id", "name", "workflow", "version", "state", "method", "runs", "objective", "best", "best_run", "created_at"]
    return _frame(rows, names, ["created_at"])


def schedules(workflow: str = "") -> Any:
    """Return the schedules of the project as a pandas DataFrame.

    The columns are schedule_id, workflow, name, when, timezone, paused, last_fire_at, next_fire_at
    and message. Raises FlowForgeError if pandas is not installed.
    """
    rows = [
        {**one, "schedule_id": one["id"], "paused": bool(one.get("paused")), "when": one.get("when") or one.get("cron") or one.get("every")}
        for one in _after("/schedules", "schedules", "after", workflow=workflow)
    ]
    names = ["schedule_id", "workflow", "name", "when", "timezone", "paused", "last_fire_at", "next_fire_at", "message"]
    return _frame(rows, names, ["last_fire_at", "next_fire_at"])


def models(search: str = "", where: str = "", limit: int = 50) -> Any:
    """Return versions of models in the catalogue as a pandas DataFrame, newest first.

    `search` is a part of a name, and `where` contains conditions such as "accuracy >= 0.9". The
    columns are name, version, ref, framework, tags, size, created_at, and one column for each
    metric, such as metrics.accuracy. model(ref) is the version itself. Raises FlowForgeError if
    pandas is not installed.
    """
    return _entries("/models", "framework", search, where, limit)


def datasets(search: str = "", where: str = "", limit: int = 50) -> Any:
    """Return versions of datasets in the catalogue as a pandas DataFrame, newest first.

    `search` is a part of a name, and `where` contains conditions. The columns are name, version,
    ref, rows, tags, size and created_at. dataset(ref) is the version itself. Raises FlowForgeError
    if pandas is not installed.
    """
    return _entries("/datasets", "rows", search, where, limit)


def _entries(path: str, own: str, search: str, where: str, limit: int) -> Any:
    rows: List[Dict[str, Any]] = []
    metrics: List[str] = []
    for one in _limited(Server().pages(path, "entries", q=search, where=where, limit=min(limit, 100)), limit):
        numbers = {f"metrics.{name}": value for name, value in (one.get("metrics") or {}).items()}
        metrics += [name for name in numbers if name not in metrics]
        rows.append({**one, "size": one.get("size_bytes"), **numbers})
    return _frame(rows, ["name", "version", "ref", own, "tags", "size", "created_at", *metrics], ["created_at"])


def _after(path: str, key: str, cursor: str, **query: Any) -> Iterable[Any]:
    """Iterate over all items of a list whose pages continue after an item."""
    server, place = Server(), ""
    while True:
        answer = server.get(path, **{cursor: place}, **query)
        yield from answer.get(key) or ()
        place = answer.get("next") or ""
        if not place:
            return


def _limited(found: Iterable[Any], limit: int) -> Iterable[Any]:
    return itertools.islice(found, limit)


def _name(workflow: Union[str, Workflow[Any, Any]]) -> str:
    name = workflow if isinstance(workflow, str) else getattr(workflow, "name", None)
    if not isinstance(name, str):
        raise InputError(f"{workflow!r} is not a workflow: use a function with @workflow, or the name of a registered workflow")
    return name


def _workflow(server: Server, name: str) -> Mapping[str, Any]:
    found: Any = server.find(f"/workflows/{quoted(name)}")
    if found is None:
        raise NotFoundError(f"the project has no workflow {name!r}; flowforge.workflows() lists its workflows")
    return found  # type: ignore[no-any-return]


def _frame(rows: Sequence[Mapping[str, Any]], columns: List[str], times: Sequence[str] = ()) -> Any:
    """Return a DataFrame. Times are datetime64 in UTC."""
    read = [{name: moment(row[name]) if name in times and row.get(name) else row.get(name) for name in columns} for row in rows]
    return _table(read, columns).astype({name: "datetime64[ns, UTC]" for name in times})
