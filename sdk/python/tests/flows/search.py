"""The example of the documents: a fan-out over kinds, and the best of its results."""

from typing import Annotated, List, Literal, NamedTuple, Tuple

from flowforge import Dataset, File, Model, Outputs, Range, client, execution, foreach, on_exit, operator, when, workflow


class Parts(NamedTuple):
    train: File
    test: File


class Found(NamedTuple):
    model: Model
    accuracy: float
    text: str


@operator(cpu=0.1, memory="64Mi")
def split(data: Dataset) -> Parts:
    """Splits the rows."""
    rows = data.path.read_text().splitlines()
    return Parts(File(rows[:-1]), File(rows[-1:]))


@operator(cpu=0.1, memory="64Mi", retry=1, timeout="5m")
def train(table: File, lr: float, kind: Literal["svc", "forest"]) -> Annotated[Tuple[Model, float], Outputs("model", "accuracy")]:
    """Trains one classifier."""
    rows = len(table.load())
    client.metric("loss", 1 / rows, step=0)
    client.metric("loss", lr / rows, step=1)
    return Model({"kind": kind, "rows": rows}), rows * lr + len(kind)


@operator(cpu=0.1, memory="64Mi")
def best(fits: List[Tuple[Model, float]]) -> Annotated[Tuple[Model, float], Outputs("model", "accuracy")]:
    return max(fits, key=lambda fit: fit[1])


@operator(cpu=0.1, memory="64Mi")
def praise(accuracy: float) -> str:
    return f"good: {accuracy}"


@operator(cpu=0.1, memory="64Mi")
def regret(accuracy: float) -> str:
    return f"bad: {accuracy}"


@operator(cpu=0.1, memory="64Mi")
def tell(state: str) -> None:
    client.log(f"the search ended: {state}")


@workflow(name="sdk.search", tags=["sdk"])
def search(
    data: Dataset,
    lr: Annotated[float, Range(1e-4, 1, log=True)] = 0.05,
    kinds: List[Literal["svc", "forest"]] = ["svc"],
) -> Found:
    """Finds the best classifier.

    Args:
        data: Rows of text.
        lr: The size of a step.
    """
    parts = split(data)
    fits = foreach(kinds, lambda kind: train(parts.train, lr, kind), parallelism=2)
    model, accuracy = best(fits)
    text = when(accuracy > 5, lambda: praise(accuracy), lambda: regret(accuracy))
    on_exit(lambda: tell(execution.status))
    return Found(model, accuracy, text)
