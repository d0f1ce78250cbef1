"""Calls flowforge.v1.TaskService as JSON over HTTP (the Connect protocol)."""

from __future__ import annotations

import json
from typing import Any, Dict
from urllib.parse import urlsplit

from . import _encoding
from ._config import Config

MAX_MESSAGE = 32 << 20  # bytes that the server accepts


class Unreachable(Exception):
    """The server did not answer, or requested a later retry."""


class Refused(Exception):
    """The server rejected the message permanently."""


class Transport:
    """Makes one call at a time to one server. Instances are not thread-safe."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def call(self, method: str, message: Dict[str, Any], timeout: float) -> Dict[str, Any]:
        """Return the response to message. timeout is in seconds."""
        # Importing http.client takes longer than importing the rest of this package.
        import http.client

        data = _encoding.message(message)
        if len(data) > MAX_MESSAGE:
            raise Refused(f"the message has {len(data)} bytes, more than {MAX_MESSAGE}")
        url = urlsplit(self._config.endpoint)
        secure = url.scheme == "https"
        connection: http.client.HTTPConnection
        if secure:
            context = self._certificates()
            connection = http.client.HTTPSConnection(
                url.hostname or "", url.port, timeout=timeout, context=context
            )
        else:
            connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=timeout)
        headers = {
            "Authorization": "Bearer " + self._config.token,
            "Connect-Protocol-Version": "1",
            "Content-Type": "application/json",
        }
        try:
            path = f"{url.path}/flowforge.v1.TaskService/{method}"
            connection.request("POST", path, data, headers)
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException) as err:
            raise Unreachable(str(err)) from err
        finally:
            connection.close()
        return self._read(response.status, body)

    def _certificates(self) -> Any:
        """Return the TLS context of the configured certificates, or None for the default."""
        config = self._config
        if not config.ca and not config.cert:
            return None
        import ssl

        context = ssl.create_default_context(cafile=config.ca or None)
        if config.cert:
            context.load_cert_chain(config.cert, config.key or None)
        return context

    @staticmethod
    def _read(status: int, body: bytes) -> Dict[str, Any]:
        if status in (408, 425, 429) or status >= 500:
            raise Unreachable(f"status {status}")
        try:
            answer = json.loads(body)
        except ValueError:
            answer = {}
        if not isinstance(answer, dict):
            answer = {}
        if status >= 300:
            raise Refused(str(answer.get("message") or f"status {status}"))
        return answer
