"""What authors write in the function of a workflow as if it ran with the values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

import pandas
import pytest

from flowforge import DefinitionError, approval, client, foreach, operator, when, workflow


@dataclass
class Settings:
    depth: int
    rate: Optional[float] = None
    names: Tuple[str, ...] = ()


class Fit(NamedTuple):
    score: float
    kind: str
    layers: List[int]


@operator
def settings(n: int) -> Settings:
    return Settings(n)


@operator
def fit(given: Settings, more: List[Settings]) -> float:
    return given.depth + sum(s.depth for s in more)


@operator
def double(n: int) -> int:
    return 2 * n


@operator
def frame(n: int) -> pandas.DataFrame:
    return pandas.DataFrame({"n": [n]})


@operator
def table(rows: pandas.DataFrame) -> int:
    return len(rows)


untyped: Any = double
call_when: Any = when
call_foreach: Any = foreach
call_approval: Any = approval


@workflow(name="sdk.structures")
def structures(n: int = 2) -> Fit:
    found = settings(n)
    return Fit(fit(Settings(found.depth, 0.5, ("q",)), [Settings(found.depth), Settings(3), found]), "svc", [1, 2])


def test_structures_with_futures_are_arguments_and_results() -> None:
    assert structures(2) == Fit(9, "svc", [1, 2])
    document = structures.definition().document()
    _, call, results = document["operators"]
    assert {i["name"]: i.get("from") or i.get("value") for i in call["inputs"]} == {
        "given_depth": "settings.depth", "given_rate": 0.5, "given_names": ["q"],
        "more_1_depth": "settings.depth", "more_1_rate": None, "more_1_names": [],
        "more_2": {"depth": 3, "rate": None, "names": []},
        "more_3_depth": "settings.depth", "more_3_rate": "settings.rate", "more_3_names": "settings.names",
    }  # fmt: skip
    assert "{'given': {'parts': {'depth': 'given_depth', 'rate': 'given_rate', 'names': 'given_names'}}, " in call["code"]["script"]
    assert [(i["name"], i["expression"]) for i in results["inputs"]] == [("kind", '"svc"'), ("layers", "[1, 2]")]


def caught(n: int) -> int:
    value = double(n)
    try:
        value = double.options(cpu=1)(value)
    except ValueError:
        value = double(0)
    return value


def parsed(n: int) -> int:
    try:
        first = int("x")
    except ValueError:
        first = 3
    return double(first)


inner_caught: Any = workflow(caught)


def test_except_around_an_operator() -> None:
    line = caught.__code__.co_firstlineno + 2
    message = rf"test_habits_in_workflows\.py:{line}: except cannot catch a failure of double, because double runs after the workflow is defined"
    with pytest.raises(DefinitionError, match=message):
        workflow(caught).definition()

    @workflow
    def outer(n: int) -> int:
        found: int = inner_caught(n)
        return found

    with pytest.raises(DefinitionError, match=message):
        outer.definition()
    workflow(parsed).definition()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda n: client.metric("loss", 1.0), r"client\.metric\(…\) reports for a task, and a workflow function runs only when the workflow is defined"),
        (lambda n: client.checkpoint({}), r"client\.checkpoint\(…\) reports for a task"),
        (lambda n: client.output("a", 1), r"client\.output\(…\) reports for a task"),
        (lambda n: call_when(n > 1, double(n), double(2)), r"when needs functions, so that only one of them runs: write when\(condition, lambda: train\(rows\), lambda: …\)"),
        (lambda n: call_when(call_approval("Publish?"), lambda: double(n)), "the condition is approval, which returns nothing; pass a form with a field of type bool"),
        (lambda n: call_approval("Publish?", Settings, default=Settings("a")), "the default of approval: its field depth: 'a' is not an `int`"),  # type: ignore[arg-type]
        (lambda n: call_foreach(5, double), r"foreach needs a list; 5 has the type `int`\. Write range\(5\)"),
        (lambda n: call_foreach("abc", double), r"foreach needs a list; 'abc' has the type `str`\. Write \['abc'\]"),
        (lambda n: table(frame(n)[frame(n)["n"] > 3]), "Python cannot use frame_?2?.result here, because the value does not exist yet"),
        (lambda n: fit(Settings(frame(n)), []), "fit: given: `DataFrame` is not an `int`"),
    ],
)
def test_what_a_workflow_function_cannot_do(body: Callable[[Any], Any], message: str) -> None:
    @workflow
    def flow(n: int) -> None:
        body(n)

    with pytest.raises(DefinitionError, match=rf"test_habits_in_workflows\.py:\d+: {message}"):
        flow.definition()
