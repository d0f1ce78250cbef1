"""Finds executions and compares them, as pandas DataFrames."""

from __future__ import annotations

import warnings
from typing import Any, Dict, Iterable, List, Sequence, Union

from . import _files
from ._api import Server, quoted
from ._run import Run, _frame, _table
from ._times import moment
from .exceptions import InputError


def executions(workflow: str = "", state: str = "", limit: int = 50, where: str = "", columns: Sequence[str] = (), sort: str = "", view: str = "") -> Any:
    """Return executions as a pandas DataFrame, newest first.

    `workflow` is the name of a workflow, and `state` is a state of an execution. `where`
    contains conditions such as "lr > 0.01 and accuracy >= 0.9 and tag:baseline". `columns` adds
    columns by name, such as "inputs.lr" or "metrics.loss.min". `sort` is the name to sort by; a
    leading "-" sorts in descending order. `view` is the name of a saved view: its conditions
    are added, and its columns and order apply unless you set your own. Times are datetime64 in
    UTC. Raises ServerError for an invalid query, and FlowForgeError if pandas is not installed.
    """
    server = Server()
    names = ["execution_id", "workflow", "version", "status", "name", "created_at", "finished_at"]
    extra = [name.strip() for name in _files.strings(columns)]
    found: List[str] = []
    rows: List[Dict[str, Any]] = []
    query = {"workflow": workflow, "status": state, "where": where, "columns": ",".join(extra), "sort": sort, "view": view}
    for one in server.pages("/executions", "executions", limit=min(limit, 100), **query):
        if len(rows) == limit:
            break
        values = one.get("values") or {}
        found = found or list(values)
        row = {**one, "workflow": one.get("workflow_name") or one.get("workflow")}
        times = {name: moment(row[name]) if row.get(name) else None for name in ("created_at", "finished_at")}
        rows.append({**{name: row.get(name) for name in names}, **times, **values})
    if workflow and not rows and server.find(f"/workflows/{quoted(workflow)}") is None:
        warnings.warn(f"the project has no workflow {workflow!r}", stacklevel=2)
    frame = _frame(rows, names + [name for name in found or extra if name not in names])
    return frame.astype({"created_at": "datetime64[ns, UTC]", "finished_at": "datetime64[ns, UTC]"})


def compare(executions: Iterable[Union[str, Run]], baseline: Union[str, Run] = "", all: bool = False) -> Any:
    """Return executions side by side as a pandas DataFrame with one column per execution.

    `executions` contains 2 to 50 runs, IDs, or ID suffixes. The index consists of section, path
    and statistic ("last", "min" or "max" for metrics, otherwise ""). By default, the DataFrame
    contains only rows that differ. Its attrs contain the ID of the baseline, and deltas: a
    DataFrame with the numeric differences from the baseline. Raises FlowForgeError if pandas is
    not installed.
    """
    listed = [executions] if isinstance(executions, (str, Run)) else executions
    ids = [one.id if isinstance(one, Run) else one.lstrip("#") for one in listed]
    if len(set(ids)) < 2:
        raise InputError(f"compare needs at least 2 different executions, and this list has {len(set(ids))}")
    base = baseline.id if isinstance(baseline, Run) else baseline.lstrip("#")
    found = Server().get("/compare", executions=",".join(ids), baseline=base, all="true" if all else "")
    columns = [e["execution_id"] for e in found["executions"]]
    key = ["section", "path", "statistic"]
    values, deltas = [], []
    for row in found["rows"]:
        place = [row["section"], row["path"], row.get("statistic", "")]
        values.append(place + [cell.get("value") for cell in row["values"]])
        deltas.append(place + [cell.get("delta") for cell in row["values"]])
    frame = _table(values, key + columns).set_index(key)
    frame.attrs["baseline"] = found["baseline"]
    frame.attrs["deltas"] = _table(deltas, key + columns).set_index(key)
    for note in found.get("notes") or []:
        warnings.warn(note, stacklevel=2)
    return frame
