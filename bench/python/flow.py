"""The workflows that bench/python measures."""

from typing import List

from flowforge import foreach, operator, workflow


@operator
def add(number: int) -> int:
    return number + 1


@operator(fresh=True)
def add_fresh(number: int) -> int:
    return number + 1


@workflow(name="bench.first")
def first(number: int = 0) -> int:
    return add(number)


@workflow(name="bench.chain")
def chain(number: int = 0) -> int:
    for _ in range(20):
        number = add(number)
    return number


@workflow(name="bench.fresh")
def fresh(number: int = 0) -> int:
    for _ in range(20):
        number = add_fresh(number)
    return number


@workflow(name="bench.map")
def numbers() -> List[int]:
    return foreach(range(100), lambda number: add(number))
