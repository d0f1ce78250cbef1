"""The client that tasks use."""

from __future__ import annotations

import atexit
import json
import math
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Set, Union

from . import _encoding, _files, _formats, _streams
from ._config import Config
from ._sender import Sender
from ._signals import flush_on_sigterm, save_on_exception
from ._transport import Refused, Transport, Unreachable
from ._types import LogLevel, MetricType, TaskStatus
from .exceptions import InputError


class Client:
    """Reports the progress and the results of one task. Instances are thread-safe.

    The client sends reports in batches in the background and retries until the server
    accepts them. When the program exits, it waits a few seconds for the last reports.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._sender: Optional[Sender] = None
        self._inputs: Optional[Dict[str, Any]] = None
        self._lock = threading.Lock()
        self._on_preempt: List[Callable[[], None]] = []
        self._on_failure: List[Callable[[], None]] = []
        self._advice: Set[str] = set()

    @classmethod
    def from_env(cls) -> Client:
        """Return a client for the task that runs in this process."""
        return cls(Config.from_env())

    @property
    def inside(self) -> bool:
        """Whether this process runs as a FlowForge task."""
        return self._config.inside

    @property
    def attempt(self) -> int:
        """The number of this attempt: 1, then 2 after a retry. Outside FlowForge, it is 1."""
        return self._config.attempt

    @property
    def inputs(self) -> Dict[str, Any]:
        """The typed inputs by name. Files and folders are local paths."""
        if self._inputs is None:
            self._inputs = _files.read_inputs(self._config)
        return self._inputs

    def input_path(self, name: str) -> Path:
        """Return the path of a file or folder input.

        Raises InputError if the input does not exist or is not a file.
        """
        return _files.input_path(self.inputs, name)

    def log(self, message: str, level: Union[str, LogLevel] = LogLevel.INFO, **fields: Any) -> None:
        """Write a log line. Fields, such as rows=3, follow the message and are searchable."""
        if isinstance(message, Mapping) and message and all(isinstance(value, (int, float)) for value in message.values()):
            self._once("client.log writes text, so these numbers are not metrics. Use client.metrics({…}, step=…).")
        name = level.value if isinstance(level, LogLevel) else str(level).upper()
        name = {"WARNING": "WARN", "CRITICAL": "ERROR", "FATAL": "ERROR"}.get(name, name)
        if not self.inside:
            extra = "".join(f" {key}={value}" for key, value in fields.items())
            print(f"{name} {message}{extra}", flush=True)
            return
        entry = {"timestamp": _now(), "level": name, "message": str(message), "stream": "sdk"}
        if self._config.rank is not None:
            fields = {"rank": self._config.rank, **fields}
        if fields:
            entry["extra"] = _encoding.fields(fields)
        self._sending().add("logs", entry)

    def metric(
        self,
        name: str,
        value: float,
        metric_type: Union[str, MetricType] = MetricType.GAUGE,
        tags: Optional[Mapping[str, str]] = None,
        *,
        step: Optional[int] = None,
    ) -> None:
        """Record a point of a metric. `step` is its position on the axis, such as the epoch.

        Raises ValueError without a name, or if the step has more than 64 bits.
        """
        if not name:
            raise ValueError("a metric needs a name")
        if isinstance(metric_type, int) and step is None:  # metric("loss", loss, epoch), as other trackers have it
            step, metric_type = metric_type, MetricType.GAUGE
        number = _encoding.number(value)
        if step is not None and not -(1 << 63) <= int(step) < 1 << 63:
            raise ValueError(f"the step {step} of the metric {name!r} has more than 64 bits")
        kind = metric_type.value if isinstance(metric_type, MetricType) else str(metric_type)
        if not self.inside:
            _refuse_in_workflow("metric")
            at = "" if step is None else f" step={step}"
            print(f"METRIC {name}={value}{at}", flush=True)
            return
        entry: Dict[str, Any] = {"timestamp": _now(), "name": name, "type": kind, "value": number}
        if self._config.rank is not None:
            tags = {"rank": str(self._config.rank), **(tags or {})}
        if tags:
            entry["tags"] = {str(key): str(text) for key, text in tags.items()}
        if step is not None:
            entry["step"] = str(int(step))
        self._sending().add("metrics", entry)

    def metrics(self, values: Mapping[str, Any], *, step: Optional[int] = None, prefix: str = "") -> None:
        """Record a point of several metrics: client.metrics({"loss": 0.3, "accuracy": 0.9}, step=epoch).

        `prefix` is added to their names, such as "val_". Nested dictionaries have names with dots.
        """
        for name, value in values.items():
            if isinstance(value, Mapping):
                self.metrics(value, step=step, prefix=f"{prefix}{name}.")
            else:
                self.metric(f"{prefix}{name}", value, step=step)

    def status(
        self,
        status: Union[str, TaskStatus] = TaskStatus.RUNNING,
        message: Optional[str] = None,
        progress: Optional[float] = None,
        details: Optional[Mapping[str, Any]] = None,
        **more: Any,
    ) -> None:
        """Report the progress of the task: a short message and a percentage.

        FlowForge stores `details` and all other keyword arguments with the message.
        """
        if isinstance(message, (int, float)):  # the earlier form status("RUNNING", 50)
            message, progress = (progress if isinstance(progress, str) else None), message
        message = message or ""
        more = {**(details or {}), **more}
        name = status.value if isinstance(status, TaskStatus) else str(status)
        done = math.nan if progress is None else float(progress)
        percent = None if math.isnan(done) else int(max(0, min(100, done)))
        if not self.inside:
            _refuse_in_workflow("status")
            shown = "" if percent is None else f"{percent} % "
            print(f"STATUS {name} {shown}{message}".rstrip(), flush=True)
            return
        update = {**self._task(), "status": name, "message": message, "timestamp": _now()}
        if percent is not None:
            update["progress"] = percent
        if more:
            update["details"] = _encoding.fields(more)
        self._sending().replace("UpdateStatus", update)

    def output(
        self,
        key: str = "",
        value: Any = None,
        *,
        name: str = "",
        metadata: Optional[Mapping[str, Any]] = None,
    ) -> None:
        """Set an output: a JSON-serializable value, or a Path to a file or folder.

        `name` is an alias of `key`. The page of a file's artifact shows `metadata`, such as
        {"accuracy": 0.92, "framework": "pytorch"}. Raises OutputError if the output cannot be
        written.
        """
        key = key or name
        if not self.inside:
            _refuse_in_workflow("output")
            print(f"OUTPUT {key}={value}", flush=True)
            return
        _files.write_output(self._config, key, value)
        if metadata is not None:
            _files.write_metadata(self._config, key, metadata)

    def describe(self, metadata: Mapping[str, Any], output: str = "result") -> None:
        """Set the metadata of an output, such as {"accuracy": 0.97, "framework": "sklearn"}.

        `output` is the name of the output; an operator's return value is "result". The
        artifact's page shows the metadata, searches find it, and a model that you register from
        the artifact inherits it. Raises OutputError if the metadata cannot be written.
        """
        if not self.inside:
            _refuse_in_workflow("describe")
            print(f"METADATA {output} {json.dumps(dict(metadata), default=str)}", flush=True)
            return
        _files.write_metadata(self._config, output, metadata)

    def save(self, name: str, value: Any, format: Optional[str] = None) -> Path:
        """Save a value as the file of an output, in a suitable format.

        The default format is Arrow for pandas and pyarrow tables (Parquet with zstd for large
        ones), NPZ for NumPy arrays and dictionaries of arrays, torch's own format for torch
        objects, raw for bytes, and JSON for everything else. To choose a different format, set
        `format` to arrow, parquet, npz, npy, torch, pickle, json or raw. Returns the path of
        the file. Raises OutputError if the value cannot be written.
        """
        return _formats.write(value, _files.output_path(self._config, name).parent, name, format)

    def load(self, name: str, *, allow_pickle: bool = False) -> Any:
        """Return the value of an input. If the input is a file, read the value from it.

        Reading a pickle can run code, so load reads pickles only with allow_pickle.
        Raises InputError if the input does not exist or its file cannot be read.
        """
        value = self.inputs.get(name)
        if isinstance(value, str) and os.path.isabs(value) and _files.is_pipe(value):
            raise InputError(f"the input {name!r} is still being written: iterate over client.items({name!r}), or open client.input_path({name!r})")
        if name in self.inputs and not (isinstance(value, str) and os.path.isabs(value) and os.path.isfile(value)):
            return value
        return _formats.read(_files.input_path(self.inputs, name), name, allow_pickle)

    def writer(self, name: str) -> _streams.Writer:
        """Write an output item by item: with client.writer("rows") as rows: rows.write(item).

        The file contains the items as JSON, one per line. Each item is written immediately.
        With storage: streaming, another operator can read the items at the same time with
        client.items. Raises OutputError if the file cannot be written.
        """
        return _streams.Writer(_files.output_path(self._config, name + ".jsonl"), name)

    def write_items(self, name: str, items: Iterable[Any]) -> int:
        """Write all items, for example from a generator, to an output and return their number."""
        number = 0
        with self.writer(name) as rows:
            for number, item in enumerate(items, 1):
                rows.write(item)
        return number

    def items(self, name: str) -> Iterator[Any]:
        """Iterate over the items of an input, even while another operator is still writing it.

        The iteration ends when the writer has finished. An input that is still being written
        can be read only once. Raises InputError if the input does not exist or does not contain
        JSON lines.
        """
        return _streams.items(_files.input_path(self.inputs, name), name)

    def output_path(self, name: str) -> Path:
        """Return the path for the file or folder of an output."""
        path = _files.output_path(self._config, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    @property
    def checkpoint_dir(self) -> Path:
        """A folder that FlowForge keeps for the next attempt of this task."""
        folder = self._config.checkpoints or Path("flowforge-checkpoints")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def checkpoint(self, data: Any) -> None:
        """Save JSON-serializable data for the next attempt of this task."""
        text = _files.save_checkpoint(self._config, data)
        if not self.inside:
            _refuse_in_workflow("checkpoint")
            return
        self._sending().replace("SaveCheckpoint", {**self._task(), "data": text, "timestamp": _now()})

    def get_checkpoint(self) -> Optional[Any]:
        """Return the last checkpoint of an earlier attempt, or None."""
        if not self.inside:
            return None
        found = _files.load_checkpoint(self._config)
        if found is not None:
            return found
        try:
            answer = Transport(self._config).call("GetCheckpoint", self._task(), timeout=5.0)
            return json.loads(answer["data"]) if answer.get("data") else None
        except (Unreachable, Refused, ValueError):
            return None

    @property
    def preempted(self) -> bool:
        """Whether FlowForge is preempting this task to release its resources.

        Save a checkpoint and exit. FlowForge runs the task again later, with the checkpoint.
        """
        return self._config.preempted is not None and self._config.preempted.exists()

    def on_preempt(self, save: Callable[[], None]) -> Callable[[], None]:
        """Call `save` when FlowForge preempts the task, before the task ends.

        `save` runs in a separate thread while the main thread is suspended. It must finish
        within the operator's grace period (30 seconds by default). Call on_preempt from the
        main thread, or use it as a decorator.
        """
        self._on_preempt.append(save)
        if self.inside:
            flush_on_sigterm(self)
        return save

    def on_failure(self, save: Callable[[], None]) -> Callable[[], None]:
        """Call `save` when an exception ends the task, or when the task is stopped.

        The next attempt and a resumed execution receive the checkpoint that `save` writes.
        sys.exit() does not call `save`. Call on_failure from the main thread, or use it as a
        decorator.
        """
        self._on_failure.append(save)
        if self.inside and len(self._on_failure) == 1:
            flush_on_sigterm(self)
            save_on_exception(self)
        return save

    def _save_stopped(self) -> None:
        self._save("on_preempt", self._on_preempt if self.preempted else [])
        if not (self.preempted and self._on_preempt):
            self._save("on_failure", self._on_failure)

    def _save(self, name: str, saves: List[Callable[[], None]]) -> None:
        for save in saves:
            try:
                save()
            except Exception as problem:  # the next callback may still succeed
                print(f"flowforge: {name}: {problem!r}", file=sys.stderr, flush=True)

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until all reports have been sent. Return False after `timeout` seconds."""
        return self._sender is None or self._sender.flush(timeout)

    def close(self) -> None:
        """Send the remaining reports. The client does this when the program exits."""
        with self._lock:
            sender, self._sender = self._sender, None
        if sender is not None:
            sender.close()

    def _once(self, advice: str) -> None:
        """Write a warning to the log the first time."""
        if advice not in self._advice:
            self._advice.add(advice)
            self.log(advice, LogLevel.WARN)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            from . import _habits

            raise _habits.of_client(name)

    def _task(self) -> Dict[str, Any]:
        return {"taskId": self._config.task_id, "workflowId": self._config.workflow_id}

    def _sending(self) -> Sender:
        with self._lock:
            if self._sender is None:
                self._sender = Sender(self._config)
                atexit.register(self.close)
                os.register_at_fork(after_in_child=self._after_fork)
                flush_on_sigterm(self)
            return self._sender

    def _after_fork(self) -> None:
        self._lock = threading.Lock()
        if self._sender is not None:
            self._sender.forget()


def _refuse_in_workflow(method: str) -> None:
    """Raise DefinitionError while a workflow is defined: no task would report what its function reports."""
    graph = sys.modules.get("flowforge._graph")  # a task that only reports does not load it
    if graph is not None and graph.tracer() is not None:
        from ._place import error

        raise error(f"client.{method}(…) reports for a task, and a workflow function runs only when the workflow is defined; call it in an operator")


def _now() -> str:
    """Unix milliseconds as a string, because JSON numbers are not exact for 64 bits."""
    return str(time.time_ns() // 1_000_000)
