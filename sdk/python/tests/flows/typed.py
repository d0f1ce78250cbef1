"""User code for the type checkers: everything here must pass mypy --strict and pyright."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Dict, List, Literal, NamedTuple, Optional, Tuple, Union

from flowforge import (
    Cache,
    Dataset,
    File,
    HyperparameterSet,
    Model,
    Range,
    Report,
    Retry,
    Table,
    approval,
    execution,
    foreach,
    on_exit,
    operator,
    shell,
    when,
    workflow,
    workflow_ref,
)


class Parts(NamedTuple):
    train: Dataset
    test: Dataset


class Settings(HyperparameterSet):
    rate: Annotated[float, Range(1e-4, 1, log=True)] = 0.05
    batch: Literal[16, 32] = 16


@dataclass
class Answer:
    publish: bool = False
    note: str = ""


@operator
def split(data: Dataset) -> Parts:
    return Parts(data, data)


@operator(cpu=2, memory="2Gi", gpu=0, retry=2, timeout="30m", packages=["scikit-learn==1.7.2"])
def train(table: Dataset, lr: float, kind: Literal["svc", "forest"]) -> Tuple[Model, float]:
    return Model(Path(f"{kind}.bin")), lr


@operator(cache=Cache(version="2", ttl="1d"), retry=Retry(2, initial_delay="5s"))
def best(fits: List[Tuple[Model, float]]) -> Model:
    return max(fits, key=lambda fit: fit[1])[0]


@operator
def keep(models: List[Optional[Model]], settings: Settings) -> int:
    return len(models) + settings.batch


@operator
def mean(values: List[float]) -> float:
    return sum(values) / len(values)


@operator
async def fetch(data: Dataset) -> int:
    return 1


@operator(cpu=1)
async def fetch_more(count: int) -> Dataset:
    return Dataset(f"rows@{count}")


@operator
def render(model: Model, table: Table) -> Report:
    return Report("<p>")


@shell("echo done")
def announce(text: str) -> None: ...


@workflow_ref("prepare@1.2.0")
def prepare(data: Dataset, rows: int = 10) -> Parts:
    raise NotImplementedError


@workflow(name="digits.search", tags=["digits"], timeout="2h", max_running=2)
def search(
    data: Dataset = Dataset("uci-digits@1"),
    lr: Annotated[float, Range(1e-4, 1, log=True)] = 0.05,
    kinds: List[Literal["svc", "forest"]] = ["svc"],
    settings: Settings = Settings(rate=0.1),
) -> Model:
    """Finds the best classifier."""
    parts = split(data)
    fits = foreach(kinds, lambda k: train(parts.train, lr, k))
    partial = foreach(kinds, lambda k: train.options(cpu=4)(parts.test, lr, k)[0], allow_partial=True)
    count = keep(partial, settings)
    accuracies: List[float] = foreach(fits, lambda fit: fit[1])
    mean(accuracies)
    answer = approval("Publish?", Answer, default=Answer(True), timeout="1h")
    found: Union[Model, None] = when(answer.publish, lambda: best(fits))
    when((count > 3) & ((lr < 0.5) == False), lambda: announce("many"), lambda: announce("few"))
    on_exit(lambda: announce(execution.status))
    prepared = prepare(data)
    again = train(prepared.train, lr * 2, "svc")
    return again[0] if found is None else best(fits)


def use(file: File) -> Dict[str, str]:
    model = search(lr=0.1)
    run = search.launch(lr=0.1)
    search.launch(preset="fast", lr=0.1)
    run.wait()
    single: float = train(fetch_more(fetch(Dataset("a@1"))), 0.1, "svc")[1]
    return {"path": str(model.path), "state": run.state, "url": run.url, "single": str(single), "file": file.kind}
