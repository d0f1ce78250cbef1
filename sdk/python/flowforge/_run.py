"""Executions on a server, for notebooks and scripts."""

from __future__ import annotations

import html
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from . import _download, _handles
from ._api import Server, passes, quoted
from ._signature import Signature
from ._times import moment
from .exceptions import ExecutionError, FlowForgeError, InputError, NotFoundError, ServerError

if TYPE_CHECKING:
    from ._workflow import Workflow

MAX_POINTS = 10_000  # of one series in an answer of the server
ENDED = ("SUCCEEDED", "FAILED", "CANCELLED")


class Artifact:
    """A file that an execution made."""

    def __init__(self, server: Server, found: Mapping[str, Any]) -> None:
        self._server, self._found = server, found
        self.name, self.node, self.kind = str(found["name"]), str(found["node"]), str(found["kind"])
        self.size = int(found["size_bytes"])
        self.id = str(found.get("artifact_id", ""))

    @property
    def path(self) -> Path:
        """The local path of the file, which is downloaded once."""
        return _download.artifact(self._server, self._found)

    def load(self, *, allow_pickle: bool = False) -> Any:
        """Return the value of the file. Reading a pickle can run code: it needs allow_pickle."""
        return _handles.read(self.path, allow_pickle, self.kind)

    def __repr__(self) -> str:
        return f"Artifact({self.node}.{self.name}: {self.kind}, {self.size} bytes)"


