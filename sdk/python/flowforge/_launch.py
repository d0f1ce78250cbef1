"""Registers definitions and launches them."""

from __future__ import annotations

import mimetypes
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, NamedTuple, Optional, Union

from . import _contained, _custom, _handles, _versions
from ._api import Server, quoted
from ._place import error
from ._schema import JSON, Type, article
from .exceptions import DefinitionError, ServerError

if TYPE_CHECKING:
    from ._definition import Definition
    from ._run import Run
    from ._workflow import Workflow

_TRIES = 3  # to find a number that no other version has


class Deployment(NamedTuple):
    """A version on the server."""

    name: str
    version: str
    url: str  # of its launch form
    reason: str  # why the version has this number


class _Latest(NamedTuple):
    version: str  # of the latest release; "" without one
    content: str
    signature: Optional[Mapping[str, Any]]


def _latest(server: Server, name: str) -> _Latest:
    found = server.find(f"/workflows/{quoted(name)}")
    version = str((found or {}).get("latest_version") or "")
    if not version or "-" in version:
        return _Latest("", "", None)
    definition = server.get(f"/workflows/{quoted(name)}/versions/{quoted(version)}")["definition"]
    python = (definition.get("metadata") or {}).get("python") or {}
    return _Latest(version, str(python.get("content", "")), python.get("signature"))


def _change(latest: _Latest, d: Definition) -> _versions.Change:
    if not latest.version:
        return _versions.Change("major", "the first version")
    if latest.signature is None:
        return _versions.Change("major", f"{latest.version} was not registered from Python, so its signature cannot be compared")
    return _versions.compare(latest.signature, d.signature())


def deploy(workflow: Workflow[Any, Any], version: str = "", server: Optional[Server] = None, announce: Callable[[str], None] = lambda text: None) -> Deployment:
    """Register a release of the workflow. Files that equal the latest release register nothing.

    announce gets a sentence with the version before it is registered. If another process
    registers this number first, the next number is used.
    """
    server = server or Server()
    d = workflow.definition()
    requested = version or workflow.version
    for _ in range(_TRIES):
        try:
            return _deploy(server, d, requested, announce)
        except ServerError as err:
            if requested or err.status != 409:
                raise
    return _deploy(server, d, requested, announce)


def _deploy(server: Server, d: Definition, requested: str, announce: Callable[[str], None]) -> Deployment:
    latest = _latest(server, d.name)
    if latest.version and latest.content == d.content() and requested in ("", latest.version):
        server.put(f"/workflows/{quoted(d.name)}/schedules", {"schedules": d.schedules})
        announce(f"{d.name} {latest.version} has the same content. Nothing to register.")
        return Deployment(d.name, latest.version, _form(server, d.name), "unchanged")
    change = _change(latest, d)
    chosen = requested or (_versions.following(latest.version, change.level) if latest.version else "1.0.0")
    if not latest.version:
        announce(f"{d.name} {chosen}: {change.reason}.")
    else:
        announce(f"{d.name} {latest.version} → {chosen} ({change.level}): {change.reason}.")
    return _register(server, d, chosen, change, latest.version)


def develop(workflow: Workflow[Any, Any], server: Server) -> Deployment:
    """Register the current files as a pre-release that launches can use, unless they are released."""
    d = workflow.definition()
    latest = _latest(server, d.name)
    content = d.content()
    if latest.version and latest.content == content:
        return Deployment(d.name, latest.version, _form(server, d.name), "unchanged")
    change = _change(latest, d)
    base = _versions.following(latest.version, change.level) if latest.version else "1.0.0"
    version = f"{base}-dev.h{content[:12]}"
    if server.find(f"/workflows/{quoted(d.name)}/versions/{quoted(version)}") is not None:
        return Deployment(d.name, version, _form(server, d.name), change.reason)
    return _register(server, d, version, change, latest.version)


def _register(server: Server, d: Definition, version: str, change: _versions.Change, before: str) -> Deployment:
    _custom.register(d, server)
    package = server.upload(d.code.archive(), "package.tar.gz", "application/gzip")["$file"]
    origin = {**change._asdict(), **({"from": before} if before else {})}
    document = d.registered("sha256:" + package, version, origin)
    try:
        answer = server.post("/workflows", document)
    except ServerError as err:
        raise ServerError(with_names(str(err), document), err.status) from None
    return Deployment(d.name, str(answer["version"]), server.url + answer["ui_launch_url"], change.reason)


def with_names(text: str, document: Mapping[str, Any]) -> str:
    """Return a text with the names of operators instead of their positions in the document, which the author never sees."""

    def name(found: "re.Match[str]") -> str:
        graph = document.get("graphs", {}).get(found[1], {}) if found[1] else document
        operators = graph.get(found[2]) or ()
        position = int(found[3])
        prefix = f"graphs.{found[1]}." if found[1] else ""
        return f"{prefix}{found[2]}[{operators[position]['name']}]" if position < len(operators) else found[0]

    return re.sub(r"(?:graphs\.([\w-]+)\.)?\b(operators|on_exit)\[(\d+)\]", name, text)


def _form(server: Server, name: str) -> str:
    return f"{server.url}/workflows/{quoted(name)}/launch"


def launch(workflow: Workflow[Any, Any], inputs: Mapping[str, Any], server: Optional[Server] = None, name: str = "", preset: str = "") -> Run:
    """Register the current files if they are new, launch them, and return the run."""
    from ._run import Run

    server = server or Server()
    request = requested(workflow, inputs, server)
    if name:
        request["name"] = name
    if preset:
        request["preset"] = preset
    answer = server.post("/executions", request)
    return Run(answer["execution_id"], server, workflow.signature)


