"""What Python does with the items and values of futures, and foreach with fields of items."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Tuple, TypedDict

import pytest

from flowforge import DefinitionError, Model, foreach, length, operator, when, workflow

from .flows.fits import Fit, best, document, loss, note, refused, total, train, use


@pytest.mark.parametrize(
    "body",
    [
        lambda fits, rates, lr: loss(float(len([r for r in rates]))),
        lambda fits, rates, lr: loss(float(sum(1 for _ in fits))),
        lambda fits, rates, lr: [loss(0.5) for _ in rates],
        lambda fits, rates, lr: total([0.5 for _ in fits]),
        lambda fits, rates, lr: total([f.acc for f in fits]),
        lambda fits, rates, lr: total([acc for _, acc in fits]),
        lambda fits, rates, lr: total([*rates][:1500]),
        lambda fits, rates, lr: total(sorted(rates)),
        lambda fits, rates, lr: loss(sum(rates)),
        lambda fits, rates, lr: loss(max(f.acc for f in fits)),
        lambda fits, rates, lr: best([f for f, _ in zip(fits, "ab")]),
        lambda fits, rates, lr: note(*fits),
        lambda fits, rates, lr: foreach([f.acc for f in fits], lambda a: loss(a)),
    ],
)
def test_python_cannot_iterate_over_futures(body: Any) -> None:
    refused(body, r"Python cannot iterate over (train|rates) while the workflow is defined.*Use foreach\(\1, lambda item: train\(item\)\).*lambda item: item\.")


@dataclass
class Point:
    x: float
    inner: Dict[str, float]


class Person(TypedDict):
    name: str


class Placed(NamedTuple):
    model: Model
    point: Point


@operator
def place(lr: float) -> Placed: ...  # type: ignore[empty-body]


@operator
def points() -> List[Point]: ...  # type: ignore[empty-body]


def fits_of(rates: List[float]) -> List[Fit]:
    return foreach(rates, lambda rate: train(rate))


def test_a_field_of_every_item() -> None:
    def model_of(fit: Fit) -> Model:
        model, _ = fit
        return model

    def flow(rates: List[float], people: List[Person]) -> List[float]:
        fits = foreach(rates, lambda rate: train(rate))
        total(foreach(fits, lambda f: f.acc))
        total(foreach(fits, lambda f, index: f[1]))
        foreach(foreach(fits, model_of), lambda model: use(model))
        total(foreach(points(), lambda p: p.x))
        total(foreach(foreach(rates, lambda rate: place(rate)), lambda p: p.point.x))
        foreach(foreach(people, lambda p: p["name"]), lambda name: note(name))
        return foreach(fits, lambda f: f.acc)

    found = document(flow)
    operators = {o["name"]: o for o in found["operators"]}
    assert [operators[name]["inputs"][0]["from"] for name in ("total", "total_2")] == ["train.acc", "train.acc"]
    assert operators["use"]["foreach"]["items"] == "train.model"
    expressions = [operators[name]["inputs"][0]["expression"] for name in ("total_3", "total_4")]
    assert expressions == ["map(nodes.points.outputs.result, .x)", "map(nodes.place.outputs.point, .x)"]
    assert operators["note"]["foreach"] == {"expression": "map(inputs.people, .name)"}
    assert found["outputs"] == [{"name": "result", "type": "List<Float>", "from": "train.acc"}]


def test_lists_of_lists_of_several_values() -> None:
    def many(rates: List[float]):  # type: ignore[no-untyped-def]
        return foreach(rates, lambda rate: train(rate))

    inner = workflow(many)

    def flow(rates: List[float]) -> None:
        grid = foreach(["a", "b"], lambda _: foreach(rates, lambda rate: train(rate)), name="grid")
        assert repr(grid) == "<grid: list[list[Fit]]>"
        foreach(foreach(grid, lambda row: foreach(row, lambda f: f.acc)), lambda accs: total(accs))
        total(foreach(inner(rates), lambda f: f.acc))

    operators = {o["name"]: o for o in document(flow)["operators"]}
    assert operators["total"]["foreach"]["items"] == "grid.acc"
    assert operators["total_2"]["inputs"][0]["from"] == "many.acc"


class Pair(NamedTuple):
    a: float
    b: float


class Pairs(NamedTuple):
    all_a: List[float]
    all_b: List[float]


@operator
def pair(lr: float) -> Pair: ...  # type: ignore[empty-body]


def test_a_result_that_is_a_list_of_several_values() -> None:
    def columns(rates: List[float]) -> Pairs:
        return foreach(rates, lambda rate: pair(rate))  # type: ignore[return-value]

    def rows(rates: List[float]) -> List[Pair]:
        return foreach(rates, lambda rate: pair(rate))

    for function in (columns, rows):
        with pytest.raises(DefinitionError, match=r"returns a `list\[Pair\]`; its annotation is `.*Pair.*`. Return one value of every item, such as foreach\(pair, lambda item: item.a\)"):
            document(function)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda fits, rates, lr: foreach(foreach([1, 2], lambda _: fits_of(rates)), lambda row: row.acc), r"one item of each_train is a `list\[Fit\]`; write foreach"),  # type: ignore[attr-defined]
        (lambda fits, rates, lr: best(foreach([1, 2], lambda _: fits_of(rates))), r"best: fits: `list\[list\[Fit\]\]` is not a `(L|l)ist\[.*Fit\]`"),  # type: ignore[arg-type, return-value]
        (lambda fits, rates, lr: foreach(fits, lambda f: f.acc * 2), "must return a field of the item"),
        (lambda fits, rates, lr: foreach(fits, lambda f: 0.5), "must return a field of the item"),
        (lambda fits, rates, lr: foreach(fits, lambda f: f), "must return a field of the item"),
        (lambda fits, rates, lr: foreach(fits, lambda f: lr), "must return a field of the item"),
        (lambda fits, rates, lr: foreach(fits, lambda f, index: index), "must return a field of the item"),
        (lambda fits, rates, lr: foreach(fits, lambda f: f.loss), "one item of train has no output 'loss'; its outputs are: model, acc"),
        (lambda fits, rates, lr: foreach(fits, lambda f: f.acc, parallelism=2), "calls no operator, so parallelism has no effect; remove it"),
        (lambda fits, rates, lr: foreach(fits, lambda f: f.acc, name="accuracies"), "so name has no effect"),
        (lambda fits, rates, lr: foreach(fits, lambda f: loss(f.acc)), r"foreach cannot call operators for the items of train.*foreach\(foreach\(train, lambda item: item.model\), …\)"),
        (lambda fits, rates, lr: foreach(train(lr), lambda f: f), "foreach needs a list; <train_2: Fit> is a single result"),
        (lambda fits, rates, lr: foreach([Point(1.0, {})], lambda p: p.x), "its items are known now; use a list comprehension"),
    ],
)
def test_bodies_without_operators(body: Any, message: str) -> None:
    refused(body, message)


@pytest.mark.parametrize(
    "body",
    [
        lambda fits, rates, lr: foreach(range(lr), lambda n: loss(n)),
        lambda fits, rates, lr: [0.1, 0.2][lr],
        lambda fits, rates, lr: loss(int(lr)),
        lambda fits, rates, lr: loss(float(lr)),
        lambda fits, rates, lr: loss(round(lr, 2)),
        lambda fits, rates, lr: loss(abs(lr)),
        lambda fits, rates, lr: loss(math.sqrt(lr)),
        lambda fits, rates, lr: loss(math.floor(lr)),
        lambda fits, rates, lr: loss(lr // 2),
        lambda fits, rates, lr: loss(7 // lr),
        lambda fits, rates, lr: loss(divmod(lr, 2)[0]),
        lambda fits, rates, lr: loss(lr ^ 1),
        lambda fits, rates, lr: loss(lr << 1),
        lambda fits, rates, lr: total(rates[1:]),
        lambda fits, rates, lr: total(list(reversed(rates))),
        lambda fits, rates, lr: note("a" if lr in rates else "b"),
        lambda fits, rates, lr: note("a" if train(lr) in fits else "b"),
        lambda fits, rates, lr: loss(lr()),
        lambda fits, rates, lr: open(lr),
        lambda fits, rates, lr: Path(lr),
        lambda fits, rates, lr: rates.__setitem__(0, 1.0),
        lambda fits, rates, lr: setattr(rates, "first", 1),
        lambda fits, rates, lr: best(fits + fits),
        lambda fits, rates, lr: best(fits * 2),
        lambda fits, rates, lr: loss(-train(lr)),  # type: ignore[operator]
        lambda fits, rates, lr: loss(int(train(lr))),  # type: ignore[call-overload]
    ],
)
def test_what_only_python_does_with_values(body: Any) -> None:
    refused(body, r"test_uses_of_futures.py:\d+: Python cannot use (train|train_2|lr|rates) here, because .* Move this code into an operator; only \+")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda fits, rates, lr: loss(*lr), "lr is a `float`, which cannot be iterated over while the workflow is defined"),
        (lambda fits, rates, lr: foreach([train(lr), train(lr)], lambda f: loss(f.acc)), "foreach: the item <train_2: Fit> has several values; pass one value of each item, such as train_2.model"),
        (lambda fits, rates, lr: Model(train(lr)), r"Model\(…\): train_2 does not exist while the workflow is defined"),
        (lambda fits, rates, lr: pickle.dumps(lr), "Python cannot use lr here"),
        (lambda fits, rates, lr: when(length(rates) & 1, lambda: loss(lr)), "& and | combine conditions, and this expression is an `int`, not true or false; compare it first"),  # type: ignore[call-overload]
        (lambda fits, rates, lr: when((lr > 1) | 2, lambda: loss(lr)), "& and | combine conditions, and 2 is an `int`"),
        (lambda fits, rates, lr: when(~lr, lambda: loss(lr)), "& and | combine conditions, and lr is a `float`"),
        (lambda fits, rates, lr: loss(lr % 2), "% works with integers while the workflow is defined, and lr is a `float`; compute it in an operator"),
        (lambda fits, rates, lr: loss(7.5 % length(rates)), "% works with integers while the workflow is defined, and 7.5 is a `float`"),
        (lambda fits, rates, lr: fits[0], "the items of train are not known while the workflow is defined; use foreach or an operator"),
        (lambda fits, rates, lr: len(fits), r"the length of train is not known while the workflow is defined; use length\(train\)"),
        (lambda fits, rates, lr: when(lr > Path("a"), lambda: loss(lr)), r"PosixPath\('a'\) cannot be part of a definition, because it is not a JSON value"),
        (lambda fits, rates, lr: when(lr > 1, lambda: (lr, lr), lambda: (lr, 2)), "a branch of when returns a tuple of several values"),
    ],
)
def test_other_uses_of_values(body: Any, message: str) -> None:
    refused(body, message)


def test_tuples_and_copies() -> None:
    def flow(pair: Tuple[float, str], lr: float) -> None:
        number, text = pair
        assert len(pair) == len(list(pair)) == len([*pair, lr]) - 1 == 2
        for value in (number, pair[0], pair[-2], copy.deepcopy(pair)[0]):
            loss(value)
        note(text)
        fit = copy.copy(train(lr))
        use(fit.model)

    found = [o["inputs"][0] for o in document(flow)["operators"]]
    assert [i.get("expression") for i in found[:5]] == ["inputs.pair.item_1"] * 4 + ["inputs.pair.item_2"]
    assert found[-1]["from"] == "train.model"
