"""What is not a function with a signature is refused where it is decorated."""

from __future__ import annotations

import functools
from typing import Any, Callable, Iterator, List

import pytest

from flowforge import DefinitionError, operator, workflow


def plain(n: int) -> int:
    return n


decorators: List[Any] = [operator, workflow]


class Called:
    def __call__(self, n: int) -> int:
        return n


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: operator(operator(plain)), "@operator: plain is already an operator; a function has one of @operator and @workflow, once"),
        (lambda: operator(workflow(plain)), "@operator: plain is already a workflow; "),
        (lambda: workflow(operator(plain)), "@workflow: plain is already an operator; "),
        (lambda: operator(functools.lru_cache(plain)), "@operator: plain is a _lru_cache_wrapper of another decorator, not a function; remove that decorator"),
        (lambda: operator(functools.partial(plain, 3)), "@operator: functools.partial(.*) is not a Python function; write a def that calls it"),
        (lambda: operator(len), "@operator: len is not a Python function"),
        (lambda: operator(Called), "@operator: Called is a class; write a function that creates and uses it"),
        (lambda: decorators[0]("train"), "@operator: 'train' is not a function; options have names, such as @operator\\(name='train'\\)"),
        (lambda: decorators[1]("train"), "@workflow: 'train' is not a function; options have names"),
    ],
)
def test_only_functions_are_decorated(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=rf"test_functions\.py:\d+: {message}"):
        make()


def returns(n: int):  # type: ignore[no-untyped-def]
    if n > 3:
        return None
    return n * 2


def yields(n: int):  # type: ignore[no-untyped-def]
    yield n


def yields_nothing(n: int) -> None:  # type: ignore[misc]
    yield n


async def waits(n: int):  # type: ignore[no-untyped-def]
    return n


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (returns, rf"returns returns a value \(line {returns.__code__.co_firstlineno + 3}\), but its result has no type: annotate it, such as -> float, or -> None"),
        (waits, "waits returns a value"),
        (yields, r"yields yields items, but declares no result, so it would never run: annotate the result, such as -> Iterator\[int\]"),
        (yields_nothing, "yields_nothing yields items, but declares no result"),
    ],
)
def test_a_result_without_a_type_would_be_lost(function: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=rf"test_functions\.py:{function.__code__.co_firstlineno}: {message}"):
        operator(function)


def leaves(n: int):  # type: ignore[no-untyped-def]
    if n > 3:
        return
    with open("nowhere") as file:
        file.read()
        return None


def gives(n: int) -> Iterator[int]:
    yield n


def test_operators_without_results_return_none() -> None:
    operator(leaves)
    assert list(operator(gives)(3)) == [3]

    @operator
    def note(n: int) -> None:
        return n  # type: ignore[return-value]

    untyped: Any = note
    assert untyped(3) is None, "as other operators see it"


@operator
def double(n: int) -> int:
    return 2 * n


def test_a_future_has_no_value_outside_its_workflow() -> None:
    found: List[int] = []

    @workflow
    def flow(n: int) -> int:
        found.append(double(n))
        return found[0]

    flow.definition()
    with pytest.raises(DefinitionError, match=r"test_functions\.py:\d+: double: n: <double\.result: int> has no value, because it belongs to the definition of a workflow"):
        double(found[0])
    with pytest.raises(DefinitionError, match="flow: n: <double.result: int> has no value"):
        flow(found[0])


def test_methods_are_named_as_such() -> None:
    with pytest.raises(DefinitionError, match=r"test_functions\.py:\d+: fit is a method, and a task has no object to call it on: write a function, or @staticmethod above @operator and no self"):

        class Trainer:
            @operator
            def fit(self, rows: int) -> int:
                return rows

    class Tools:
        @staticmethod
        @operator
        def plus(a: int, b: int) -> int:
            return a + b

    assert Tools.plus(1, 2) == 3
