"""The Python workflows of FlowForge."""

from typing import List

from flowforge import foreach, operator, workflow


@operator
def add(number: int) -> int:
    return number + 1


@workflow(name="bench.functions-20")
def functions(number: int = 0) -> int:
    for _ in range(20):
        number = add(number)
    return number


@workflow(name="bench.map-100")
def items() -> List[int]:
    return foreach(range(100), lambda number: add(number))
