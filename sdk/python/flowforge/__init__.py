"""Write, run and deploy workflows in Python, and report from tasks.

A task reports logs, metrics, progress, outputs and checkpoints through client:

    from flowforge import client

    for epoch in range(client.inputs["epochs"]):
        client.metric("loss", loss, step=epoch)
        client.status(progress=100 * epoch // epochs)
    client.output("accuracy", 0.97)

The same program also runs outside FlowForge. There, the client prints messages and does not
store outputs or checkpoints.

A workflow is a function that connects operators:

    from flowforge import Dataset, Model, operator, workflow

    @operator(cpu=2, memory="2Gi")
    def train(table: Dataset, lr: float) -> Model: ...

    @workflow(name="digits.search")
    def search(data: Dataset, lr: float = 0.05) -> Model:
        return train(data, lr)

A call of search runs it here; search.launch(...) and `flowforge run flow.py` run it on a
server.
"""

import sys
from typing import TYPE_CHECKING, Any, List

if sys.version_info < (3, 9):
    raise ImportError("flowforge requires Python 3.9 or later, and this is Python %d.%d (%s)" % (*sys.version_info[:2], sys.executable))

from . import types
from ._types import LogLevel, MetricType, TaskStatus
from .client import Client, FlowForgeClient
from .exceptions import DefinitionError, ExecutionError, FlowForgeError, InputError, NotFoundError, OutputError, ServerError

if TYPE_CHECKING:
    from ._constraints import (
        Advanced,
        ConnectionKind,
        CustomType,
        Format,
        Help,
        Hidden,
        Label,
        Length,
        Limits,
        MaxBytes,
        MediaTypes,
        Multiline,
        Option,
        Options,
        OptionsFrom,
        Order,
        Outputs,
        Pattern,
        Placeholder,
        Range,
        RequiredIf,
        Section,
        ShowIf,
        Storage,
        Unit,
    )
    from ._connection import Connection
    from ._approval import approval
    from ._control import foreach, when
    from ._handles import Dataset, Directory, FeatureSet, File, HyperparameterSet, Image, Model, Report, Secret, Table
    from ._operator import Operator, operator
    from ._options import Breaker, Cache, Lock, Retry, RetryBudget, Schedule, Window
    from ._reference import command, grpc, http, sensor, shell, sql, template_ref, workflow_ref
    from ._rules import (
        all_failed,
        any_succeeded,
        completed,
        execution,
        failed,
        length,
        on_exit,
        skipped,
        status,
        succeeded,
    )
    from ._catalogue import CatalogueVersion, dataset, model, register_dataset, register_model
    from ._listing import datasets, inputs, models, schedules, sweeps, versions, workflows
    from ._query import compare, executions
    from ._run import Run, launch
    from ._schema import Columns
    from ._sweep import Sweep, sweep
    from ._workflow import Workflow, workflow

# Tasks that only report import nothing of these modules, so that they start quickly.
_LATER = {
    "_connection": "Connection",
    "_catalogue": "CatalogueVersion dataset model register_dataset register_model",
    "_constraints": "Advanced ConnectionKind CustomType Format Help Hidden Label Length Limits MaxBytes MediaTypes Multiline Option Options OptionsFrom Order "
    "Outputs Pattern Placeholder Range RequiredIf Section ShowIf Storage Unit",
    "_approval": "approval",
    "_control": "foreach when",
    "_handles": "Dataset Directory FeatureSet File HyperparameterSet Image Model Report Secret Table",
    "_listing": "datasets inputs models schedules sweeps versions workflows",
    "_operator": "Operator operator",
    "_options": "Breaker Cache Lock Retry RetryBudget Schedule Window",
    "_reference": "command grpc http sensor shell sql template_ref workflow_ref",
    "_rules": "all_failed any_succeeded completed execution failed length on_exit skipped status succeeded",
    "_query": "compare executions",
    "_run": "Run launch",
    "_schema": "Columns",
    "_sweep": "Sweep sweep",
    "_workflow": "Workflow workflow",
}
_HOME = {name: module for module, names in _LATER.items() for name in names.split()}

__all__ = [
    "Advanced",
    "Breaker",
    "Cache",
    "CatalogueVersion",
    "Client",
    "Columns",
    "Connection",
    "ConnectionKind",
    "CustomType",
    "Dataset",
    "DefinitionError",
    "Directory",
    "ExecutionError",
    "FeatureSet",
    "File",
    "FlowForgeClient",
    "FlowForgeError",
    "Format",
    "Help",
    "Hidden",
    "HyperparameterSet",
    "Image",
    "InputError",
    "Label",
    "Length",
    "Limits",
    "Lock",
    "LogLevel",
    "MaxBytes",
    "MediaTypes",
    "MetricType",
    "Model",
    "Multiline",
    "NotFoundError",
    "Operator",
    "Option",
    "Options",
    "OptionsFrom",
    "Order",
    "OutputError",
    "Outputs",
    "Pattern",
    "Placeholder",
    "Range",
    "Report",
    "RequiredIf",
    "Retry",
    "RetryBudget",
    "Run",
    "Schedule",
    "Secret",
    "Section",
    "ServerError",
    "ShowIf",
    "Storage",
    "Sweep",
    "Table",
    "TaskStatus",
    "Unit",
    "Window",
    "Workflow",
    "all_failed",
    "any_succeeded",
    "approval",
    "client",
    "command",
    "compare",
    "completed",
    "dataset",
    "datasets",
    "execution",
    "executions",
    "failed",
    "foreach",
    "grpc",
    "http",
    "inputs",
    "launch",
    "length",
    "model",
    "models",
    "on_exit",
    "operator",
    "register_dataset",
    "register_model",
    "schedules",
    "sensor",
    "shell",
    "skipped",
    "sql",
    "status",
    "succeeded",
    "sweep",
    "sweeps",
    "template_ref",
    "types",
    "versions",
    "when",
    "workflow",
    "workflow_ref",
    "workflows",
]

# This name shadows the module flowforge.client, which you can still import from:
# from flowforge.client import FlowForgeClient.
client: Client = Client.from_env()
"""The client that tasks use."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        module = _HOME.get(name)
        if module is None:
            raise _unknown(name)
        import importlib

        value = getattr(importlib.import_module(f".{module}", __name__), name)
        globals()[name] = value
        return value

    def _unknown(name: str) -> AttributeError:
        if name.startswith("_"):  # Python looks for modules and special names
            return AttributeError(f"module 'flowforge' has no attribute {name!r}")
        from . import _habits

        return _habits.of_module(name)

    def __dir__() -> List[str]:
        return sorted(__all__)
