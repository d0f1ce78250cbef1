"""Executions on a server, for notebooks and scripts."""

from __future__ import annotations

import re
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _download, _files, _handles, _outputs, _show
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
    def artifact(self) -> Tuple[str, str]:
        """The address of the server and the ID."""
        return self._server.url, self.id

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

    def follow(self) -> Run:
        """Print the progress and the log until the execution ends, as `flowforge run` does, and return this run.

        Ctrl-C, or an interrupt of the notebook, ends only the printing. Raises ExecutionError if
        the execution fails or is cancelled.
        """
        from . import _follow

        if _follow.follow(self, self._server) != _follow.INTERRUPTED:
            self._succeeded()
        return self

    def watch(self, block: bool = True) -> Run:
        """Show state, error and curves in a notebook, update them until the execution ends, and return this run.

        With block=False, the next cells run in the meantime. *Interrupt* ends only the updates.
        Outside notebooks, this is follow(). Raises ExecutionError if the execution fails or is
        cancelled while this waits.
        """
        from . import _watch

        if not _watch.in_notebook():
            return self.follow()

        def read() -> Tuple[str, bool]:
            found = self.refresh()
            return self._html(found), found["status"] in ENDED

        if _watch.show(read, block) and block:
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

    def resume(self, inputs: Optional[Mapping[str, Any]] = None, *, from_node: str = "", workflow: Optional[Workflow[Any, Any]] = None) -> Run:
        """Continue an execution that has ended, and return the new run.

        Nodes that succeeded do not run again, unless their code or their inputs differ. The others
        start from their last checkpoint. `inputs` replaces inputs by JSON values. `from_node` is
        the node to run again, which an execution that succeeded requires. With `workflow`, the
        new run has the current code of this function. Raises ServerError if the server rejects
        the request.
        """
        from . import _launch

        body: Dict[str, Any] = {"override_inputs": _launch.json_inputs(self._server, inputs or {})}
        if from_node:
            body["from_node"] = from_node
        if workflow is not None:
            body["version"] = _launch.develop(workflow, self._server).version
        answer = self._server.post(f"/executions/{quoted(self.id)}/resume", body)
        return Run(answer["execution_id"], self._server, workflow.signature if workflow is not None else self._signature)

    def approve(self, node: str = "approval", values: Optional[Mapping[str, Any]] = None, reason: str = "") -> None:
        """Answer an approval. `values` are the fields of its form, as JSON values."""
        self._answer("approve", node, {"values": dict(values or {})}, reason)

    def reject(self, node: str = "approval", reason: str = "") -> None:
        """Reject an approval. Its node fails."""
        self._answer("reject", node, {}, reason)

    def _answer(self, command: str, node: str, values: Mapping[str, Any], reason: str) -> None:
        self._server.post(f"/executions/{quoted(self.id)}/commands", {"node": node, "command": command, "reason": reason, **values})

    def label(self, add: Sequence[str] = (), remove: Sequence[str] = (), note: Optional[str] = None, name: Optional[str] = None) -> List[str]:
        """Add and remove tags, set the note and the name, and return the tags. An empty note or name removes it."""
        tags = {"add": _files.strings(add), "remove": _files.strings(remove)}
        change: Dict[str, Any] = {key: value for key, value in tags.items() if value}
        if note is not None:
            change["note"] = note
        if name is not None:
            change["name"] = name
        return list(self._server.post(f"/executions/{quoted(self.id)}/labels", change)["tags"])

    @property
    def inputs(self) -> Dict[str, Any]:
        """The inputs by name, as JSON values. They include defaults."""
        return dict((self._last or self.refresh()).get("inputs") or {})

    def nodes(self) -> Any:
        """Return the nodes as a pandas DataFrame, with those of fan-outs and sub-workflows.

        The columns are node, state, attempt, cached, started_at, finished_at and message. Times
        are datetime64 in UTC. Raises FlowForgeError if pandas is not installed.
        """
        rows = [
            {
                "node": one["operator"], "state": one["status"], "attempt": one.get("attempt"), "cached": (one.get("origin") or {}).get("use") == "CACHED",
                **{name: moment(one[name]) if one.get(name) else None for name in ("started_at", "finished_at")}, "message": (one.get("error") or {}).get("message", ""),
            }
            for one in self._server.pages(f"/executions/{quoted(self.id)}/nodes", "nodes", all="true")
        ]  # fmt: skip
        frame = _frame(rows, ["node", "state", "attempt", "cached", "started_at", "finished_at", "message"])
        return frame.astype({"started_at": "datetime64[ns, UTC]", "finished_at": "datetime64[ns, UTC]"})

    @property
    def outputs(self) -> Dict[str, Any]:
        """The outputs by name, with the types that the workflow declares. Files are handles such as File and Model.

        Reading an output that does not exist raises NotFoundError.
        """
        if self.state not in ENDED:
            raise FlowForgeError(f"execution {self.id} is {self.state}; call wait() before you read its outputs")
        types = {r.name: r.type for r in self._signature.results} if self._signature else {}
        return _outputs.Outputs({name: _outputs.read(self._server, types.get(name), value) for name, value in (self._last.get("outputs") or {}).items()})

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
        if not text.strip():
            self._check_node(node)
        return text

    def _check_node(self, node: str) -> None:
        """Raise InputError if the execution has no such node."""
        names = [str(one.get("operator")) for one in self.refresh().get("nodes") or ()] if node else []
        if names and re.split(r"[\[./]", node)[0] not in names:
            raise InputError(f"there is no node {node!r}; the nodes are: {', '.join(names)}")

    def metrics(self, name: str = "", node: str = "") -> Any:
        """Return metrics as a pandas DataFrame with the columns node, attempt, name, step, timestamp and value.

        `timestamp` is a datetime64 in UTC, and `value` is a float, which can be NaN or infinite.
        The server returns at most 10,000 points per series. For longer series, it leaves out
        points, and a warning names these series. Without points with this name, a warning lists the
        metrics of the execution. Raises InputError if the execution has no such node, and
        FlowForgeError if pandas is not installed; metric_points returns a list instead.
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
        if not series:
            self._check_node(node)
        if name and not series:
            others = sorted({str(s["name"]) for s in self._series("", node, 2)})
            warnings.warn(f"execution {self.id} has no metric {name!r}; its metrics are: {', '.join(others) or 'none'}", stacklevel=3)
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
        return f"Run({self.id}, {_show.unless_unreachable(lambda: self.state) or 'the server does not respond'}, {self.url})"

    def _repr_html_(self) -> Optional[str]:
        """Show link, state, error and curves in a notebook."""
        return _show.unless_unreachable(lambda: self._html(self.refresh()))

    def _html(self, found: Mapping[str, Any]) -> str:
        return _show.run(self.url, found, self._series("", "", 160))


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
    form shows them, files of a run such as run.artifacts["model"], or entries of the catalogue.
    `tags` and `note` label the execution. `priority` is LOW, NORMAL, HIGH or a number from 0 to
    100. `preset` is the name of a preset; `inputs` override its values. `cache` is a mode ("on",
    "off", "refresh") or a mapping with `mode` and `nodes`. `ttl` is a time span such as "30d", or a
    mapping with `after_completion`, `after_success` and `after_failure`. Raises ServerError if the
    server rejects the launch.
    """
    from . import _launch

    server = Server()
    request = _launch.requested(workflow, inputs or {}, server)
    given = {"name": name, "tags": _files.strings(tags), "note": note, "preset": preset, "ttl": ttl, "cache": {"mode": cache} if isinstance(cache, str) and cache else cache}
    request.update({key: value for key, value in given.items() if value})
    if priority != "":
        request["priority"] = priority
    return Run(server.post("/executions", request)["execution_id"], server, None if isinstance(workflow, str) else workflow.signature)


def _frame(rows: List[Dict[str, Any]], columns: List[str]) -> Any:
    return _table(rows, columns)


def _table(rows: List[Any], columns: List[str]) -> Any:
    try:
        import pandas
    except ImportError:
        raise FlowForgeError("this returns a DataFrame, and pandas is not installed: pip install pandas") from None
    return pandas.DataFrame(rows, columns=columns)

