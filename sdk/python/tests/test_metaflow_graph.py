"""The translation of the graph of a flow, without Metaflow and without a server."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any, Dict, List

import pytest

from .running import ROOT

PATH = ROOT / "sdk" / "metaflow" / "metaflow_extensions" / "flowforge" / "plugins" / "flowforge"


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location("flowforge_metaflow_" + name, PATH / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


graph = load("graph")
names = load("names")
clone = load("clone")


def step(name: str, kind: str = "linear", after: str = "", to: str = "", **more: Any) -> Any:
    return graph.Step(name, kind, tuple(after.split()), tuple(to.split()), first=name == "start", **more)


def by_name(operators: List[Dict[str, Any]]) -> Dict[str, Dict[str, Any]]:
    return {o["name"]: o for o in operators}


def test_a_line() -> None:
    operators, graphs = graph.translate([step("start", to="end", inputs=[{"name": "rows", "from": "inputs.rows"}]), step("end", "end", "start")])
    assert graphs == {}
    assert operators == [
        {"name": "start", "inputs": [{"name": "rows", "from": "inputs.rows"}], "outputs": [{"name": "task", "type": "String"}]},
        {"name": "end", "inputs": [{"name": "paths", "type": "String", "from": "start.task"}], "outputs": [{"name": "task", "type": "String"}]},
    ]


def test_branches_wait_for_all() -> None:
    operators, _ = graph.translate(
        [step("start", "split", to="a b"), step("a", after="start", to="join"), step("b", after="start", to="join"), step("join", "join", "a b", joins="start")]
    )
    found = by_name(operators)
    assert found["join"]["inputs"][0]["expression"] == "[nodes.a.outputs.task, nodes.b.outputs.task]"
    assert "when" not in found["join"] and "depends" not in found["join"]


def test_a_foreach_of_one_step_is_one_operator() -> None:
    operators, graphs = graph.translate(
        [step("start", "foreach", to="work"), step("work", after="start", to="join", inside="start"), step("join", "join", "work", joins="start")]
    )
    assert graphs == {}
    found = by_name(operators)
    assert found["start"]["outputs"][1] == {"name": "splits", "type": "List<Integer>"}
    assert found["work"]["foreach"] == {"items": "start.splits", "limit": 100_000}
    assert [i["from"] for i in found["work"]["inputs"]] == ["start.task", "index"]
    assert found["join"]["inputs"] == [{"name": "paths", "type": "List<String>", "from": "work.task"}]


def test_a_foreach_in_a_foreach_is_a_graph() -> None:
    operators, graphs = graph.translate(
        [
            step("start", "foreach", to="a"),
            step("a", "foreach", "start", "b", inside="start"),
            step("b", after="a", to="inner", inside="a"),
            step("inner", "join", "b", "outer", inside="start", joins="a"),
            step("outer", "join", "inner", joins="start"),
        ]
    )
    assert [o["name"] for o in operators] == ["start", "each-a", "outer"]
    body = graphs["each-a"]
    assert [o["name"] for o in body["operators"]] == ["a", "b", "inner"]
    assert body["outputs"] == [{"name": "task", "type": "String", "from": "inner.task"}]
    assert by_name(body["operators"])["a"]["inputs"][1] == {"name": "index", "type": "Integer", "from": "inputs.index"}


def test_a_switch_runs_one_branch() -> None:
    operators, _ = graph.translate(
        [step("start", "switch", to="a b"), step("a", after="start", to="c"), step("b", after="start", to="c"), step("c", after="a b", to="end"), step("end", "end", "c")]
    )
    found = by_name(operators)
    assert found["a"]["when"] == 'nodes.start.outputs.next == "a"'
    assert found["c"]["when"] == 'nodes.a.status == "SUCCEEDED" || nodes.b.status == "SUCCEEDED"'
    assert found["c"]["depends"] == "(a.Succeeded || a.Skipped || a.Omitted) && (b.Succeeded || b.Skipped || b.Omitted)"
    assert found["c"]["inputs"][0]["expression"] == "[(nodes.a.outputs.task ?? nil), (nodes.b.outputs.task ?? nil)]"
    assert "when" not in found["end"]


def test_a_switch_that_skips_a_step() -> None:
    operators, _ = graph.translate([step("start", "switch", to="a end"), step("a", after="start", to="end"), step("end", "end", "start a")])
    end = by_name(operators)["end"]
    assert end["when"] == '(nodes.start.outputs.next ?? "") == "end" || nodes.a.status == "SUCCEEDED"'
    assert '(nodes.start.outputs.next ?? "") == "end" ? (nodes.start.outputs.task ?? nil) : nil' in end["inputs"][0]["expression"]


def test_the_last_step_of_a_foreach_is_the_one_that_ran() -> None:
    _, graphs = graph.translate(
        [
            step("start", "foreach", to="look"),
            step("look", "switch", "start", "a b", inside="start"),
            step("a", after="look", to="join", inside="start"),
            step("b", after="look", to="join", inside="start"),
            step("join", "join", "a b", joins="start"),
        ]
    )
    assert graphs["each-look"]["outputs"] == [{"name": "task", "type": "String", "expression": "(nodes.a.outputs.task ?? nil) ?? (nodes.b.outputs.task ?? nil)"}]


def test_all_tasks_of_a_parallel_step_run_in_one_operator() -> None:
    operators, graphs = graph.translate(
        [
            step("start", to="work"),
            step("work", "parallel", "start", "join"),
            step("join", after="work", to="end"),
            step("end", "end", "join"),
        ]
    )
    assert graphs == {}
    found = by_name(operators)
    assert found["work"] == {
        "name": "work",
        "inputs": [{"name": "paths", "type": "String", "from": "start.task"}],
        "outputs": [{"name": "task", "type": "String"}, {"name": "tasks", "type": "List<String>"}],
    }
    assert found["join"]["inputs"] == [{"name": "paths", "type": "List<String>", "from": "work.tasks"}]


def test_a_step_that_repeats_itself_is_a_graph_that_runs_itself() -> None:
    operators, graphs = graph.translate([step("start", to="loop"), step("loop", "switch", "start", "loop end"), step("end", "end", "loop")])
    found = by_name(operators)
    assert found["loop"] == {
        "name": "loop",
        "type": "graph",
        "graph": "loop-repeat",
        "inputs": [{"name": "paths", "type": "List<Optional<String>>", "expression": "[nodes.start.outputs.task]"}],
    }
    assert found["end"]["when"] == 'nodes.loop.outputs.next == "end"'
    first, again = graphs["loop-repeat"]["operators"]
    assert again["graph"] == "loop-repeat" and again["when"] == 'nodes.loop.outputs.next == "loop"'
    assert first["inputs"] == [{"name": "paths", "type": "List<Optional<String>>", "from": "inputs.paths"}]
    assert graphs["loop-repeat"]["outputs"][0]["expression"] == "(nodes.again.outputs.task ?? nodes.loop.outputs.task)"


def test_a_foreach_without_a_join() -> None:
    with pytest.raises(graph.GraphError, match="has no join"):
        graph.translate([step("start", "foreach", to="a"), step("a", after="start", to="b", inside="start"), step("b", after="a", inside="start")])


def test_tasks_have_one_name_for_each_node() -> None:
    assert [names.task_id(n) for n in ("start", "work[3]", "each-a[0]/b[1]", "loop/again/loop")] == ["start", "work.3", "each-a.0.b.1", "loop.again.loop"]
    long = ["loop/" + "again/" * n + "loop" for n in range(60)]
    assert len({names.task_id(n) for n in long}) == 60
    assert max(len(names.task_id(n)) for n in long) <= 96
    assert names.execution_of(names.run_id("0198")) == "0198" and names.execution_of("HelloFlow/flowforge-0198") == "0198" and names.execution_of("12") == ""
    assert [names.workflow_name(n) for n in ("TrainFlow", "demo.user.ada@x.TrainFlow", "_Flow")] == ["trainflow", "demo.user.ada-x.trainflow", "flow"]


def test_the_first_task_that_claims_copies() -> None:
    def claim(id: int, task: str, at: int) -> Dict[str, Any]:
        return {"id": id, "field_name": "flowforge-copies", "value": task, "ts_epoch": at}

    other = {"id": 1, "field_name": "attempt", "value": "0", "ts_epoch": 0}
    assert clone.elected([other]) == ""
    claims = [claim(12, "work.1.0", 1000), claim(9, "work.2.0", 900), other]
    assert clone.elected(claims) == "work.2.0"
    assert clone.elected([*claims, claim(20, "work.1.0", 60_900)]) == "work.2.0"
    assert clone.elected([*claims, claim(20, "work.1.0", 60_901)]) == "work.1.0", "the other one is silent for a minute"
    assert clone.elected([*claims, claim(20, "work.1.0", 60_901), claim(21, "work.2.0", 60_950)]) == "work.2.0"
