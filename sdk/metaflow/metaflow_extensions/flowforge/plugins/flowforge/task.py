"""Runs one task of a flow in an attempt of FlowForge, after boot.py."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import sys
import termios
import time
from array import array
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Tuple

from metaflow.metaflow_config import MAX_ATTEMPTS
from metaflow.mflog import TASK_LOG_SOURCE
from metaflow.mflog.mflog import decorate
from metaflow.packaging_sys import MFCONTENT_MARKER
from metaflow.unbounded_foreach import UBF_CONTROL

from . import clone, names, package, parameters

_SAVE = 10.0  # seconds between uploads of a log that grows


class Attempt:
    """The information from the runner about this attempt."""

    def __init__(self) -> None:
        with open(os.environ["FLOWFORGE_INPUTS"], encoding="utf-8") as file:
            self.inputs: Dict[str, Any] = json.load(file)
        self.run = names.run_id(os.environ["FLOWFORGE_WORKFLOW_ID"])
        self.task = names.task_id(os.environ["FLOWFORGE_NODE"])
        self.retry = int(os.environ["FLOWFORGE_ATTEMPT"]) - 1  # attempts in the datastore count from 0
        # Attempts that used no retry, such as preempted ones. Older servers do not report them.
        self.free = self.retry - int(os.environ.get("FLOWFORGE_RETRY") or self.retry)

    @property
    def paths(self) -> List[str]:
        """The tasks before this one, as run/step/task."""
        found = self.inputs.get("paths") or []
        return [p for p in ([found] if isinstance(found, str) else found) if p]


def run(ctx: Any, step: str, settings: Dict[str, Any]) -> None:
    """Run the task of a step. Does not return: the process ends as the task ended."""
    attempt = Attempt()
    if attempt.retry >= MAX_ATTEMPTS:
        sys.exit(f"This is attempt {attempt.retry + 1}, with {attempt.free} that did not use a retry. Metaflow reads only the results of the first {MAX_ATTEMPTS}.")
    reused = clone.reused()
    parameters_task = f"{attempt.run}/_parameters/{attempt.task}-params"
    paths = attempt.paths
    begins = not paths or any(not p.startswith(attempt.run + "/") for p in paths)
    if not paths:
        _in_child(lambda: _init(ctx, attempt, settings, parameters_task))
        paths = [parameters_task]
    elif begins:
        _in_child(lambda: clone.missing(ctx.obj, attempt.run, reused, f"{attempt.task}.{attempt.retry}"))
        paths = ["/".join([attempt.run, *p.split("/")[1:]]) for p in paths]
    if begins or not _share_code(ctx.obj, paths[0]):
        _store_code(ctx.obj)
    args = _step_arguments(attempt, step, settings, paths, reused.origin)
    if ctx.obj.graph[step].parallel_step:
        args += [f"--ubf-context={UBF_CONTROL}", "--split-index=0"]
        _workers_use_this_interpreter(ctx.obj.environment)
    stdout, stderr = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        for (reader, writer), target in ((stdout, 1), (stderr, 2)):
            os.dup2(writer, target)
            os.close(reader)
            os.close(writer)
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
        _call(ctx, "step", args)
        return
    for _, writer in (stdout, stderr):
        os.close(writer)
    _supervise(ctx.obj, attempt, step, child, stdout[0], stderr[0])


def _workers_use_this_interpreter(environment: Any) -> None:
    """Metaflow starts the workers of a parallel step with the command python, which Debian does not have."""
    base = getattr(environment, "base_env", environment)
    base.executable = lambda step, default=None: default or sys.executable


def _step_arguments(attempt: Attempt, step: str, settings: Dict[str, Any], paths: Sequence[str], origin: str) -> List[str]:
    listed = os.path.join(os.getcwd(), ".mf_input_paths")
    with open(listed, "w", encoding="utf-8") as file:  # they can be longer than a command line
        file.write(",".join(paths))
    args = [step, f"--run-id={attempt.run}", f"--task-id={attempt.task}", f"--input-paths-filename={listed}", f"--retry-count={attempt.retry}"]
    # Metaflow runs the fallback of @catch in attempts beyond this number.
    args.append(f"--max-user-code-retries={settings['retries'].get(step, 0) + attempt.free}")
    if attempt.inputs.get("index") is not None:
        args.append(f"--split-index={attempt.inputs['index']}")
    if origin:
        args.append(f"--clone-run-id={origin}")
    return args + [f"--tag={tag}" for tag in settings["tags"]]


def _init(ctx: Any, attempt: Attempt, settings: Dict[str, Any], path: str) -> None:
    """Record the run and its parameters, unless an earlier attempt did."""
    run, _, task = path.split("/")
    if ctx.obj.flow_datastore.get_task_datastores(pathspecs=[path], allow_not_done=False):
        return
    given = parameters.arguments(settings["parameters"], attempt.inputs)
    _call(ctx, "init", [f"--run-id={run}", f"--task-id={task}", *(f"--tag={t}" for t in settings["tags"]), *given])


# Variables that name the code package of a task, with their names in what a task stores when it begins.
_CODE = {
    "METAFLOW_CODE_URL": "code_package_url", "METAFLOW_CODE_SHA": "code_package_sha",
    "METAFLOW_CODE_DS": "code_package_ds", "METAFLOW_CODE_METADATA": "code_package_metadata",
}  # fmt: skip


def _share_code(obj: Any, path: str) -> bool:
    """Name the code package of the task before this one. Return False if that task names none."""
    before = obj.flow_datastore.get_task_datastore(*path.split("/"))
    if not before.has_metadata("task_begin"):  # a copy of a reused task
        return False
    begin = before.load_metadata(["task_begin"])["task_begin"]
    found = {variable: begin.get(name) for variable, name in _CODE.items()}
    if not all(found.values()):
        return False
    os.environ.update(found)
    return True


def _store_code(obj: Any) -> None:
    """Store the code package in the datastore of the run, and name it in the metadata of the task."""
    [(url, sha)] = obj.flow_datastore.save_data([package.again(os.getcwd())], len_hint=1)
    with open(MFCONTENT_MARKER, encoding="utf-8") as file:
        version = json.load(file)["version"]
    os.environ.update(
        METAFLOW_CODE_URL=url, METAFLOW_CODE_SHA=sha, METAFLOW_CODE_DS=obj.flow_datastore.TYPE,
        METAFLOW_CODE_METADATA=json.dumps({"version": 0, "archive_format": "tgz", "mfcontent_version": version}),
    )  # fmt: skip


def _call(ctx: Any, name: str, args: Sequence[str]) -> None:
    """Call a command of Metaflow as its command line would."""
    root = ctx.find_root()
    command = root.command.get_command(root, name)
    with command.make_context(name, list(args), parent=root) as inner:
        command.invoke(inner)


def _in_child(work: Callable[[], None]) -> None:
    """Run work in a process of its own, so that it leaves nothing in the flow of this one."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0) if isinstance(end.code, (int, type(None))) else 1
        except BaseException as err:  # the process must not return to the caller's work
            from metaflow.exception import MetaflowException

            if isinstance(err, MetaflowException):
                print(f"{err.headline}: {err.message}", file=sys.stderr)
            else:
                import traceback

                traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if status:
        os._exit(_exit_code(status))


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _supervise(obj: Any, attempt: Attempt, step: str, child: int, stdout: int, stderr: int) -> None:
    """Pass on what the task writes, store it as Metaflow's logs, and end as the task ends."""
    signal.signal(signal.SIGTERM, lambda *_: None)  # the task gets it too, and decides
    signal.signal(signal.SIGINT, lambda *_: None)
    store = obj.flow_datastore.get_task_datastore(attempt.run, step, attempt.task, attempt.retry, mode="w")
    logs = {stdout: _Log("stdout", 1), stderr: _Log("stderr", 2)}
    ended, status, saved = 0, 0, time.monotonic()
    open_pipes = set(logs)
    while open_pipes and not ended:
        for pipe in select.select(list(open_pipes), [], [], 0.2)[0]:
            data = os.read(pipe, 1 << 16)
            if data:
                logs[pipe].write(data)
            else:
                open_pipes.discard(pipe)
        ended, status = os.waitpid(child, os.WNOHANG)
        if time.monotonic() - saved > _SAVE:
            _save(store, logs.values())
            saved = time.monotonic()
    if not ended:
        _, status = os.waitpid(child, 0)
    for pipe in open_pipes:  # a process that the task left behind may write to them forever
        _drain(pipe, logs[pipe])
    for log in logs.values():
        log.end()
    _save(store, logs.values())
    os._exit(_exit_code(status))


