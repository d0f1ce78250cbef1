"""Deploys a flow: builds its definition, uploads its code, and registers a version."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from flowforge._api import Server, quoted
from metaflow import current
from metaflow.decorators import flow_decorators
from metaflow.metaflow_environment import MetaflowEnvironment
from metaflow.metaflow_version import get_version
from metaflow.package import MetaflowPackage
from metaflow.user_configs.config_options import ConfigInput
from metaflow.util import get_username

from . import describe, graph, hooks, names, package, parameters, pods
from .errors import FlowForgeException

BOOT = ".mf_code/metaflow_extensions/flowforge/plugins/flowforge/boot.py"


class Deployed(NamedTuple):
    """A version of a workflow."""

    name: str
    version: str
    url: str  # of its launch form
    changed: bool  # False if the server had the same version


@dataclass
class Options:
    """What people choose when they deploy a flow."""

    name: str = ""
    tags: Sequence[str] = ()
    max_workers: int = 100
    timeout: Optional[int] = None  # seconds
    packages: Sequence[str] = ()
    python: str = ""


class Store(NamedTuple):
    """Where the data of runs is stored."""

    kind: str
    root: str
    environment: Mapping[str, str]
    secrets: Mapping[str, str]  # names of secrets by the variables that get their values
    machine: str = ""  # of the server

    @property
    def datastore_root(self) -> str:
        return self.root if self.kind == "s3" else os.path.join(self.root, ".metaflow")


def store(server: Server) -> Store:
    """Return the datastore of the project."""
    found = server.find("/metaflow/datastore") or {}
    if not found.get("root"):
        raise FlowForgeException(f"{server.url} does not report a Metaflow datastore. Update the server.")
    secrets = {
        variable: found[field]
        for variable, field in (
            ("AWS_ACCESS_KEY_ID", "access_key_secret"),
            ("AWS_SECRET_ACCESS_KEY", "secret_key_secret"),
            ("AWS_SESSION_TOKEN", "session_token_secret"),
        )
        if found.get(field)
    }
    environment = {"METAFLOW_DEFAULT_DATASTORE": found["kind"], **(found.get("environment") or {})}
    if found["kind"] == "s3":
        environment["METAFLOW_DATASTORE_SYSROOT_S3"] = found["root"]
        environment[pods.S3_WORKERS] = str(pods.s3_workers(0))
        if found.get("endpoint"):
            environment["METAFLOW_S3_ENDPOINT_URL"] = found["endpoint"]
        if found.get("region"):
            environment["AWS_DEFAULT_REGION"] = found["region"]
    else:
        environment["METAFLOW_DATASTORE_SYSROOT_LOCAL"] = found["root"]
    return Store(found["kind"], found["root"], environment, secrets, str(found.get("machine") or ""))


def resolve_name(name: str) -> str:
    """Return the name of the workflow of the current flow."""
    project = current.get("project_name")
    if project and name:
        raise FlowForgeException("*--name* cannot be used with @project. Use --branch.")
    return names.workflow_name(name or (current.project_flow_name if project else current.flow_name))


def deploy(obj: Any, server: Server, options: Options) -> Deployed:
    """Register the flow as a version of its workflow, unless the latest version is the same."""
    name = resolve_name(options.name)
    where = store(server)
    code, digest = package.pack(_blob(obj))
    document = definition(obj, server, where, options)
    content = hashlib.sha256(json.dumps([document, digest], sort_keys=True).encode()).hexdigest()
    latest = _latest(server, name)
    schedules = _schedules(obj)
    if latest.get("content") == content:
        server.put(f"/workflows/{quoted(name)}/schedules", {"schedules": schedules})
        return Deployed(name, latest["version"], _form(server, name), False)
    version, change = _number(latest, document)
    uploaded = server.upload(code, "package.tar.gz", "application/gzip")["$file"]
    _bind(document, "sha256:" + uploaded)
    document["version"] = version
    if schedules:  # they are no part of the version
        document["schedules"] = schedules
    document["metadata"]["metaflow"]["content"] = content
    document["metadata"]["python"] = {"file": _script(), "function": f"{Path(_script()).stem}:{obj.flow.name}", "change": change}
    answer = server.post("/workflows", document)
    return Deployed(name, str(answer["version"]), server.url + answer["ui_launch_url"], True)


def _form(server: Server, name: str) -> str:
    return f"{server.url}/workflows/{quoted(name)}/launch"


def _script() -> str:
    return os.path.basename(sys.argv[0])


def _blob(obj: Any) -> bytes:
    """Return the code package that Metaflow builds. Its tools for conda and its client of Kubernetes are not asked."""
    for step in obj.flow:
        for decorator in step.decorators:
            if decorator.name == "kubernetes":
                decorator.package_init = lambda *_: None  # it requires the package kubernetes
    packed = MetaflowPackage(obj.flow, MetaflowEnvironment(obj.flow), obj.echo, suffixes=obj.package_suffixes, flow_datastore=None)
    blob = packed.blob
    if len(blob) > package.LIMIT:
        raise FlowForgeException(f"The code package has {len(blob) >> 20} MiB; the limit is {package.LIMIT >> 20} MiB. Move data out of the flow's folder.")
    return bytes(blob)


def _upload(server: Server, path: str) -> Any:
    with open(path, "rb") as file:
        return server.upload(file, os.path.basename(path))


def _latest(server: Server, name: str) -> Dict[str, Any]:
    found = server.find(f"/workflows/{quoted(name)}")
    version = str((found or {}).get("latest_version") or "")
    if not version:
        return {}
    definition = server.get(f"/workflows/{quoted(name)}/versions/{quoted(version)}")["definition"]
    metadata = (definition.get("metadata") or {}).get("metaflow") or {}
    if not metadata:
        raise FlowForgeException(f"The workflow *{name}* exists and is not a Metaflow flow. Choose a different name with: flowforge --name NAME create")
    return {"version": version, "content": metadata.get("content"), "inputs": definition.get("inputs") or []}


def _number(latest: Mapping[str, Any], document: Mapping[str, Any]) -> Any:
    """Return the next version and why it has this number."""
    from flowforge import _versions

    if not latest:
        return "1.0.0", {"level": "major", "reason": "the first version"}
    before = {i["name"]: i for i in latest["inputs"]}
    now = {i["name"]: i for i in document.get("inputs", ())}
    lost = sorted(set(before) - set(now))
    needed = sorted(n for n, i in now.items() if _required(i) and (n not in before or not _required(before[n])))
    other = sorted(n for n in set(before) & set(now) if before[n]["type"] != now[n]["type"])
    new = sorted(n for n in set(now) - set(before) if not _required(now[n]))
    if lost or needed or other:
        parts = [f"parameter {n} removed" for n in lost] + [f"parameter {n} is required" for n in needed] + [f"type of {n} changed" for n in other]
        level, reason = "major", "; ".join(parts)
    elif new:
        level, reason = "minor", "; ".join(f"adds parameter {n}" for n in new)
    else:
        level, reason = "patch", "parameters unchanged"
    return _versions.following(latest["version"], level), {"level": level, "reason": reason, "from": latest["version"]}


def _required(entry: Mapping[str, Any]) -> bool:
    return "default" not in entry and bool(entry.get("required", True))


def _bind(document: Dict[str, Any], code: str) -> None:
    for part in [document, *document.get("graphs", {}).values()]:
        for operator in [*part.get("operators", ()), *part.get("on_exit", ())]:
            if "code" in operator:
                operator["code"]["package"] = code


def definition(obj: Any, server: Server, where: Store, options: Options) -> Dict[str, Any]:
    """Return the definition, without its version and without the hash of its code."""
    name = resolve_name(options.name)
    inputs, by_name = parameters.read(obj.flow, lambda path: _upload(server, path))
    here = "%d.%d.%d" % sys.version_info[:3]
    environment, packages = _python(where, options)
    configs = {p.name: ConfigInput.make_key_name(p.name) for _, p in obj.flow._get_parameters() if p.IS_CONFIG_PARAMETER}
    if configs:  # their values are in the code package
        environment["METAFLOW_FLOW_CONFIG_VALUE"] = json.dumps(configs)
    environment["METAFLOW_FLOWFORGE"] = json.dumps(_settings(obj, where, options, by_name), sort_keys=True)
    common = {"environment": environment, "code": {"package": "", "file": BOOT}}
    ports = [_port(i) for i in inputs]
    found = describe.steps(obj.graph, common, packages, ports, here)
    credentials = [{"name": v.lower(), "type": "Secret", "value": {"$secret": s}} for v, s in where.secrets.items()]
    for step in found:  # every task reads the datastore
        step.inputs.extend(credentials)
    operators, graphs = graph.translate(found)
    document: Dict[str, Any] = {"name": name, "metadata": {"metaflow": _metadata(obj)}, "parallelism": options.max_workers}
    if obj.graph.doc:
        document["description"] = obj.graph.doc.strip()
    if options.timeout:
        document["timeout"] = f"{options.timeout}s"
    if inputs:
        document["inputs"] = inputs
    document["operators"] = operators
    last = hooks.operators(obj.flow, common, packages, credentials)
    if last:
        document["on_exit"] = last
    if graphs:
        document["graphs"] = graphs
        document["max_depth"] = graph.DEPTH
    return document


def _port(entry: Mapping[str, Any]) -> Dict[str, Any]:
    optional = "default" not in entry and not entry.get("required", True)
    kind = f"Optional<{entry['type']}>" if optional else entry["type"]
    return {"name": entry["name"], "type": kind, "from": f"inputs.{entry['name']}"}


def _python(where: Store, options: Options) -> Any:
    """Return the environment of the tasks, and the packages that they need.

    A server on this machine that starts processes can use the author's own Python, as `run` does.
    Elsewhere, FlowForge installs the packages, once.
    """
    environment = {
        **where.environment,
        "METAFLOW_USER": get_username() or "flowforge",
        "METAFLOW_RUNTIME_NAME": "flowforge",
        "METAFLOW_RUNTIME_ENVIRONMENT": "flowforge",
    }
    packages = [*options.packages]
    own = where.kind == "local" and where.machine == _machine() != "" and not packages
    if options.python:
        environment["VIRTUAL_ENV"] = options.python
    elif own:
        environment["VIRTUAL_ENV"] = sys.prefix
    return environment, sorted({f"metaflow=={_release()}", *packages})


def _machine() -> str:
    """Return what identifies this machine and its files, as the server does; "" where that is unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
    root = os.stat("/")
    return hashlib.sha256(f"{boot} {root.st_dev} {root.st_ino}".encode()).hexdigest()


