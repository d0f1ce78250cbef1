"""Translates the graph of a flow to the operators and graphs of a definition.

This module is pure: it knows neither Metaflow nor a server. Each step becomes one operator. The
steps between a foreach and its join become a graph that runs for each item, or one operator with
foreach if it is a single step. A step that repeats itself becomes a graph that runs itself. All
tasks of a step with @parallel run in the attempt of one operator.

An operator has the output `task`, the path of its task, which the steps after it receive as
`paths`. A foreach also has `splits`, the positions of its items, a switch has `next`, the name of
the chosen step, and a step with @parallel has `tasks`, the paths of all its tasks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple

Document = Dict[str, Any]

ITEMS = 100_000  # of one foreach; the limit of the engine
DEPTH = 1000  # of repetitions of one step; the limit of the engine

class GraphError(Exception):
    """The flow cannot be translated. The message is for its author."""

@dataclass(frozen=True)
class Step:
    """One step of a flow."""

    name: str
    kind: str  # start, linear, split, foreach, parallel, switch, join or end
    after: Tuple[str, ...] = ()  # the steps that lead here, without the step itself
    to: Tuple[str, ...] = ()  # the steps that follow
    inside: str = ""  # the foreach that contains the step; "" for none
    joins: str = ""  # the split or foreach that a join ends
    first: bool = False  # it begins the flow
    fields: Mapping[str, Any] = field(default_factory=dict)  # of its operator, such as retry
    inputs: List[Document] = field(default_factory=list)  # of its operator, besides paths and index

    @property
    def repeats(self) -> bool:
        return self.kind == "switch" and self.name in self.to

def translate(steps: Sequence[Step]) -> Tuple[List[Document], Dict[str, Document]]:
    """Return the operators of a flow and its graphs. Steps are in the order of the flow."""
    translation = _Translation(steps)
    return translation.operators(""), translation.graphs

class _Translation:
    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = {s.name: s for s in steps}
        self.graphs: Dict[str, Document] = {}
        self._certain: Dict[str, bool] = {}
        for s in steps:
            for name in (*s.after, *s.to):
                if name not in self._steps:
                    raise GraphError(f"the step {s.name} refers to {name}, which is not a step of the flow")

    def _members(self, scope: str) -> List[Step]:
        return [s for s in self._steps.values() if s.inside == scope]

    def operators(self, scope: str) -> List[Document]:
        """Return the operators of the flow, or of the body of a foreach."""
        found = []
        for step in self._members(scope):
            found.append(self._recursion(step) if step.repeats else self._operator(step))
            if step.kind == "foreach":
                found.append(self._body(step))
        return found

    # Which steps lead to a step, in its own scope.

    def _before(self, step: Step) -> List[Step]:
        """Return the steps of the same scope whose tasks the step receives."""
        return [p for p in (self._steps[name] for name in step.after) if p.inside == step.inside and p.kind != "foreach"]

    def _always(self, step: Step) -> bool:
        """Whether the step runs whenever its scope does, as far as its form shows."""
        if step.name not in self._certain:
            before = self._before(step)
            if step.kind == "join" and self._steps[step.joins].kind == "foreach":
                before = [self._steps[step.joins]]
            self._certain[step.name] = all(p.kind != "switch" and self._always(p) for p in before)
        return self._certain[step.name]

    # The operators of steps.

    def _operator(self, step: Step) -> Document:
        entry: Document = {"name": step.name, **step.fields}
        entry.update(self._entry(step))
        entry["inputs"] = [*entry.get("inputs", ()), *step.inputs]
        if not entry["inputs"]:
            del entry["inputs"]
        entry["outputs"] = _outputs(step)
        return entry

    def _entry(self, step: Step) -> Document:
        """Return the paths that a step receives, and when it runs."""
        if step.first:
            return {}
        if step.kind == "join" and self._steps[step.joins].kind == "foreach":
            return {"inputs": [{"name": "paths", "type": "List<String>", "from": f"{self._body_name(self._steps[step.joins])}.task"}]}
        before = self._before(step)
        if not before:  # the first step of a foreach
            return {
                "inputs": [
                    {"name": "paths", "type": "String", "from": "inputs.paths"},
                    {"name": "index", "type": "Integer", "from": "inputs.index"},
                ]
            }
        if len(before) == 1 and before[0].kind == "parallel":
            return {"inputs": [{"name": "paths", "type": "List<String>", "from": f"{before[0].name}.tasks"}]}
        if len(before) == 1:
            entry: Document = {"inputs": [{"name": "paths", "type": "String", "from": f"{before[0].name}.task"}]}
            if before[0].kind == "switch":
                entry["when"] = _chosen(before[0], step)
            return entry
        if all(p.kind != "switch" and self._always(p) for p in before):
            return {"inputs": [{"name": "paths", "type": "List<String>", "expression": "[" + ", ".join(_task(p) for p in before) + "]"}]}
        return {
            "depends": " && ".join(f"({p.name}.Succeeded || {p.name}.Skipped || {p.name}.Omitted)" for p in before),
            "when": " || ".join(_active(p, step) for p in before),
            "inputs": [{"name": "paths", "type": "List<Optional<String>>", "expression": "[" + ", ".join(_received(p, step) for p in before) + "]"}],
        }

    # The bodies of foreach.

    def _body_name(self, step: Step) -> str:
        inner = self._members(step.name)
        return inner[0].name if _single(inner) else f"each-{step.to[0]}"

    def _body(self, step: Step) -> Document:
        """Return the operator that runs the steps of a foreach for each item."""
        inner = self._members(step.name)
        name = self._body_name(step)
        loop = {"foreach": {"items": f"{step.name}.splits", "limit": ITEMS}}
        paths = {"name": "paths", "type": "String", "from": f"{step.name}.task"}
        index = {"name": "index", "type": "Integer", "from": "index"}
        if _single(inner):
            only = inner[0]
            return {"name": name, **only.fields, **loop, "inputs": [paths, index, *only.inputs], "outputs": _outputs(only)}
        joins = [s for s in self._steps.values() if s.kind == "join" and s.joins == step.name]
        if not joins:
            raise GraphError(f"the foreach of the step {step.name} has no join")
        last = [s for s in (self._steps[n] for n in joins[0].after) if s.inside == step.name]
        self.graphs[name] = {
            "inputs": [{"name": "paths", "type": "String"}, {"name": "index", "type": "Integer"}],
            "outputs": [_result(last, joins[0])],
            "operators": self.operators(step.name),
        }
        return {"name": name, "type": "graph", "graph": name, **loop, "inputs": [paths, index]}

    # Steps that repeat themselves.

    def _recursion(self, step: Step) -> Document:
        """Return the operator of a step that repeats itself; its graph runs itself."""
        name = f"{step.name}-repeat"
        entry = self._entry(step)
        passed = [i for i in entry.get("inputs", ())]
        kind = "List<Optional<String>>" if passed[0]["type"].startswith("List") else "String"
        inside = any(i["name"] == "index" for i in passed)
        inputs: List[Document] = [{"name": "paths", "type": "List<Optional<String>>"}]
        first: Document = {"name": step.name, **step.fields}
        first["inputs"] = [{"name": "paths", "type": "List<Optional<String>>", "from": "inputs.paths"}]
        again: List[Document] = [{"name": "paths", "type": "List<Optional<String>>", "expression": f"[{_task(step)}]"}]
        if inside:
            inputs.append({"name": "index", "type": "Optional<Integer>", "required": False})
            first["inputs"].append({"name": "index", "type": "Optional<Integer>", "from": "inputs.index"})
        first["inputs"] += step.inputs
        first["outputs"] = _outputs(step)
        self.graphs[name] = {
            "inputs": inputs,
            "outputs": [
                {"name": o, "type": "String", "expression": f"(nodes.again.outputs.{o} ?? nodes.{step.name}.outputs.{o})"} for o in ("task", "next")
            ],
            "operators": [first, {"name": "again", "type": "graph", "graph": name, "when": _chosen(step, step), "inputs": again}],
        }
        if kind == "String":
            origin = passed[0]["from"]
            source = origin if origin.startswith("inputs.") else f"nodes.{origin.replace('.', '.outputs.', 1)}"
            passed[0] = {"name": "paths", "type": "List<Optional<String>>", "expression": f"[{source}]"}
        else:
            passed[0] = {**passed[0], "type": "List<Optional<String>>"}
        return {**{k: v for k, v in entry.items() if k != "inputs"}, "name": step.name, "type": "graph", "graph": name, "inputs": passed}

def _single(inner: Sequence[Step]) -> bool:
    return len(inner) == 1 and inner[0].kind == "linear"

def _outputs(step: Step) -> List[Document]:
    found = [{"name": "task", "type": "String"}]
    if step.kind == "foreach":
        found.append({"name": "splits", "type": "List<Integer>"})
    if step.kind == "parallel":
        found.append({"name": "tasks", "type": "List<String>"})
    if step.kind == "switch":
        found.append({"name": "next", "type": "String"})
    return found

def _task(step: Step) -> str:
    return f"nodes.{step.name}.outputs.task"

def _chosen(switch: Step, step: Step) -> str:
    return f'nodes.{switch.name}.outputs.next == "{step.name}"'

def _active(before: Step, step: Step) -> str:
    """Write whether a step that may not have run leads to another."""
    if before.kind == "switch":
        return f'(nodes.{before.name}.outputs.next ?? "") == "{step.name}"'
    return f'nodes.{before.name}.status == "SUCCEEDED"'

def _received(before: Step, step: Step) -> str:
    """Write the task of a step that may not lead to another; then it is nil."""
    task = f"({_task(before)} ?? nil)"
    return f"({_active(before, step)} ? {task} : nil)" if before.kind == "switch" else task

def _result(last: Sequence[Step], join: Step) -> Document:
    """Return the output of the body of a foreach: the task that leads to the join."""
    if len(last) == 1 and last[0].kind != "switch":
        return {"name": "task", "type": "String", "from": f"{last[0].name}.task"}
    return {"name": "task", "type": "String", "expression": " ?? ".join(_received(p, join) for p in last)}

Describe = Callable[[Any], Step]
