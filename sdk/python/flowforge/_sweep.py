"""Sweeps on a server: a workflow launched many times with different inputs."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, TypedDict, Union

from . import _files, _launch, _show
from ._api import Server, passes, quoted
from ._place import error
from ._run import Run, _table
from .exceptions import FlowForgeError, ServerError

if TYPE_CHECKING:
    from ._workflow import Workflow

_ENDED = ("SUCCEEDED", "STOPPED")


class SweepOptions(TypedDict, total=False):
    """The options of a sweep, besides its space."""

    inputs: Optional[Mapping[str, Any]]
    version: str
    name: str
    method: str
    runs: int
    parallelism: int
    metric: str
    output: str
    goal: str
    value: str
    early_stopping: Union[str, Mapping[str, Any], None]
    gpu_hours: float
    seed: int
    tags: Sequence[str]
    note: str


class Sweep:
    """A sweep on the server."""

    def __init__(self, sweep_id: str, server: Optional[Server] = None) -> None:
        self.id = sweep_id
        self._server = server or Server()
        self._path = f"/sweeps/{quoted(sweep_id)}"

    @property
    def url(self) -> str:
        """The page of the sweep."""
        return f"{self._server.url}/sweeps/{self.id}"

    def refresh(self) -> Dict[str, Any]:
        """Fetch and return the current state of the sweep, with up to 10,000 runs, best first."""
        found: Dict[str, Any] = self._server.get(self._path, sort="objective", limit=10_000)
        return found

    @property
    def state(self) -> str:
        """RUNNING, PAUSED, STOPPING, SUCCEEDED or STOPPED."""
        return str(self.refresh()["state"])

    @property
    def best(self) -> Optional[Dict[str, Any]]:
        """The best run so far, with its values and objective, or None."""
        found: Optional[Dict[str, Any]] = self.refresh().get("best")
        return found

    @property
    def best_run(self) -> Optional[Run]:
        """The execution of the best run."""
        best = self.best
        return Run(best["execution_id"], self._server) if best else None

    def runs(self) -> Any:
        """Return the runs as a pandas DataFrame, best first, with one column per parameter.

        A parameter with the name of another column is prefixed, such as inputs.rank.
        """
        found = self.refresh()
        first, last = ["rank", "index", "state", "objective"], ["gpu_hours", "execution_id", "message"]
        names = {p["path"]: f"inputs.{p['path']}" if p["path"] in first + last else p["path"] for p in found["space"]}
        rows: List[Dict[str, Any]] = [{"message": "", **run, **{name: run["values"].get(path) for path, name in names.items()}} for run in found["run_list"]]
        return _table(rows, [*first, *names.values(), *last])

    def wait(self, timeout: Optional[float] = None, poll: float = 1.0) -> Sweep:
        """Wait until the sweep has ended, and return it.

        Raises FlowForgeError if the sweep pauses, and TimeoutError after `timeout` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        found: Dict[str, Any] = {}
        answered = float("-inf")  # the first answer must arrive
        while found.get("state") not in _ENDED:
            sent = time.monotonic()
            try:
                found = self._server.get(self._path, limit=1)
                answered = time.monotonic()
            except ServerError as err:
                if not passes(err, sent, answered):
                    raise
            _raise_if_paused(found)
            if found.get("state") not in _ENDED:
                if deadline is not None and time.monotonic() > deadline:
                    raise TimeoutError(f"the sweep has not ended after {timeout} s: {self.url}")
                time.sleep(poll)
        return self

    def watch(self, block: bool = True) -> Sweep:
        """Show state, best run and objectives in a notebook, update them until the sweep ends, and return the sweep.

        With block=False, the next cells run in the meantime. *Interrupt* ends only the updates.
        Outside notebooks, this is wait(). Raises FlowForgeError if the sweep pauses while this waits.
        """
        from . import _watch

        if not _watch.in_notebook():
            return self.wait()
        found: Dict[str, Any] = {}

        def read() -> Tuple[str, bool]:
            found.update(self.refresh())
            return _show.sweep(self.url, found), found["state"] in (*_ENDED, "PAUSED")

        if _watch.show(read, block) and block:
            _raise_if_paused(found)
        return self

    def pause(self) -> None:
        """Launch no more runs until you call resume()."""
        self._server.call("POST", f"{self._path}/pause")

    def resume(self) -> None:
        """Continue a paused sweep."""
        self._server.call("POST", f"{self._path}/resume")

    def stop(self, cancel: bool = False) -> None:
        """Stop the sweep. Started runs finish, or are cancelled with cancel=True."""
        self._server.post(f"{self._path}/stop", {"running": "cancel" if cancel else "finish"})

    def __repr__(self) -> str:
        state = _show.unless_unreachable(lambda: _show.state(self._server.get(self._path, limit=1)))
        return f"Sweep({self.id}, {state or 'the server does not respond'}, {self.url})"

    def _repr_html_(self) -> Optional[str]:
        """Show link, state, best run and objectives in a notebook."""
        return _show.unless_unreachable(lambda: _show.sweep(self.url, self.refresh()))


