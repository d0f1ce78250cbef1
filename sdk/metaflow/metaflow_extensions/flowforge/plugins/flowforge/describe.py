"""Reads a flow with its decorators as steps for `graph.translate`."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from . import graph, pods
from .errors import FlowForgeException

_KINDS = {"split-switch": "switch"}

# Decorators that need another service, or that FlowForge cannot honour.
_REFUSED = {
    "batch": "@batch runs on AWS Batch. Use @resources or @kubernetes",
    "conda": "@conda needs conda packages, which FlowForge does not install. Use @pypi, or @kubernetes(image=…) with an image that contains them",
    "snowpark": "@snowpark runs on Snowpark",
    "slurm": "@slurm runs on Slurm",
    "nvidia": "@nvidia runs on NVIDIA's cloud",
    "nvct": "@nvct runs on NVIDIA's cloud",
}


def steps(flow_graph: Any, common: Mapping[str, Any], packages: Sequence[str], inputs: Sequence[Dict[str, Any]], here: str) -> List[graph.Step]:
    """Return the steps of a flow.

    common are fields that all operators have, packages those that Metaflow itself needs, inputs
    those of the first step, and here is the Python version of the author.
    """
    found = []
    for name in flow_graph.sorted_nodes:
        node = flow_graph[name]
        _refuse(node)
        kind = "linear" if node.parallel_foreach else "parallel" if node.parallel_step else _KINDS.get(node.type, node.type)
        first = name == flow_graph.start_step
        if first and kind in ("linear", "end"):  # a flow of one step is its end, too
            kind = "start"
        given = [*(inputs if first else ()), *_secrets(node)]
        fields = _fields(node, common, packages, here, _tasks(flow_graph, node))
        around = list(node.split_parents)
        joins = around.pop() if node.type == "join" and around else ""
        if joins and flow_graph[joins].parallel_foreach:  # one operator runs the tasks that it joins
            kind, joins = "linear", ""
        found.append(
            graph.Step(
                name=name,
                kind=kind,
                after=tuple(n for n in node.in_funcs if n != name),
                to=tuple(node.out_funcs),
                inside=next((p for p in reversed(around) if flow_graph[p].type == "foreach" and not flow_graph[p].parallel_foreach), ""),
                joins=joins,
                first=first,
                fields=fields,
                inputs=[*given],
            )
        )
    return found


def _refuse(node: Any) -> None:
    for decorator in node.decorators:
        empty = not any(decorator.attributes.get(k) for k in ("packages", "libraries"))
        if decorator.name == "conda" and empty:
            continue  # --environment=pypi adds it to every step
        if decorator.name in _REFUSED:
            raise FlowForgeException(f"The step *{node.name}*: {_REFUSED[decorator.name]}.")


def _decorator(node: Any, name: str) -> Optional[Any]:
    return next((d for d in node.decorators if d.name == name), None)


def _tasks(flow_graph: Any, node: Any) -> int:
    """Return how many tasks an attempt of the step runs, as far as the source shows: @parallel runs several."""
    numbers = [flow_graph[name].num_parallel for name in node.in_funcs] if node.parallel_step else []
    return max((n for n in numbers if isinstance(n, int)), default=1)


def _fields(node: Any, common: Mapping[str, Any], packages: Sequence[str], here: str, tasks: int) -> Dict[str, Any]:
    """Return the fields of the operator of a step."""
    fields: Dict[str, Any] = {"type": "python"}
    if node.doc:
        fields["description"] = node.doc.strip()
    environment = {**common["environment"], **_environment(node)}
    if secret_ids(node):
        environment["METAFLOW_FLOWFORGE_SECRETS"] = json.dumps(secret_ids(node))
    code: Dict[str, Any] = {**common["code"], "args": [node.name]}
    pods.apply(node, fields, code, environment, tasks)
    own = _packages(node, here)
    if own:
        environment.pop("VIRTUAL_ENV", None)  # the packages have an environment of their own
    if "VIRTUAL_ENV" not in environment:
        code["requirements"] = sorted({*packages, *own})
    retry = _retry(node)
    if retry:
        fields["retry"] = retry
    limit = _limit(node)
    if limit:
        fields["timeout"] = f"{limit}s"
    fields["environment"] = {k: str(v) for k, v in environment.items()}
    fields["code"] = code
    return fields


def retries(node: Any) -> Tuple[int, int]:
    """Return the numbers of retries for the user's code and for the fallback of @catch."""
    user = error = 0
    for decorator in node.decorators:
        for_user, for_error = decorator.step_task_retry_count()
        user, error = max(user, for_user), max(error, for_error)
    return user, error


def _retry(node: Any) -> Dict[str, Any]:
    user, error = retries(node)
    if not user + error:
        return {}
    decorator = _decorator(node, "retry")
    minutes = float(decorator.attributes["minutes_between_retries"]) if decorator else 0
    pause = f"{round(minutes * 60)}s"
    return {"limit": user + error, "initial_delay": pause, "max_delay": pause, "factor": 1, "jitter": 0}


# Metaflow ends the step itself after this time; the engine waits a little longer.
_GRACE = 60


def _limit(node: Any) -> int:
    decorator = _decorator(node, "timeout")
    if decorator is None:
        return 0
    a = decorator.attributes
    seconds = int(a["seconds"]) + 60 * int(a["minutes"]) + 3600 * int(a["hours"])
    return seconds + _GRACE if seconds else 0


def _environment(node: Any) -> Dict[str, Any]:
    decorator = _decorator(node, "environment")
    return dict(decorator.attributes["vars"]) if decorator else {}


def _packages(node: Any, here: str) -> List[str]:
    """Return the packages of @pypi as requirements."""
    decorator = _decorator(node, "pypi")
    if decorator is None or decorator.attributes.get("disabled"):
        return []
    python = decorator.attributes.get("python")
    if python and not (here + ".").startswith(str(python) + "."):
        raise FlowForgeException(
            f"The step *{node.name}*: @pypi requests Python {python}, but this is Python {here}, and FlowForge installs packages for the Python of "
            "its tasks. Omit python, or use @kubernetes(image=…) with an image of that version."
        )
    return sorted(_requirement(name, version) for name, version in (decorator.attributes.get("packages") or {}).items())


def _requirement(name: str, version: str) -> str:
    version = str(version).strip()
    if not version:
        return name
    return f"{name}{version}" if version[0] in "<>=!~" else f"{name}=={version}"


SECRET = "secret_"


def secret_ids(node: Any) -> List[str]:
    """Return the names of the secrets of FlowForge that a step reads."""
    decorator = _decorator(node, "secrets")
    found = []
    for source in decorator.attributes["sources"] if decorator else ():
        if isinstance(source, str):
            kind, _, name = source.rpartition(".") if source.startswith("flowforge.") else ("", "", source)
            if kind == "flowforge" or "." not in source:
                found.append(name)
        elif source.get("type", "flowforge") == "flowforge":
            found.append(source["id"])
    return found


def _secrets(node: Any) -> List[Dict[str, Any]]:
    return [{"name": f"{SECRET}{n}", "type": "Secret", "value": {"$secret": name}} for n, name in enumerate(secret_ids(node))]
