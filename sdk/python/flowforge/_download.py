"""Downloads artifacts and entries of the catalogue to a cache on this machine."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from ._api import Server, quoted
from .exceptions import InputError

_LISTS = {"Dataset": "datasets", "Model": "models"}


def cache() -> Path:
    """Return the folder of downloads."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "flowforge" / "artifacts"


def catalogue(kind: str, reference: str) -> Path:
    """Return the local file of a reference such as "uci-digits@1". Raises InputError."""
    server = Server()
    if len(reference) == 36 and reference.count("-") == 4:
        return artifact(server, server.get(f"/artifacts/{quoted(reference)}"))
    if kind not in _LISTS:
        raise InputError(f"{reference!r}: only datasets and models have references to the catalogue; use a path: {kind}(Path(…))")
    entry = server.find(f"/{_LISTS[kind]}/{quoted(reference)}")
    if entry is None:
        raise InputError(f"the catalogue of {server.url} has no {kind.lower()} {reference!r}")
    made = server.find(f"/artifacts/by-hash/{quoted(entry['sha256'])}") if entry.get("sha256") else None
    if not made or not made["artifacts"]:
        raise InputError(
            f"{kind} {reference!r}: {server.url} offers only artifacts of executions for download. Run the workflow on the "
            f"server with launch(), or pass a local file in plain Python: {kind}(Path(…))"
        )
    return artifact(server, made["artifacts"][0])


def artifact(server: Server, found: Any) -> Path:
    """Return the local file of an artifact, which is downloaded once."""
    name = re.split(r"[/\\]", str(found.get("filename") or found["name"]))[-1]
    if name in ("", ".", "..") or not name.isprintable():
        raise InputError(f"the artifact has the name {name!r}, which no file can have")
    digest = str(found["sha256"]).lower()
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise InputError(f"the artifact {name} has no valid SHA-256: {digest!r}")
    target: Path = cache() / digest / name
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with server.open("GET", found["download_url"], timeout=600) as response:
            fetched = save(response, target.parent, digest)
        os.replace(fetched, target)
    return target


def save(response: Any, folder: Path, digest: str = "") -> str:
    """Write a response to a new file in folder and return its path.

    Raises InputError if digest is given and is not the SHA-256 of the content.
    """
    handle, path = tempfile.mkstemp(dir=folder)
    try:
        hashed = hashlib.sha256()
        with os.fdopen(handle, "wb") as file:
            for piece in iter(lambda: response.read(1 << 20), b""):
                hashed.update(piece)
                file.write(piece)
        if digest and hashed.hexdigest() != digest:
            raise InputError(f"the download has the SHA-256 {hashed.hexdigest()} instead of {digest}; try again")
    except BaseException:
        os.unlink(path)
        raise
    return path


