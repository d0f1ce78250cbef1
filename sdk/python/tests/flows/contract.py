"""The example of the contract as it was agreed, and the two operators that it leaves out."""

from typing import Annotated, Literal
from flowforge import Dataset, Model, Range, operator, workflow, foreach

from typing import NamedTuple


class Parts(NamedTuple):
    train: Dataset
    test: Dataset


@operator
def split(data: Dataset) -> Parts:
    return Parts(data, data)


@operator
def best(fits: list[tuple[Model, float]]) -> Model:
    return max(fits, key=lambda fit: fit[1])[0]


@operator(cpu=2, memory="2Gi", gpu=0, retry=2, timeout="30m", packages=["scikit-learn==1.7.2"])
def train(table: Dataset, lr: float, kind: Literal["svc", "forest"]) -> tuple[Model, float]: ...

@workflow(name="digits.search")
def search(data: Dataset = "uci-digits@1", lr: Annotated[float, Range(1e-4, 1, log=True)] = 0.05, kinds: list[Literal["svc", "forest"]] = ["svc"]):
    """Finds the best classifier."""                     # becomes the description
    parts = split(data)                                   # typed futures: nothing runs here
    fits = foreach(kinds, lambda k: train(parts.train, lr, k))
    return best(fits)
