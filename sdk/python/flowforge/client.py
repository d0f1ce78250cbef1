"""The client with the names of the design document."""

from ._client import Client
from ._config import Config

FlowForgeClient = Client

__all__ = ["Client", "Config", "FlowForgeClient"]
