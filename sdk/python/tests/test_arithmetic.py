"""The type of an expression follows from its operands, and wrong operands are errors at their line."""

from __future__ import annotations

from enum import Enum
from typing import Any, Dict, List, Literal, Optional

import pytest

from flowforge import Dataset, DefinitionError, Model, foreach, operator, when, workflow


class Size(Enum):
    SMALL = 1
    LARGE = 2


@operator
def number(x: int) -> int: ...  # type: ignore[empty-body]


@operator
def real(x: float) -> float: ...  # type: ignore[empty-body]


@operator
def text(x: str) -> str: ...  # type: ignore[empty-body]


@operator
def anything(x: Any) -> Any: ...


@operator
def fit(data: Dataset) -> Model: ...  # type: ignore[empty-body]


@operator
def show(model: Model) -> None: ...


def shown(body: Any) -> str:
    """Return the type of the future that body makes of the inputs."""
    found = []

    def flow(i: int, f: float, s: str, j: Any, size: Size, kind: Literal["a", "b"], o: Optional[int], b: bool, d: Dict[str, Any], data: Dataset, model: Model) -> None:
        number(i)
        found.append(repr(body(i, f, s, j, size, kind, o, b, d, data, model)))

    workflow(flow).definition()
    return found[0].rpartition(": ")[2].rstrip(">")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (lambda i, f, *_: i + 1, "int"),
        (lambda i, f, *_: 2**i, "float"),  # also at the server
        (lambda i, f, *_: i / 2, "float"),
        (lambda i, f, *_: 1.5 * i, "float"),
        (lambda i, f, *_: f - i, "float"),
        (lambda i, f, s, *_: s + "x", "str"),
        (lambda i, f, s, *_: "x" + s, "str"),
        (lambda i, f, s, j, size, kind, *_: s + kind, "str"),
        (lambda i, f, s, j, size, kind, *_: kind + "x", "str"),
        (lambda i, f, s, j, size, kind, *_: size * 2, "int"),
        (lambda i, f, s, j, size, kind, *_: -size, "int"),
        (lambda i, f, s, j, *_: j + 1, "Any"),
        (lambda i, f, s, j, *_: 1 + j["rate"], "Any"),
        (lambda i, f, s, j, *_: s + j, "Any"),
        (lambda i, f, s, j, *_: -j, "Any"),
        (lambda i, f, s, j, *_: j % 2, "Any"),
        (lambda i, f, *_: -i, "int"),
        (lambda i, f, *_: -f, "float"),
        (lambda i, f, s, j, size, *_: size % 2, "int"),
    ],
)
def test_types_of_results(body: Any, kind: str) -> None:
    assert shown(body) == kind


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda i, f, s, *_: s + 1, r"cannot combine s \(`str`\) and 1 \(`int`\) with \+ while"),
        (lambda i, f, s, *_: "x" + i, r"cannot combine 'x' \(`str`\) and i \(`int`\) with \+"),
        (lambda i, f, s, *_: s * 2, r"cannot combine s \(`str`\) and 2 \(`int`\) with \*"),
        (lambda i, f, s, *_: i + None, r"cannot combine i \(`int`\) and None \(`None`\)"),
        (lambda i, f, s, *_: i + [1], r"cannot combine i \(`int`\) and \[1\] \(`list`\)"),
        (lambda i, f, s, j, size, kind, *_: kind + 1, r"cannot combine kind \(`Literal\['a', 'b'\]`\) and 1 \(`int`\)"),
        (lambda i, f, s, j, size, kind, o, *_: o + 1, r"cannot combine o \(`Optional\[int\]`\) and 1"),
        (lambda i, f, s, j, size, kind, o, b, *_: b + 1, r"cannot combine b \(`bool`\) and 1"),
        (lambda i, f, s, j, size, kind, o, b, d, *_: d + 1, r"cannot combine d \(`Dict\[str, Any\]`\) and 1"),
        (lambda i, f, s, j, size, kind, o, b, d, data, model: j + data, r"cannot combine j \(`Any`\) and data \(`Dataset`\)"),
        (lambda i, f, s, *_: -s, r"- works with numbers while the workflow is defined, and s is a `str`"),
        (lambda i, f, s, j, size, kind, *_: -kind, "- works with numbers"),
        (lambda i, f, s, *_: f % 2, "% works with integers while the workflow is defined, and f is a `float`"),
        (lambda *v: foreach([v[0], v[2]], lambda x: text(x)), "foreach: the items have different types: i is an `int` and s is a `str`; use one foreach for each type"),
        (lambda *v: foreach([v[9], v[10]], lambda x: fit(x)), "the items have different types: data is a `Dataset` and model is a `Model`"),
        (lambda *v: foreach([v[0], "x"], lambda x: number(x)), "the items have different types: i is an `int` and 'x' is a"),
        (lambda *v: foreach([v[0], None], lambda x: number(x)), r"the value may be absent \(`Optional\[int\]`\), but `int` is required"),
        (lambda *v: foreach([], lambda x: number(x)), r"foreach: items is empty \(\[\]\), so its body would never run. Pass at least one item, or make the list an input"),
        (lambda *v: foreach(range(0), lambda x: number(x)), r"foreach: items is empty \(range\(0, 0\)\)"),
        (lambda *v: when(v[1] > 1, lambda: (v[0], v[1]), lambda: (v[0], 2.0)), "a branch of when returns a tuple of several values; let it return one value or the results of one operator"),
        (lambda *v: when(v[0], lambda: number(1)), "the condition is an `int`, not true or false"),
        (lambda *v: number(v[2]), "number_2: x: `str` is not an `int`"),
        (lambda *v: number("x"), "number_2: x: 'x' is not an `int`"),  # type: ignore[arg-type]
    ],
)
def test_operands_that_do_not_fit(body: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=r"^\S*test_arithmetic\.py:\d+: .*" + message):
        shown(body)


def test_items_of_related_types() -> None:
    def flow(i: int, f: float, s: str) -> None:
        foreach([i, f, 0.5, 1], lambda x: real(x))
        foreach([s, "x"], lambda x: text(x))
        foreach([i, 0.5], lambda x: real(x))

    operators: List[Any] = workflow(flow).definition().document()["operators"]
    assert len(operators) == 3


def test_defaults_of_the_body_are_no_inputs() -> None:
    def flow(i: int, f: float) -> None:
        foreach([1, 2], lambda x, rate=f: real(real(rate) + x))  # type: ignore[misc]
        foreach([1, 2], lambda x, at, rate=f: real(real(rate) + at))  # type: ignore[misc, arg-type]

    graphs: Dict[str, Any] = workflow(flow).definition().document()["graphs"]
    assert [[i["name"] for i in graph["inputs"]] for graph in graphs.values()] == [["x", "f"], ["x", "at", "f"]]