def _drain(pipe: int, log: _Log) -> None:
    """Pass on what the pipe holds now: everything that the task wrote before it ended."""
    size = array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, size)
    left = size[0]
    while left:
        data = os.read(pipe, min(left, 1 << 16))
        log.write(data)
        left -= len(data)


class _Log:
    """One stream of the task in a file, with the marks of Metaflow's logs."""

    def __init__(self, name: str, target: int) -> None:
        self.name, self._target = name, target
        self.path = Path(os.getcwd(), f".mf_log_{name}")
        self._file, self._within = self.path.open("wb", buffering=0), False
        self.size, self.saved = 0, 0

    def write(self, data: bytes) -> None:
        _write(self._target, data)
        marked = bytearray()
        for line in _lines(data):
            if not self._within:
                marked += decorate(TASK_LOG_SOURCE, b"")
            marked += line
            self._within = not line.endswith(b"\n")
        self._store(bytes(marked))

    def end(self) -> None:
        """End the last line."""
        if self._within:
            self._store(b"\n")
            self._within = False

    def _store(self, data: bytes) -> None:
        _write(self._file.fileno(), data)
        self.size += len(data)


def _lines(data: bytes) -> List[bytes]:
    """Return the lines with their ends. Only \\n ends a line."""
    *whole, last = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([last] if last else [])


def _write(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]


def _save(store: Any, logs: Any) -> None:
    changed: List[Tuple[Any, int]] = [(log, log.size) for log in logs if log.size != log.saved]
    if not changed:
        return
    try:
        store.save_logs(TASK_LOG_SOURCE, {log.name: log.path for log, _ in changed})
    except Exception as err:  # FlowForge has the log, too
        _write(2, f"The log was not stored in Metaflow's datastore: {err}\n".encode())
        return
    for log, size in changed:
        log.saved = size