def _raise_if_paused(found: Mapping[str, Any]) -> None:
    if found.get("state") == "PAUSED":
        raise FlowForgeError(f"the sweep is paused: {found.get('message', '')}")


def sweep(
    workflow: Union[str, Workflow[Any, Any]],
    space: Mapping[str, Any],
    *,
    inputs: Optional[Mapping[str, Any]] = None,
    version: str = "",
    name: str = "",
    method: str = "random",
    runs: int = 0,
    parallelism: int = 4,
    metric: str = "",
    output: str = "",
    goal: str = "max",
    value: str = "best",
    early_stopping: Union[str, Mapping[str, Any], None] = None,
    gpu_hours: float = 0,
    seed: int = 0,
    tags: Sequence[str] = (),
    note: str = "",
) -> Sweep:
    """Launch a workflow many times with different inputs, and return the sweep.

    `workflow` is the name of a registered workflow, or a function with @workflow, whose code is
    registered if it is new. `space` contains an entry for each input to vary: a list of values, or the result of a
    function in flowforge.search. Use dots to address parts of an input: "optimizer.lr".
    `method` is "grid", "random", "sobol" or "tpe". `metric` or `output` is the objective, and
    `goal` is "max" or "min". `early_stopping` is a rule such as "median", or
    {"rule": "median", "min_step": 5}. The `tags` and the `note` are added to every run. Raises ServerError with the invalid
    fields, and FlowForgeError in a task, because tasks cannot create sweeps.
    """
    if os.environ.get("FLOWFORGE_TASK_ID"):
        raise FlowForgeError("a task cannot create a sweep; vary all inputs in one sweep instead")
    parameters = [_parameter(workflow, path, p) for path, p in space.items()]
    server = Server()
    body: Dict[str, Any] = {
        "version": version,
        **_launch.requested(workflow, inputs or {}, server),
        "name": name,
        "space": parameters,
        "method": method,
        "runs": runs,
        "parallelism": parallelism,
        "gpu_hours": gpu_hours,
        "seed": seed,
        "tags": _files.strings(tags),
        "note": note,
    }
    if metric or output:
        objective = {"metric": metric, "output": output, "goal": goal, "value": value}
        body["objective"] = {key: one for key, one in objective.items() if one}
    if early_stopping:
        body["early_stopping"] = {"rule": early_stopping} if isinstance(early_stopping, str) else dict(early_stopping)
    return Sweep(server.post("/sweeps", body)["id"], server)


def _parameter(workflow: Union[str, Workflow[Any, Any]], path: str, given: Any) -> Dict[str, Any]:
    """Return an entry of the space. The values of a Workflow's input can be those of its type, such as members of an Enum."""
    if isinstance(given, Mapping):
        found = dict(given)
    elif isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise error(f"the space of {path} is {given!r}; use a list of values, or a function of flowforge.search, such as log_range(1e-4, 0.1). Set an input that does not vary in inputs=")
    else:
        found = {"kind": "values", "values": list(given)}
    if not isinstance(workflow, str):
        t = _launch.type_of(workflow, path)
        if "values" in found and not t.holds_blob:
            found["values"] = [t.encode(value) for value in found["values"]]
    return {"path": path, **found}
