"""A day at work: an approval, a training run that fails, and inputs with None."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, List, NamedTuple, Optional

import pandas

from flowforge import Dataset, Workflow, approval, client, foreach, operator, when, workflow


class Answer(NamedTuple):
    publish: bool
    comment: str = ""


@operator
def tell(comment: str) -> str:
    return f"published: {comment}"


@operator
def refuse() -> str:
    return "not published"


@operator
def measure() -> float:
    return 0.97


@workflow(name="sdk.work.publish")
def publish() -> str:
    answer = approval("Publish the model? Its accuracy is {{accuracy}}.", Answer, values={"accuracy": measure()})
    return when(answer.publish, lambda: tell(answer.comment), lambda: refuse())


@dataclass
class Settings:
    depth: Optional[int] = 5
    width: int = 6


@operator
def show(rate: Optional[int], settings: Settings, size: int) -> str:
    return repr((rate, settings, size))


@workflow(name="sdk.work.nothing")
def nothing(rate: Optional[int] = 5, settings: Settings = Settings(), size: int = 7) -> str:
    return show(rate, settings, size)


@operator
def train(epochs: int, fail: bool) -> int:
    start = client.get_checkpoint() or 0
    for epoch in range(start, epochs):
        client.metric("loss", 1 / (epoch + 1), step=epoch)
        client.checkpoint(epoch + 1)
        if epoch == 1 and fail:
            raise ValueError("Input X contains NaN.\nThe model does not accept NaN.\n\nSee https://example.com/nan")
    client.log("trained", epochs=epochs, kind="two words")
    return start


@workflow(name="sdk.work.train")
def training(epochs: int = 4, fail: bool = False) -> List[int]:
    return foreach([epochs], lambda n: train(n, fail))


@operator
def make(count: int) -> Dataset:
    return Dataset([{"n": n} for n in range(count)])


@workflow(name="sdk.work.making")
def making(count: int) -> Dataset:
    return make(count)


@operator
def count(rows: Dataset) -> int:
    return len(rows.load())


@workflow(name="sdk.work.reading")
def reading(rows: Dataset) -> int:
    return count(rows)


@operator
def frame(count: int) -> pandas.DataFrame:
    return pandas.DataFrame({"n": range(count)})


@workflow(name="sdk.work.frame")
def framing(count: int) -> pandas.DataFrame:
    return frame(count)


@operator
def leave() -> None:
    print("caught", file=sys.stderr)
    sys.exit("the disk is full")


@workflow(name="sdk.work.leave")
def leaving() -> None:
    leave()


def mine(default: int) -> Workflow[Any, Any]:
    """Return one person's copy of a workflow."""

    @workflow(name="sdk.work.mine")
    def mine(n: int = default) -> int:
        return counted(n)

    return mine


@operator
def counted(n: int) -> int:
    return n