def _release() -> str:
    from importlib.metadata import version

    return version("metaflow")


def _settings(obj: Any, where: Store, options: Options, by_name: Mapping[str, str]) -> Dict[str, Any]:
    """Return what the tasks need to call Metaflow's command line."""
    top: Dict[str, Any] = {}
    for decorator in flow_decorators(obj.flow):
        top.update(decorator.get_top_level_options())
    attached = {
        node.name: [d.make_decorator_spec() for d in node.decorators if not d.statically_defined and d.inserted_by is None] for node in obj.graph
    }
    base = [
        "--quiet",
        "--no-pylint",
        "--metadata=service",
        f"--environment={obj.environment.TYPE}",
        f"--datastore={where.kind}",
        f"--datastore-root={where.datastore_root}",
        f"--event-logger={obj.event_logger.TYPE}",
        f"--monitor={obj.monitor.TYPE}",
    ]
    return {
        "flow": obj.flow.name,
        "metaflow": _release(),
        "script": _script(),
        "options": base + _options(top),
        "with": {name: specs for name, specs in attached.items() if specs},
        "parameters": dict(by_name),
        "tags": [*options.tags],
        "retries": {node.name: describe.retries(node)[0] for node in obj.graph if describe.retries(node)[0]},
    }


def _options(values: Mapping[str, Any]) -> List[str]:
    from metaflow.util import dict_to_cli_options

    return [part.strip("'") for part in dict_to_cli_options(values)]


