"""Tell FlowForge what a task does.

    from flowforge import client

    for epoch in range(client.inputs["epochs"]):
        client.metric("loss", loss, step=epoch)
        client.status(progress=100 * epoch // epochs)
    client.output("accuracy", 0.97)

Outside FlowForge the same program runs as it is: messages are printed, outputs
and checkpoints are not kept.
"""

from ._client import Client
from ._types import LogLevel, MetricType, TaskStatus
from .exceptions import FlowForgeError, InputError, OutputError

__all__ = [
    "Client",
    "FlowForgeError",
    "InputError",
    "LogLevel",
    "MetricType",
    "OutputError",
    "TaskStatus",
    "client",
]

client = Client.from_env()
