"""Tells FlowForge the result of a task."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from metaflow.decorators import StepDecorator
from metaflow.metadata_provider import MetaDatum
from metaflow.unbounded_foreach import UBF_CONTROL, UBF_TASK

from . import certificates

certificates.install()  # every process of Metaflow imports the decorators


class FlowForgeInternalDecorator(StepDecorator):  # type: ignore[misc]
    name = "flowforge_internal"

    def task_pre_step(
        self, step_name: str, task_datastore: Any, metadata: Any, run_id: str, task_id: str, flow: Any, graph: Any, retry_count: int, retries: int, ubf_context: Any, *_: Any
    ) -> None:
        self._task = f"{run_id}/{step_name}/{task_id}"
        self._reports = ubf_context != UBF_TASK  # the first task of @parallel reports for the others
        if ubf_context == UBF_CONTROL:
            os.environ["METAFLOW_RUNTIME_ENVIRONMENT"] = "local"  # Metaflow then starts the other tasks in this attempt
        tags = [f"attempt_id:{retry_count}"]
        values = {"flowforge-execution": os.environ["FLOWFORGE_WORKFLOW_ID"], "flowforge-node": os.environ["FLOWFORGE_NODE"]}
        metadata.register_metadata(run_id, step_name, task_id, [MetaDatum(field=k, value=v, type=k, tags=tags) for k, v in values.items()])

    def task_exception(self, exception: BaseException, *_: Any) -> bool:
        from flowforge import _failure  # the runner provides the SDK

        whole = exception.__traceback__
        own = whole
        while own is not None and "/.mf_code/" in own.tb_frame.f_code.co_filename:
            own = own.tb_next  # frames of Metaflow that call the step
        _failure.write(exception.with_traceback(own or whole))
        exception.__traceback__ = whole
        return False

    def task_finished(self, step_name: str, flow: Any, graph: Any, is_task_ok: bool, *_: Any) -> None:
        if not is_task_ok or not self._reports:
            return
        if graph[step_name].type == "foreach" and not graph[step_name].parallel_foreach:
            _write("splits", list(range(flow._foreach_num_splits)))
        if graph[step_name].type == "split-switch":
            _write("next", flow._transition[0][0])
        if graph[step_name].parallel_step:
            _write("tasks", flow._control_mapper_tasks)
        _write("task", self._task)


def _write(name: str, value: Any) -> None:
    text = value if isinstance(value, str) else json.dumps(value)
    Path(os.environ["FLOWFORGE_OUTPUTS"], name).write_text(text, encoding="utf-8")