class Run:
    """An execution on the server."""

    def __init__(self, execution_id: str, server: Optional[Server] = None, signature: Optional[Signature] = None) -> None:
        self.id = execution_id
        self._server = server or Server()
        self._signature = signature
        self._last: Dict[str, Any] = {}

    @property
    def url(self) -> str:
        """The page of the execution."""
        return f"{self._server.url}/executions/{self.id}"

    def refresh(self) -> Dict[str, Any]:
        """Fetch and return the current state of the execution."""
        self._last = self._server.get(f"/executions/{quoted(self.id)}")
        return self._last

    @property
    def state(self) -> str:
        """PENDING, RUNNING, PAUSED, SUCCEEDED, FAILED or CANCELLED."""
        if self._last.get("status") not in ENDED:
            self.refresh()
        return str(self._last["status"])

    def wait(self, timeout: Optional[float] = None) -> Run:
        """Wait until the execution ends and return this run.

        Raises ExecutionError if the execution fails or is cancelled, and TimeoutError after
        `timeout` seconds.
        """
        end = None if timeout is None else time.monotonic() + timeout
        pause, answered = 0.1, float("-inf")  # the first answer must arrive
        while True:
            sent = time.monotonic()
            try:
                if self.state in ENDED:
                    break
                answered = time.monotonic()
            except ServerError as err:
                if not passes(err, sent, answered):
                    raise
            if end is not None and time.monotonic() > end:
                raise TimeoutError(f"execution {self.id} is still {self._last['status']} after {timeout} s: {self.url}")
            time.sleep(pause)
            pause = min(pause * 1.3, 2.0)
        self._succeeded()
        return self

    def _succeeded(self) -> None:
        """Raise ExecutionError if the execution failed or was cancelled."""
        if self.state == "SUCCEEDED":
            return
        error = self._last.get("error") or {}
        node, message = str(error.get("node") or ""), str(error.get("message") or "").strip()
        if message.startswith(f"{node}: "):
            message = message[len(node) + 2 :]
        parts = [f"execution {self.id} {self.state}", f"node {node}" if node else "", message]
        raise ExecutionError(": ".join(filter(None, parts)) + f"\n{self.url}", node)

    def cancel(self) -> None:
        """Cancel the execution."""
        self._server.post(f"/executions/{quoted(self.id)}/cancel", {})

    def label(self, add: Sequence[str] = (), remove: Sequence[str] = (), note: Optional[str] = None, name: Optional[str] = None) -> List[str]:
        """Add and remove tags, set the note and the name, and return the tags. An empty note or name removes it."""
        tags = {"add": [add] if isinstance(add, str) else list(add), "remove": [remove] if isinstance(remove, str) else list(remove)}
        change: Dict[str, Any] = {key: value for key, value in tags.items() if value}
        if note is not None:
            change["note"] = note
        if name is not None:
            change["name"] = name
        return list(self._server.post(f"/executions/{quoted(self.id)}/labels", change)["tags"])

    @property
    def outputs(self) -> Dict[str, Any]:
        """The outputs by name, with the types that the workflow declares. Files are handles such as File and Model.

        Reading an output that does not exist raises NotFoundError.
        """
        if self.state not in ENDED:
            raise FlowForgeError(f"execution {self.id} is {self.state}; call wait() before you read its outputs")
        return _Outputs({name: self._output(name, value) for name, value in (self._last.get("outputs") or {}).items()})

    def result(self) -> Any:
        """Return the value that the workflow returns in plain Python. Call wait() first.

        Raises ExecutionError if the execution failed or was cancelled. Raises FlowForgeError if
        you created the run from an ID, because its types are then unknown.
        """
        if self._signature is None or not self._signature.annotated:
            raise FlowForgeError("the result types are known only for a run of launch() with a return annotation; use outputs")
        if self.state in ENDED:
            self._succeeded()
        found, s = self.outputs, self._signature
        values = [found.get(r.name) for r in s.results]
        return None if not values else values[0] if s.single else s.build(values)

    def _output(self, name: str, value: Any) -> Any:
        declared = [r.type for r in self._signature.results if r.name == name] if self._signature else []
        if isinstance(value, dict) and "$artifact" in value:
            found = self._server.get(f"/artifacts/{quoted(value['$artifact'])}")
            path = _download.artifact(self._server, found)
            if declared:
                t = declared[0].inner
                return t.decode(str(path))
            kinds = {c.kind: c for c in (_handles.Dataset, _handles.Model, _handles.Table, _handles.Image, _handles.Report)}
            return kinds.get(found["kind"], _handles.File)(path)
        return declared[0].decode(value) if declared else value

    @property
    def artifacts(self) -> Artifacts:
        """The files that the execution produced, by name or by "node.name".

        Reading an artifact that does not exist raises NotFoundError.
        """
        return Artifacts(self._server, self.id)

    def logs(self, node: str = "", level: str = "") -> str:
        """Return the log as text. Raises InputError if the execution has no such node."""
        path = f"/executions/{quoted(self.id)}/logs"
        with self._server.open("GET", path, query={"format": "text", "node": node, "level": level}) as response:
            text = response.read().decode("utf-8", "replace")
        names = [str(one.get("operator")) for one in self.refresh().get("nodes") or ()] if node and not text.strip() else []
        if names and node.partition("[")[0].partition(".")[0] not in names:
            raise InputError(f"there is no node {node!r}; the nodes are: {', '.join(names)}")
        return text

    def metrics(self, name: str = "", node: str = "") -> Any:
        """Return metrics as a pandas DataFrame with the columns node, attempt, name, step, timestamp and value.

        `timestamp` is a datetime64 in UTC, and `value` is a float, which can be NaN or infinite.
        The server returns at most 10,000 points per series. For longer series, it leaves out
        points, and a warning names these series. Raises FlowForgeError if pandas is not
        installed; metric_points returns a list instead.
        """
        frame = _frame(self._every_point(name, node), ["node", "attempt", "name", "step", "timestamp", "value"])
        return frame.astype({"timestamp": "datetime64[ns, UTC]", "value": "float64"})

    def metric_points(self, name: str = "", node: str = "") -> List[Dict[str, Any]]:
        """Return the points of metrics as a list of dictionaries, with the same limit as metrics().

        `timestamp` is a datetime, and `value` is a float.
        """
        return self._every_point(name, node)

    def _every_point(self, name: str, node: str) -> List[Dict[str, Any]]:
        series = self._series(name, node, MAX_POINTS)
        full = sorted({f"{s['node']} {s['name']}" for s in series if len(s["points"]) >= MAX_POINTS})
        if full:
            warnings.warn(f"the server returns at most {MAX_POINTS:,} points per series and may have left out points of: {', '.join(full)}", stacklevel=3)
        return [
            {"node": s["node"], "attempt": s["attempt"], "name": s["name"], "step": p.get("step"), "timestamp": moment(p["timestamp"]), "value": float(p["value"])}
            for s in series
            for p in s["points"]
        ]

    def _series(self, name: str, node: str, points: int) -> List[Dict[str, Any]]:
        """Return metrics by series. The server reduces longer series to this number of points."""
        found = self._server.get(f"/executions/{quoted(self.id)}/metrics", name=name, node=node, max_points=points)
        return found["series"] or []

    def __repr__(self) -> str:
        return f"Run({self.id}, {self.state}, {self.url})"

    def _repr_html_(self) -> str:
        """Show link, state and curves in a notebook."""
        progress = self.refresh().get("progress") or {}
        done = f"{progress.get('completed', 0)} of {progress.get('total_operators', 0)} nodes"
        head = f'<a href="{html.escape(self.url)}" target="_blank">{html.escape(self.id)}</a> <b>{html.escape(self.state)}</b> {done}'
        return f"<div>{head}{''.join(_curves(self._series('', '', 160)))}</div>"


