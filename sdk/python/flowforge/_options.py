"""The options of operators and workflows, and how the document writes them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Dict, List, Mapping, Optional, Sequence, TypedDict, Union

from ._place import error
from ._times import span

Span = Union[str, int, float, timedelta]


class OperatorOptions(TypedDict, total=False):
    """Options of an operator. docs/python.md describes them."""

    name: str
    description: str
    cpu: Union[float, str]
    memory: str
    gpu: int
    gpu_type: str
    storage: str
    shm: str
    network: str
    pods: int
    spread: bool
    timeout: Span
    retry: Union[int, "Retry"]
    cache: Union[bool, "Cache"]
    locks: Sequence[Union[str, "Lock"]]
    packages: Sequence[str]
    requirements: str
    image: str
    environment: Mapping[str, str]
    allow_failure: bool
    preemptible: bool
    grace_period: Span
    resident: bool
    fresh: bool
    breaker: Union[bool, "Breaker"]
    pod: Mapping[str, Any]
    pickle: bool
    after: Any

class WorkflowOptions(TypedDict, total=False):
    """Options of a workflow. docs/python.md describes them."""

    name: str
    version: str
    description: str
    owner_team: str
    tags: Sequence[str]
    metadata: Mapping[str, Any]
    timeout: Span
    parallelism: int
    max_running: int
    max_depth: int
    locks: Sequence[Union[str, "Lock"]]
    retry_budget: "RetryBudget"
    ttl: Mapping[str, Any]
    packages: Sequence[str]
    requirements: str


@dataclass(frozen=True)
class Retry:
    """When FlowForge retries a failed attempt. `condition` is an expression that the server evaluates."""

    limit: int
    initial_delay: Optional[Span] = None
    factor: Optional[float] = None
    max_delay: Optional[Span] = None
    jitter: Optional[float] = None
    fail_fast: Optional[bool] = None
    policy: str = ""
    condition: str = ""
    memory_limit: str = ""
    memory_factor: Optional[float] = None

    def document(self) -> Dict[str, Any]:
        memory = _given(limit=self.memory_limit, factor=self.memory_factor)
        return _given(
            limit=self.limit,
            initial_delay=_span(self.initial_delay),
            factor=self.factor,
            max_delay=_span(self.max_delay),
            jitter=self.jitter,
            fail_fast=self.fail_fast,
            policy=self.policy,
            expression=self.condition,
            memory=memory or None,
        )


@dataclass(frozen=True)
class Cache:
    """Reuse the result of an earlier node with the same code and inputs."""

    version: str = ""
    ttl: Optional[Span] = None
    ignore: Sequence[str] = ()

    def document(self) -> Any:
        return _given(version=self.version, ttl=_span(self.ttl), ignore_inputs=list(self.ignore)) or True


@dataclass(frozen=True)
class Lock:
    """A mutex of the project, or a semaphore if it has more than one permit."""

    name: str
    permits: int = 1


@dataclass(frozen=True)
class Breaker:
    """Stop starting an operator after several failures."""

    failures: int = 5
    window: Span = "10m"
    open_for: Span = "5m"

    def document(self) -> Dict[str, Any]:
        return {"failures": self.failures, "window": span(self.window), "open_for": span(self.open_for)}


@dataclass(frozen=True)
class RetryBudget:
    """Limit the total number of retries of all executions of a workflow."""

    retries: int
    window: Span = "1h"


def check(options: Mapping[str, Any], what: str) -> None:
    """Refuse options that an operator or a workflow does not have."""
    known = list((OperatorOptions if what == "operator" else WorkflowOptions).__annotations__)
    for name in options:
        if name not in known:
            import difflib

            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; the options are: {', '.join(sorted(known))}"
            raise error(f"{what} has no option {name!r}{hint}")


def _given(**values: Any) -> Dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None and value != "" and value != []}


def _span(value: Optional[Span]) -> Optional[str]:
    return None if value is None else span(value)


def _locks(locks: Sequence[Any]) -> List[Any]:
    return [lock if isinstance(lock, str) else {"name": lock.name, "permits": lock.permits} for lock in locks]


def operator_section(o: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the fields of an operator in the document, besides its graph and its code."""
    resources = _given(**{name: o.get(name) for name in ("cpu", "memory", "gpu", "gpu_type", "storage", "shm", "pods", "spread")})
    if o.get("network"):
        resources["network_bandwidth"] = o["network"]
    if not resources.get("gpu"):
        resources.pop("gpu", None)
    retry, cache, breaker = o.get("retry"), o.get("cache"), o.get("breaker")
    return _given(
        resources=resources or None,
        timeout=_span(o.get("timeout")),
        retry={"limit": retry} if isinstance(retry, int) else retry.document() if retry else None,
        cache=cache.document() if isinstance(cache, Cache) else cache or None,
        breaker=breaker.document() if isinstance(breaker, Breaker) else breaker or None,
        locks=_locks(o.get("locks", ())),
        environment={str(k): str(v) for k, v in o.get("environment", {}).items()} or None,
        allow_failure=o.get("allow_failure") or None,
        preemptible=o.get("preemptible"),
        grace_period=_span(o.get("grace_period")),
        resident=o.get("resident") or None,
        fresh=o.get("fresh"),
        pod=dict(o.get("pod", {})) or None,
    )


def workflow_section(o: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the fields of a workflow in the document, besides its graph."""
    budget = o.get("retry_budget")
    return _given(
        owner_team=o.get("owner_team"),
        tags=sorted(o.get("tags", ())),
        timeout=_span(o.get("timeout")),
        parallelism=o.get("parallelism"),
        max_running=o.get("max_running"),
        max_depth=o.get("max_depth"),
        locks=_locks(o.get("locks", ())),
        retry_budget={"retries": budget.retries, "window": span(budget.window)} if budget else None,
        ttl=dict(o.get("ttl", {})) or None,
    )


def beside(path: str, file: str) -> str:
    """Return a path relative to the folder of the user's file."""
    return path if os.path.isabs(path) else os.path.join(os.path.dirname(file), path)
