"""Outputs of an execution as values of Python."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, Optional

from . import _contained, _download, _handles
from ._api import Server, quoted
from ._schema import Type
from .exceptions import NotFoundError

_KINDS = {c.kind: c for c in (_handles.Dataset, _handles.Model, _handles.Table, _handles.Image, _handles.Report)}


class Outputs(Dict[str, Any]):
    """Outputs by name."""

    def __missing__(self, name: str) -> Any:
        raise NotFoundError(f"there is no output {name!r}; the outputs are: {', '.join(self) or 'none'}")


def read(server: Server, t: Optional[Type], value: Any) -> Any:
    """Return an output with its declared type, if that is known. Files are downloaded once, and are handles that refer to their artifacts."""
    if t is None:
        return _replaced(value, lambda artifact: _handle(server, artifact))
    if not t.holds_blob:
        return t.decode(value)
    artifacts: Dict[str, str] = {}  # by path

    def fetch(artifact: str) -> str:
        path = str(_download.artifact(server, server.get(f"/artifacts/{quoted(artifact)}")))
        artifacts[path] = artifact
        return path

    def mark(of: Type, file: Any) -> Any:
        artifact = artifacts.get(os.fspath(file), "") if isinstance(file, _handles.File) else ""
        return _marked(server, file, artifact) if artifact else file

    return _contained.changed(t, t.decode(_replaced(value, fetch)), mark)


def _handle(server: Server, artifact: str) -> _handles.File:
    found = server.get(f"/artifacts/{quoted(artifact)}")
    return _marked(server, _KINDS.get(found["kind"], _handles.File)(_download.artifact(server, found)), artifact)


def _marked(server: Server, file: _handles.File, artifact: str) -> _handles.File:
    """Let a file refer to its artifact, so that a launch or a registration keeps where it is from."""
    file.artifact = (server.url, artifact)
    return file


def _replaced(value: Any, replace: Callable[[str], Any]) -> Any:
    """Return a JSON value with its references to artifacts replaced."""
    if isinstance(value, dict) and "$artifact" in value:
        return replace(value["$artifact"])
    if isinstance(value, dict):
        return {key: _replaced(part, replace) for key, part in value.items()}
    return [_replaced(part, replace) for part in value] if isinstance(value, list) else value
