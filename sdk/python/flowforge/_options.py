"""The options of operators and workflows, and how the document writes them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Any, Dict, List, Literal, Mapping, Optional, Sequence, TypedDict, Union

from . import _habits, _quantities
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
    pool: str
    labels: Mapping[str, str]
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
    schedule: Union[str, "Schedule", Sequence[Union[str, "Schedule"]]]


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


@dataclass(frozen=True)
class Window:
    """A daily window in which a schedule does not run, such as Window("22:00", "06:00", ["FRI"])."""

    start: str
    end: str
    days: Sequence[str] = ()

    def document(self) -> Dict[str, Any]:
        return _given(**{"from": self.start, "until": self.end, "days": list(self.days)})


@dataclass(frozen=True)
class Schedule:
    """A schedule that launches a workflow after it is deployed. docs/schedules.md describes the fields.

    Set cron (one or more expressions), every (an interval) or at (a single time). If a workflow has
    several schedules, only one of them can omit its name.
    """

    cron: Union[str, Sequence[str]] = ""
    every: Optional[Span] = None
    at: Optional[datetime] = None
    name: str = ""
    timezone: str = ""
    gap: Literal["", "run_after", "skip"] = ""
    fold: Literal["", "first", "last", "both"] = ""
    anchor: Optional[datetime] = None
    start: Optional[datetime] = None
    end: Optional[datetime] = None
    calendar: str = ""
    business_days: bool = False
    exclude: Sequence[Window] = ()
    inputs: Optional[Mapping[str, Any]] = None
    priority: Optional[int] = None
    misfire: Literal["", "latest", "skip", "all"] = ""
    catch_up: Optional[Span] = None
    catch_up_max: Optional[int] = None
    overlap: Literal["", "skip", "queue_one", "queue_all", "cancel", "allow"] = ""
    max_running: Optional[int] = None
    jitter: Optional[Span] = None
    pause_after_failures: Optional[int] = None
    paused: bool = False
    when: str = ""
    stop_when: str = ""
    keep_succeeded: Optional[int] = None
    keep_failed: Optional[int] = None

    def document(self) -> Dict[str, Any]:
        if sum(value not in ("", None, [], ()) for value in (self.cron, self.every, self.at)) != 1:
            raise error("a Schedule needs one of cron, every and at")
        several = not isinstance(self.cron, str)
        return _given(
            name=self.name,
            cron="" if several else self.cron,
            crons=list(self.cron) if several else None,
            every=None if self.every is None else f"{_seconds(self.every, 'every')}s",
            at=_moment(self.at, "at"),
            timezone=self.timezone,
            gap=self.gap,
            fold=self.fold,
            anchor=_moment(self.anchor, "anchor"),
            starts_at=_moment(self.start, "start"),
            ends_at=_moment(self.end, "end"),
            calendar=self.calendar,
            business_days=self.business_days or None,
            exclude=[w.document() for w in self.exclude],
            inputs=None if self.inputs is None else {name: _written(value) for name, value in self.inputs.items()},
            priority=self.priority,
            misfire=self.misfire,
            catch_up_seconds=None if self.catch_up is None else _seconds(self.catch_up, "catch_up"),
            catch_up_max=self.catch_up_max,
            overlap=self.overlap,
            max_running=self.max_running,
            jitter_seconds=None if self.jitter is None else _seconds(self.jitter, "jitter"),
            pause_after_failures=self.pause_after_failures,
            paused=self.paused or None,
            when=self.when,
            stop_when=self.stop_when,
            keep_succeeded=self.keep_succeeded,
            keep_failed=self.keep_failed,
        )


def _moment(value: Optional[datetime], name: str) -> Optional[str]:
    if value is None:
        return None
    if value.tzinfo is None:
        raise error(f"{name} of a Schedule needs a time zone, such as datetime(2027, 1, 1, tzinfo=timezone.utc)")
    return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_PARTS = re.compile(r"(?:\d+[smhd])+\Z")


def _seconds(value: Span, name: str) -> int:
    """Return a time span in whole seconds."""
    if isinstance(value, str):
        if _PARTS.match(value) is None:
            raise error(f"{name} of a Schedule is a time span such as 90m or 1h30m, not {value!r}")
        return sum(int(n) * _UNITS[unit] for n, unit in re.findall(r"(\d+)([smhd])", value))
    found = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if found != int(found):
        raise error(f"{name} of a Schedule has whole seconds, not {found}")
    return int(found)


def _written(value: Any) -> Any:
    """Return a value of an input as JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    return value.isoformat() if isinstance(value, date) else value


def schedules(option: Any) -> List[Dict[str, Any]]:
    """Return the schedules of a workflow as the document has them."""
    if not option:
        return []
    found = list(option) if isinstance(option, (list, tuple)) else [option]
    for one in found:
        if not isinstance(one, (str, Schedule)):
            raise error(f"schedule is a cron expression, a Schedule or a list of them, not {one!r}")
    documents = [{"cron": one} if isinstance(one, str) else one.document() for one in found]
    names = [d.get("name", "") for d in documents]
    for name in names:
        if names.count(name) > 1:
            raise error(f"two schedules of the workflow are called {name!r}; choose a name for each" if name else "only one of several schedules can omit its name")
    return documents


def check(options: Mapping[str, Any], what: str, of: str) -> None:
    """Refuse options that an operator or a workflow does not have, and values without a meaning."""
    known = list((OperatorOptions if what == "operator" else WorkflowOptions).__annotations__)
    for name in options:
        if name not in known:
            import difflib

            advice = _habits.of_option(name, what, of)
            near = difflib.get_close_matches(name, known, 1)
            hint = f": {advice}" if advice else f"; did you mean {near[0]!r}?" if near else f"; the options are: {', '.join(sorted(known))}"
            raise error(f"{what} has no option {name!r}{hint}")
    _quantities.check(options, of)


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
        pool=o.get("pool") or None,
        labels={str(k): str(v) for k, v in o.get("labels", {}).items()} or None,
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
        schedules=schedules(o.get("schedule")),
    )


def beside(path: str, file: str) -> str:
    """Return a path relative to the folder of the user's file."""
    return path if os.path.isabs(path) else os.path.join(os.path.dirname(file), path)