class _Outputs(Dict[str, Any]):
    def __missing__(self, name: str) -> Any:
        raise NotFoundError(f"there is no output {name!r}; the outputs are: {', '.join(self) or 'none'}")


class Artifacts(Mapping[str, Artifact]):
    """The files of an execution by "node.name". A name alone works if it is unique."""

    def __init__(self, server: Server, execution_id: str) -> None:
        listed = server.pages(f"/executions/{quoted(execution_id)}/artifacts", "artifacts")
        self._found = {f"{a['node']}.{a['name']}": Artifact(server, a) for a in listed}

    def __getitem__(self, name: str) -> Artifact:
        if name in self._found:
            return self._found[name]
        same = [key for key in self._found if key.rpartition(".")[2] == name]
        if len(same) == 1:
            return self._found[same[0]]
        if same:
            raise NotFoundError(f"several nodes produced an artifact {name!r}; select one of {', '.join(sorted(same))}")
        raise NotFoundError(f"there is no artifact {name!r}; the artifacts are: {', '.join(sorted(self._found)) or 'none'}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f"Artifacts({', '.join(sorted(self._found))})"


def launch(
    workflow: Union[str, Workflow[Any, Any]],
    inputs: Optional[Mapping[str, Any]] = None,
    *,
    name: str = "",
    tags: Sequence[str] = (),
    note: str = "",
    priority: Union[str, int] = "",
    preset: str = "",
    cache: Union[str, Mapping[str, Any]] = "",
    ttl: Union[str, Mapping[str, str]] = "",
) -> Run:
    """Launch a workflow and return the run.

    `workflow` is the name of a registered workflow, such as "digits.train", a name with a
    version, such as "digits.train@1.0.0", or a function with @workflow, whose code is registered
    as launch() of it does. For a name, `inputs` are JSON values, as the Python view of the launch
    form shows them. `tags` and `note` label the execution. `priority` is LOW, NORMAL, HIGH or a number from 0
    to 100. `preset` is the name of a preset; `inputs` override its values. `cache` is a mode ("on",
    "off", "refresh") or a mapping with `mode` and `nodes`. `ttl` is a time span such as "30d", or a
    mapping with `after_completion`, `after_success` and `after_failure`. Raises ServerError if the
    server rejects the launch.
    """
    from . import _launch

    server = Server()
    request = _launch.requested(workflow, inputs or {}, server)
    given = {"name": name, "tags": [tags] if isinstance(tags, str) else list(tags), "note": note, "preset": preset, "ttl": ttl, "cache": {"mode": cache} if isinstance(cache, str) and cache else cache}
    request.update({key: value for key, value in given.items() if value})
    if priority != "":
        request["priority"] = priority
    return Run(server.post("/executions", request)["execution_id"], server, None if isinstance(workflow, str) else workflow.signature)


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
    extra = [name.strip() for name in columns]
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
    ids = [one.id if isinstance(one, Run) else one.lstrip("#") for one in executions]
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


def _frame(rows: List[Dict[str, Any]], columns: List[str]) -> Any:
    return _table(rows, columns)


def _table(rows: List[Any], columns: List[str]) -> Any:
    try:
        import pandas
    except ImportError:
        raise FlowForgeError("this returns a DataFrame, and pandas is not installed: pip install pandas") from None
    return pandas.DataFrame(rows, columns=columns)


def _curves(series: List[Dict[str, Any]]) -> Iterator[str]:
    """Yield one small curve for each metric of a node."""
    found: Dict[str, List[float]] = {}
    for s in series:
        numbers = [float(p["value"]) for p in s["points"] if isinstance(p["value"], (int, float))]
        found.setdefault(f"{s['node']} {s['name']}", []).extend(numbers)
    for name, values in sorted(found.items()):
        if len(values) < 2:
            continue
        low, high = min(values), max(values)
        width = 160 / (len(values) - 1)
        path = " ".join(f"{i * width:.1f},{38 - 36 * (v - low) / ((high - low) or 1):.1f}" for i, v in enumerate(values))
        yield (
            f'<figure style="display:inline-block;margin:4px 12px 4px 0"><figcaption>{html.escape(name)} {values[-1]:g}</figcaption>'
            f'<svg width="160" height="40" role="img" aria-label="{html.escape(name)}"><polyline fill="none" stroke="currentColor" points="{path}"/></svg></figure>'
        )
