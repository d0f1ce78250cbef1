"""Operators without code, for workflows that are only defined."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple

import pytest

from flowforge import DefinitionError, Model, foreach, operator, workflow


class Fit(NamedTuple):
    model: Model
    acc: float


@operator
def train(lr: float) -> Fit: ...  # type: ignore[empty-body]


@operator
def loss(lr: float) -> float: ...  # type: ignore[empty-body]


@operator
def total(values: List[float]) -> float: ...  # type: ignore[empty-body]


@operator
def use(model: Model) -> str: ...  # type: ignore[empty-body]


@operator
def best(fits: List[Fit]) -> Model: ...  # type: ignore[empty-body]


@operator
def note(text: str) -> str: ...  # type: ignore[empty-body]


def document(function: Callable[..., Any]) -> Dict[str, Any]:
    return workflow(function).definition().document()


def refused(body: Callable[[Any, Any, Any], Any], message: str) -> None:
    def flow(rates: List[float], lr: float) -> None:
        body(foreach(rates, lambda rate: train(rate)), rates, lr)

    with pytest.raises(DefinitionError, match=message):
        document(flow)
