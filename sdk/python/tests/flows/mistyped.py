"""User code with one mistake in every marked line, which type checkers must report."""

from typing import List, Tuple

from flowforge import Dataset, Model, foreach, operator, when, workflow


@operator(cpu=1)
def train(table: Dataset, lr: float) -> Tuple[Model, float]:
    return Model(table), lr


@operator
async def count(table: Dataset) -> int:
    return 1


@operator(memroy="2Gi")  # wrong
def other(table: Dataset) -> Model:
    return Model(table)


@workflow
def search(data: Dataset, rates: List[float]) -> Model:
    model, accuracy = train(data, "fast")  # wrong
    train(model, 0.1)  # wrong
    train(count(data), 0.1)  # wrong
    fits = foreach(rates, lambda rate: train(data, rate))
    train(data)  # wrong
    other: List[str] = foreach(fits, lambda fit: fit[1])  # wrong
    number: int = when(accuracy > 1, lambda: "text", lambda: "other")  # wrong
    return fits  # wrong


search.launch(dta=Dataset("a@1"))  # wrong
search.launch(preset=3)  # wrong
