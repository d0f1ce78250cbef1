"""Downloads artifacts and entries of the catalogue to a cache on this machine."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from ._api import Server, quoted
from .exceptions import InputError, NotFoundError

_LISTS = {"Dataset": "datasets", "Model": "models", "FeatureSet": "feature-store/feature-sets"}
_STAGES = ("production", "staging")
_FOLDER = "application/vnd.flowforge.directory+json"
_LINK = 1 << 27  # of a symbolic link, in modes of Go's io/fs


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
        raise InputError(f"{reference!r}: only datasets, feature sets and models have references to the catalogue; use a path: {kind}(Path(…))")
    entry = server.find(f"/{_LISTS[kind]}/{quoted(reference)}")
    if entry is None:
        raise no_entry(server, kind, f"/{_LISTS[kind]}", reference)
    if not entry.get("download_url"):
        place = f", at {entry['uri']}" if entry.get("uri") else ""
        raise InputError(f"{kind} {reference!r}: its data is not stored on {server.url} but elsewhere{place}; download it yourself and pass a path: {kind}(Path(…))")
    return artifact(server, entry)


def no_entry(server: Server, kind: str, path: str, reference: str) -> NotFoundError:
    """Return the error for a reference that the catalogue does not have."""
    name, _, version = reference.partition("@")
    if version and server.find(f"{path}/{quoted(name)}") is not None:
        return NotFoundError(f"{name} has no version {'in ' + version if kind == 'Model' and version in _STAGES else 'or alias ' + repr(version)}")
    return NotFoundError(f"the catalogue of {server.url} has no {kind.lower()} {reference!r}")


def artifact(server: Server, found: Any) -> Path:
    """Return the local file or folder of an artifact or an entry, which is downloaded once."""
    name = re.split(r"[/\\]", str(found.get("filename") or found["name"]))[-1]
    if name in ("", ".", "..") or not name.isprintable():
        raise InputError(f"the artifact has the name {name!r}, which is not a valid file name")
    digest = str(found["sha256"]).lower()
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise InputError(f"the artifact {name} has no valid SHA-256: {digest!r}")
    target: Path = cache() / digest / name
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        fetched = _fetch(server, found["download_url"], target.parent, digest)
        if found.get("media_type") == _FOLDER:
            fetched = _unfold(server, found["download_url"], fetched)
        try:
            os.replace(fetched, target)
        except OSError:  # another process was faster with the same folder
            shutil.rmtree(fetched, ignore_errors=True)
            if not target.exists():
                raise
    return target


def _fetch(server: Server, url: str, folder: Path, digest: str, **query: Any) -> str:
    with server.open("GET", url, query=query, timeout=600) as response:
        return save(response, folder, digest)


def _unfold(server: Server, url: str, listed: str) -> str:
    """Replace the list of the files of a folder by the folder, and return its path."""
    with open(listed, encoding="utf-8") as file:
        entries = json.load(file)["entries"]
    os.unlink(listed)
    made = Path(tempfile.mkdtemp(dir=os.path.dirname(listed)))
    try:
        for entry in entries:
            parts = entry["path"].split("/")
            if any(part in ("", ".", "..") or "\\" in part or not part.isprintable() for part in parts):
                raise InputError(f"the folder lists the file {entry['path']!r}, which is not a valid path")
            if entry.get("mode", 0) & _LINK:
                raise InputError(f"the folder has the symbolic link {entry['path']!r}, which plain Python does not follow; run the workflow on the server with launch()")
            path = made.joinpath(*parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            os.replace(_fetch(server, url, made, entry["sha256"], path=entry["path"]), path)
            os.chmod(path, entry.get("mode", 0) & 0o755 | 0o600)
    except BaseException:
        shutil.rmtree(made)
        raise
    return str(made)


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


