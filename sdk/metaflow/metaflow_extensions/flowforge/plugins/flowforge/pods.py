"""Translates @resources and @kubernetes to resources, images and fields of pods."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from .errors import FlowForgeException

# Arguments of @kubernetes that have a counterpart, or that change nothing here.
_KNOWN = {
    "cpu", "memory", "disk", "gpu", "gpu_vendor", "shared_memory", "image", "image_pull_policy", "image_pull_secrets", "service_account", "secrets",
    "node_selector", "tolerations", "labels", "annotations", "persistent_volume_claims", "qos", "hostname_resolution_timeout", "tmpfs_tempdir", "tmpfs_path",
}  # fmt: skip


def apply(node: Any, fields: Dict[str, Any], code: Dict[str, Any], environment: Dict[str, Any], tasks: int) -> None:
    """Add the requests of a step's decorators to the fields of its operator, whose attempt runs this number of tasks."""
    resources: Dict[str, Any] = {}
    plain = _attributes(node, "resources")
    own = _attributes(node, "kubernetes")
    unknown = sorted(name for name, value in own.items() if name not in _KNOWN and value)
    if unknown:
        raise FlowForgeException(f"The step *{node.name}*: FlowForge has no equivalent of @kubernetes({unknown[0]}=…). Remove it.")
    for name in ("cpu", "memory", "gpu", "disk", "shared_memory"):
        values = [v for v in (plain.get(name), own.get(name)) if v not in (None, "", 0, "0")]
        if values:
            _set(resources, name, tasks * float(max(values, key=float)))
    if own.get("gpu_vendor") not in (None, "", "nvidia") and "gpu" in resources:
        raise FlowForgeException(f"The step *{node.name}*: FlowForge supports NVIDIA GPUs only, not those of {own['gpu_vendor']}.")
    if resources:
        fields["resources"] = resources
    memory = int(float(max(plain.get("memory") or 0, own.get("memory") or 0, key=float)))
    if memory and S3_WORKERS in environment and S3_WORKERS not in _attributes(node, "environment").get("vars", {}):
        environment[S3_WORKERS] = str(s3_workers(memory))
    if own.get("image"):
        code["image"] = own["image"]
        environment.pop("VIRTUAL_ENV", None)
    pod = _pod(node.name, own)
    if pod:
        fields["pod"] = pod


S3_WORKERS = "METAFLOW_S3_WORKER_COUNT"


def s3_workers(memory: int) -> int:
    """Return how many processes Metaflow may start for one access to S3, with the memory of a task in MiB; 0 for none given.

    Each needs 60 MiB. Metaflow starts one per object, up to 64: to read an artifact, it looks for the objects of six attempts.
    """
    return min(max(memory // 256, 2), 64) if memory else 4


def _attributes(node: Any, name: str) -> Dict[str, Any]:
    """Return the arguments that the author gave to a decorator, without its defaults."""
    decorator = next((d for d in node.decorators if d.name == name), None)
    if decorator is None:
        return {}
    given = getattr(decorator, "_user_defined_attributes", None) or set()
    return {k: v for k, v in decorator.attributes.items() if k in given}


def _set(resources: Dict[str, Any], name: str, value: float) -> None:
    if name == "cpu":
        resources["cpu"] = value
    elif name == "gpu":
        resources["gpu"] = int(value)
    else:
        key = {"memory": "memory", "disk": "storage", "shared_memory": "shm"}[name]
        resources[key] = f"{int(value)}Mi"


def _pod(step: str, own: Dict[str, Any]) -> Dict[str, Any]:
    """Return the fields of pods with their Kubernetes names."""
    pod: Dict[str, Any] = {}
    for name, field in (("service_account", "serviceAccountName"), ("tolerations", "tolerations"), ("labels", "labels"), ("annotations", "annotations")):
        if own.get(name):
            pod[field] = own[name]
    if own.get("node_selector"):
        pod["nodeSelector"] = _pairs(own["node_selector"])
    if own.get("image_pull_policy"):
        pod["imagePullPolicy"] = own["image_pull_policy"]
    if own.get("image_pull_secrets"):
        pod["imagePullSecrets"] = [{"name": n} for n in _list(own["image_pull_secrets"])]
    if own.get("secrets"):
        pod["envFrom"] = [{"secretRef": {"name": n}} for n in _list(own["secrets"])]
    if own.get("persistent_volume_claims"):
        claims = own["persistent_volume_claims"]
        pod["volumes"] = [{"name": n, "persistentVolumeClaim": {"claimName": n}} for n in claims]
        pod["volumeMounts"] = [{"name": n, "mountPath": path} for n, path in claims.items()]
    return pod


def _list(value: Any) -> List[str]:
    return [v for v in value.split(",") if v] if isinstance(value, str) else list(value)


def _pairs(value: Any) -> Optional[Dict[str, str]]:
    if isinstance(value, str):
        return dict(pair.split("=", 1) for pair in value.split(",") if pair)
    return dict(value)
