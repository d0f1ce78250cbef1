"""Tell FlowForge what a task does.

    from flowforge import client

    for epoch in range(client.inputs["epochs"]):
        client.metric("loss", loss, step=epoch)
        client.status(progress=100 * epoch // epochs)
    client.output("accuracy", 0.97)

Outside FlowForge the same program runs as it is: messages are printed, outputs
and checkpoints are not kept.
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

# The client of this process takes the place of the module of that name, which stays
# importable: from flowforge.client import FlowForgeClient.
client: Client = Client.from_env()
