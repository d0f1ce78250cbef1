"""Versions of models and datasets in the catalogue of a server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _download, _files, _handles
from ._api import Server, quoted
from ._run import Artifact
from .exceptions import InputError

_PATHS = {"Model": "/models", "Dataset": "/datasets"}
_REGISTRIES = {"Model": "/model-registry", "Dataset": "/datasets"}


class CatalogueVersion:
    """A version of a model or a dataset."""

    def __init__(self, kind: str, entry: Mapping[str, Any], server: Server) -> None:
        self._kind = kind
        self._entry = dict(entry)
        self._server = server

    def __repr__(self) -> str:
        return f"<{self._kind} {self.ref}>"

    @property
    def name(self) -> str:
        """The name."""
        return str(self._entry["name"])

    @property
    def version(self) -> str:
        """The version."""
        return str(self._entry["version"])

    @property
    def ref(self) -> str:
        """The reference name@version, which you can use as an input value."""
        return str(self._entry["ref"])

    @property
    def metadata(self) -> Dict[str, Any]:
        """The metadata that the task and the registration set."""
        return dict(self._entry.get("metadata") or {})

    @property
    def metrics(self) -> Dict[str, float]:
        """The metrics set at registration, and the numbers in the metadata."""
        found: Dict[str, float] = {}
        for part in (self.metadata, self.metadata.get("metrics"), self._entry.get("metrics")):
            if isinstance(part, dict):
                found.update({k: v for k, v in part.items() if isinstance(v, (int, float)) and not isinstance(v, bool)})
        return found

    @property
    def entry(self) -> Dict[str, Any]:
        """All fields of the version in the API."""
        return dict(self._entry)

    def path(self) -> Path:
        """Return the path of the local file, which is downloaded once. Raises InputError if the server does not store the data."""
        if not self._entry.get("download_url"):
            place = f", at {self._entry['uri']}" if self._entry.get("uri") else ""
            raise InputError(f"the data of {self.ref} is not stored on {self._server.url} but elsewhere{place}")
        return _download.artifact(self._server, self._entry)

    def load(self, *, allow_pickle: bool = False) -> Any:
        """Return the value of the file, as `load` of an input does.

        Reading a pickle can run code, so load() reads pickles only with allow_pickle. Raises
        InputError if the file cannot be read.
        """
        handle: _handles.File = getattr(_handles, self._kind)(self.path())
        return handle.load(allow_pickle=allow_pickle)

    def promote(self, stage: str = "production", reason: str = "") -> Optional[str]:
        """Move a version of a model to a stage: production, staging, archived or none.

        Returns None if the version was moved, or the ID of the request that another person must
        approve. A move to production requires a reason. Raises ServerError if the server
        rejects the move.
        """
        if self._kind != "Model":
            raise InputError("only models have stages; set an alias instead: dataset.alias('golden')")
        path = f"{_REGISTRIES[self._kind]}/{quoted(self.name)}/versions/{quoted(self.version)}/stage"
        answer = self._server.post(path, {"stage": stage, "reason": reason})
        return None if answer["moved"] else str(answer["request"]["id"])

    def alias(self, name: str) -> None:
        """Set an alias for the version. If another version has this alias, it moves to this one."""
        with self._server.open("PUT", f"{_REGISTRIES[self._kind]}/{quoted(self.name)}/aliases/{quoted(name)}", _json({"version": self.version}), "application/json"):
            pass

    def compare(self, against: str = "") -> Dict[str, Any]:
        """Return how a version of a model differs from another one, as the API describes it.

        `against` is a version, a stage or an alias; the default is the version in production or,
        if that is this version or none is in production, the one registered before it. Raises
        NotFoundError if there is no such version.
        """
        if self._kind != "Model":
            raise InputError("only models can be compared; for a dataset, use drift()")
        path = f"{_REGISTRIES[self._kind]}/{quoted(self.name)}/compare"
        return dict(self._server.get(path, version=self.version, against=against))

    def statistics(self) -> Dict[str, Any]:
        """Return the column statistics of a dataset, with the state of their computation."""
        return dict(self._of_dataset("/statistics"))

    def drift(self, against: str = "") -> Dict[str, Any]:
        """Return how a dataset version differs from another version (by default, the one registered before it)."""
        return dict(self._of_dataset("/drift", against=against))

    def _of_dataset(self, part: str, **query: Any) -> Any:
        if self._kind != "Dataset":
            raise InputError(f"{self.ref} is a model, and only datasets have {part[1:]}")
        return self._server.get(f"{_PATHS[self._kind]}/{quoted(self.ref)}{part}", **query)


def _json(value: Any) -> bytes:
    import json

    return json.dumps(value).encode()


def model(ref: str) -> CatalogueVersion:
    """Return a version of a model: name@version, name@production, name@alias, or name for the newest version.

    Raises NotFoundError if there is no such version.
    """
    return _find("Model", ref)


def dataset(ref: str) -> CatalogueVersion:
    """Return a version of a dataset: name@version, name@alias, or name for the newest version.

    Raises NotFoundError if there is no such version.
    """
    return _find("Dataset", ref)


def _find(kind: str, ref: str) -> CatalogueVersion:
    server = Server()
    entry = server.find(f"{_PATHS[kind]}/{quoted(ref)}")
    if entry is None:
        raise _download.no_entry(server, kind, _PATHS[kind], ref)
    return CatalogueVersion(kind, entry, server)


def register_model(
    ref: str,
    source: Union[str, "os.PathLike[str]", Artifact],
    *,
    metrics: Optional[Mapping[str, float]] = None,
    test_set: str = "",
    inputs: Optional[Sequence[Mapping[str, Any]]] = None,
    outputs: Optional[Sequence[Mapping[str, Any]]] = None,
    framework: str = "",
    description: str = "",
    tags: Sequence[str] = (),
    metadata: Optional[Mapping[str, Any]] = None,
) -> CatalogueVersion:
    """Register a file or an artifact as a version of a model, and return the version.

    `ref` is name@version. `source` is a path, an artifact of a run such as run.artifacts["model"],
    or the ID of an artifact. `inputs` and `outputs` define the signature, such as [{"name":
    "pixels", "dtype": "Float", "dimensions": [-1, 64]}]. `test_set` is the dataset on which the
    metrics were measured. Raises ServerError if the version exists with different content.
    """
    more = {
        "metrics": dict(metrics or {}), "test_set": test_set, "input_schema": list(inputs or ()), "output_schema": list(outputs or ()), "framework": framework,
    }  # fmt: skip
    return _register("Model", ref, source, description, tags, metadata, more)


def register_dataset(
    ref: str,
    source: Union[str, "os.PathLike[str]", Artifact],
    *,
    columns: Optional[Sequence[Mapping[str, Any]]] = None,
    description: str = "",
    tags: Sequence[str] = (),
    metadata: Optional[Mapping[str, Any]] = None,
) -> CatalogueVersion:
    """Register a file or an artifact as a version of a dataset, and return the version.

    `ref` is name@version. `source` is a path, an artifact of a run, or the ID of an artifact. `columns` describes the columns, such as [{"name": "age", "dtype":
    "Integer", "description": "In years"}]. The server computes statistics of tables.
    """
    return _register("Dataset", ref, source, description, tags, metadata, {"columns": list(columns or ())})


def _source(source: Any, server: Server) -> str:
    """Return the ID of an artifact of the server, or the path of a file."""
    if isinstance(source, (Artifact, _handles.File)) and source.artifact[0] == server.url:
        return source.artifact[1]
    if isinstance(source, Artifact):
        return str(source.path)
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(f"{source!r} is not a file: pass the path of a file, or an artifact of a run such as run.artifacts[…]")
    return os.fspath(source)


def _register(
    kind: str, ref: str, source: Union[str, "os.PathLike[str]", Artifact], description: str, tags: Sequence[str], metadata: Optional[Mapping[str, Any]], more: Dict[str, Any]
) -> CatalogueVersion:
    name, at, version = ref.partition("@")
    if not at or not version:
        raise InputError(f"{ref!r} has no version: write {name}@1.0.0")
    server = Server()
    body: Dict[str, Any] = {"name": name, "version": version, "description": description, "tags": _files.strings(tags), "metadata": dict(metadata or {})}
    body.update(more)
    text = _source(source, server)
    if len(text) == 36 and text.count("-") == 4:
        body["artifact"] = text
    else:
        try:
            with open(text, "rb") as file:
                body["file"] = server.upload(file, os.path.basename(text))
        except OSError as err:
            raise InputError(f"{ref}: {err}; pass the path of a file or the ID of an artifact") from None
    sent = {k: v for k, v in body.items() if v not in ("", [], {})}
    return CatalogueVersion(kind, server.post(_PATHS[kind], sent), server)