def requested(workflow: Union[str, Workflow[Any, Any]], inputs: Mapping[str, Any], server: Server) -> Dict[str, Any]:
    """Return the workflow, version and inputs of a launch. The current files of a Workflow are registered if they are new.

    A string is a name, or a name with a version. Raises DefinitionError for inputs that a Workflow does not have.
    """
    if not hasattr(inputs, "items"):
        raise error(f"the inputs are {inputs!r}; use a dictionary of values by name")
    if isinstance(workflow, str):
        name, _, version = workflow.partition("@")
        return {"workflow": name, **({"version": version} if version else {}), "inputs": json_inputs(server, inputs)}
    if not hasattr(workflow, "definition"):
        raise error(f"{workflow!r} is not a workflow: use a function with @workflow, or the name of a registered workflow")
    types = {key: type_of(workflow, key) for key in inputs}
    found = develop(workflow, server)
    return {"workflow": found.name, "version": found.version, "inputs": {key: upload(server, types[key], value, key) for key, value in inputs.items()}}


def json_inputs(server: Server, inputs: Mapping[str, Any]) -> Dict[str, Any]:
    """Return inputs as JSON. Files of runs and entries of the catalogue become references."""
    return {key: _reference(server, value) or value for key, value in inputs.items()}


def type_of(workflow: Workflow[Any, Any], key: str) -> Type:
    """Return the type of an input, or of a field that a dotted name sets. Raises DefinitionError if there is none."""
    name, *fields = key.split(".")
    parameters = {p.name: p.type for p in workflow.signature.parameters}
    t = parameters.get(name)
    if t is None:
        raise error(f"{workflow.name} has no input {name!r}; its inputs are: {', '.join(parameters) or 'none'}")
    for field in fields:
        found = t.inner.field_named(field)
        if found is None and t.inner.extra:
            return JSON
        if found is None:
            raise error(f"{key}: {article(t.inner)} has no field {field!r}")
        t = found.type
    return t


def upload(server: Server, t: Type, value: Any, name: str) -> Any:
    """Return a Python value as the value of an input. Files are uploaded."""
    from ._run import Run

    if value is None:
        why = _none_mismatch(None, t)
        if why:
            raise error(f"{name}: {why}")
        return None
    if t.optional and t.elem is not None:
        return upload(server, t.elem, value, name)
    if t.kind == "List" and t.elem is not None and isinstance(value, (list, tuple, set, frozenset)):
        return [upload(server, t.elem, v, name) for v in value]
    if not t.blob:
        return _encoded(t, _contained.changed(t, value, lambda of, file: upload(server, of, file, name)), name)
    found = _reference(server, value)
    if found:
        return found
    if isinstance(value, (str, dict)) and not (isinstance(value, str) and os.path.exists(value)):
        if isinstance(value, str) and _is_path(value):
            raise error(f"{name}: the file {value} does not exist in {os.getcwd()}; for an entry of the catalogue, write name@version")
        return value
    if isinstance(value, Run):
        raise error(f"{name}: {value!r} is a run, and not {article(t)}: pass one of its files, such as run.artifacts[…]")
    return _upload_file(server, value if not isinstance(value, str) else Path(value), name)


def _reference(server: Server, value: Any) -> Any:
    """Return how an input refers to an entry of the catalogue or to an artifact of a run, or None."""
    from ._catalogue import CatalogueVersion
    from ._run import Artifact

    if isinstance(value, CatalogueVersion):
        return value.ref
    if isinstance(value, _handles.File) and value.reference:
        return value.reference
    if isinstance(value, (_handles.File, Artifact)) and value.artifact[0] == server.url:
        return {"$artifact": value.artifact[1]}
    return None


def _is_path(text: str) -> bool:
    """Whether a string looks like the path of a file, and not like a reference such as digits@1 or an address."""
    known = mimetypes.guess_type(text)[0] or text.endswith((".parquet", ".arrow", ".npy", ".npz", ".pkl", ".pt"))
    return "@" not in text and "://" not in text and (text.startswith(("/", "./", "../", "~")) or bool(known))


def _encoded(t: Type, value: Any, name: str) -> Any:
    try:
        encoded = t.encode(value)
    except Exception as err:  # encoders raise what their value raises
        raise error(f"{name}: {value!r} is not {article(t)}: {err}") from None
    why = _none_mismatch(encoded, t)
    if why:
        raise error(f"{name}: {why}")
    return encoded


def _none_mismatch(value: Any, t: Type) -> str:
    """Return which part of a JSON value may not be None, or "". The server would use the default instead."""
    if value is None:
        return "" if t.optional or t.kind == "JSON" else f"None is not {article(t)}"
    fields = {f.name: f for f in t.inner.fields}
    for name, part in value.items() if isinstance(value, dict) else ():
        f = fields.get(name)
        why = _none_mismatch(part, f.type) if f and not (part is None and f.has_default and f.default is None) else ""
        if why:
            return f"its field {name}: {why}"
    return ""


def _upload_file(server: Server, value: Any, name: str) -> Any:
    if not isinstance(value, os.PathLike):  # a handle writes its value
        with tempfile.TemporaryDirectory(prefix="flowforge-") as folder:
            return _upload_file(server, _handles.write(value, Path(folder), name, None, False), name)
    path = Path(value)
    if path.is_dir():
        raise DefinitionError(f"{name}: {path} is a folder; upload an archive of it, or register it in the catalogue")
    try:
        with path.open("rb") as file:
            return server.upload(file, path.name)
    except FileNotFoundError:
        raise error(f"{name}: the file {path} does not exist in {os.getcwd()}") from None
    except OSError as err:
        raise DefinitionError(f"{name}: {err}") from err
