"""Values of many types: what goes in comes out, in plain Python and in tasks."""

from __future__ import annotations

import datetime
import enum
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Dict, Iterator, List, Literal, NamedTuple, Optional, Set, Tuple, TypedDict, Union

from flowforge import HyperparameterSet, Length, Range, Report, operator, workflow


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


@dataclass
class Adam:
    beta: Annotated[float, Range(0, 1)] = 0.9


@dataclass
class Sgd:
    momentum: float = 0.5
    nesterov: bool = False


class Person(TypedDict):
    name: str
    age: int


class Settings(HyperparameterSet):
    learning_rate: Annotated[float, Range(1e-4, 1, log=True)] = 0.05
    batch: Literal[16, 32] = 16


@dataclass
class Config:
    colour: Colour
    day: datetime.date
    optimizer: Union[Adam, Sgd] = field(default_factory=Adam)
    layers: List[int] = field(default_factory=lambda: [4, 2])
    note: Optional[str] = None


class Everything(NamedTuple):
    text: str
    moment: datetime.datetime
    span: datetime.timedelta
    config_layers: List[int]
    person: Person
    pair: Tuple[int, str]
    weights: Dict[str, float]
    tags: Set[str]
    anything: Any
    path: Path
    report: Report
    missing: Optional[int]
    total: int


@operator(cpu=0.1, memory="64Mi")
def everything(
    config: Config,
    settings: Settings,
    moment: datetime.datetime,
    span: datetime.timedelta,
    person: Person,
    weights: Dict[str, float],
    tags: Set[str],
    lines: Iterator[int],
    anything: Any = None,
) -> Everything:
    assert isinstance(config.colour, Colour) and isinstance(config.day, datetime.date)
    assert isinstance(config.optimizer, (Adam, Sgd)), config.optimizer
    total = sum(lines)
    path = Path(tempfile.mkdtemp()) / "notes.txt"
    path.write_text("two words")
    return Everything(
        text=f"{config.colour.name} {config.day.year} {config.optimizer} {settings.learning_rate} {settings.batch} {config.note}",
        moment=moment + span,
        span=span * 2,
        config_layers=config.layers,
        person={"name": person["name"].upper(), "age": person["age"] + 1},
        pair=(total, "items"),
        weights={name: value * 2 for name, value in weights.items()},
        tags=tags | {"seen"},
        anything=anything,
        path=path,
        report=Report("<h1>Done</h1>"),
        missing=None,
        total=total,
    )


@operator(cpu=0.1, memory="64Mi")
def numbers(limit: int) -> Iterator[int]:
    yield from range(limit)


@operator(cpu=0.1, memory="64Mi")
def read(path: Path, pair: Tuple[int, str], whole: Everything, missing: Optional[int] = None) -> str:
    assert whole.pair == pair and isinstance(whole.moment, datetime.datetime), whole
    return f"{path.read_text()}, {pair[0]} {pair[1]}, {missing}, {whole.total}"


class Results(NamedTuple):
    text: str
    summary: str
    moment: datetime.datetime
    tags: Set[str]
    person: Person
    colour: Colour


@operator(cpu=0.1, memory="64Mi")
def colour_of(config: Config) -> Colour:
    return config.colour


@workflow(name="sdk.values")
def values(
    config: Config,
    moment: datetime.datetime,
    person: Person,
    settings: Settings = Settings(),
    span: datetime.timedelta = datetime.timedelta(minutes=90),
    weights: Dict[str, float] = {"a": 1.5},
    tags: Set[str] = {"new"},
    limit: Annotated[int, Range(1, 100)] = 5,
    words: Annotated[List[str], Length(1, 3)] = ["a"],
) -> Results:
    found = everything(config, settings, moment, span, person, weights, tags, numbers(limit), {"words": 1})
    summary = read(found.path, found.pair, found, found.missing)
    return Results(found.text, summary, found.moment, found.tags, found.person, colour_of(config))