def _metadata(obj: Any) -> Dict[str, Any]:
    found: Dict[str, Any] = {"flow": obj.flow.name, "version": get_version(), "owner": get_username()}
    for key in ("project_name", "branch_name", "is_production"):
        if current.get(key):
            found[key] = current.get(key)
    for name in ("trigger", "trigger_on_finish"):
        if _flow_decorator(obj.flow, name) is not None:
            found[name] = True
    return found


def _schedules(obj: Any) -> List[Dict[str, Any]]:
    """Return the schedule of the flow as a definition declares it.

    Metaflow writes a sixth field for the year. As on Argo, only the first five are used.
    """
    schedule = _flow_decorator(obj.flow, "schedule")
    if schedule is None or not schedule.schedule:
        return []
    fields = str(schedule.schedule).split()
    if len(fields) == 6 and fields[5] not in ("*", "?"):
        raise FlowForgeException(f"@schedule: the year {fields[5]} in *{schedule.schedule}* is not supported. Use * as the sixth field.")
    found: Dict[str, Any] = {"cron": " ".join(fields[:5]) if len(fields) == 6 else " ".join(fields)}
    if getattr(schedule, "timezone", None):
        found["timezone"] = schedule.timezone
    return [found]


def _flow_decorator(flow: Any, name: str) -> Optional[Any]:
    found = flow._flow_decorators.get(name)
    return found[0] if found else None


def notices(obj: Any) -> List[str]:
    """Return what the deployed workflow does not do."""
    found = []
    metadata = _metadata(obj)
    for name in ("trigger", "trigger_on_finish"):
        if name in metadata:
            found.append(f"FlowForge does not start flows on events: @{name} has no effect.")
    return found
