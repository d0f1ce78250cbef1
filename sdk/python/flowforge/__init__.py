"""Report logs, metrics, progress, outputs and checkpoints of a task to FlowForge.

    from flowforge import client

    for epoch in range(client.inputs["epochs"]):
        client.metric("loss", loss, step=epoch)
        client.status(progress=100 * epoch // epochs)
    client.output("accuracy", 0.97)

The same program runs unchanged outside FlowForge: the client prints messages and keeps
neither outputs nor checkpoints.
"""

from . import types
from ._types import LogLevel, MetricType, TaskStatus
from .client import Client, FlowForgeClient
from .exceptions import FlowForgeError, InputError, OutputError

__all__ = [
    "Client",
    "FlowForgeClient",
    "FlowForgeError",
    "InputError",
    "LogLevel",
    "MetricType",
    "OutputError",
    "TaskStatus",
    "client",
    "types",
]

# This name shadows the module flowforge.client, which you can still import from:
# from flowforge.client import FlowForgeClient.
client: Client = Client.from_env()
