"""Values that a call in plain Python must convert as the server does."""

import datetime
from dataclasses import dataclass
from typing import Annotated, Any, Dict, List, Literal, NamedTuple, Optional, Tuple, TypedDict

from flowforge import Length, Model, Pattern, Range, client, operator, workflow

from .trouble import Machine


class Named(TypedDict):
    name: str


class Query(Named, total=False):
    n: int


class Point(NamedTuple):
    x: float
    y: float = 0.0


@dataclass
class Layer:
    rate: Annotated[float, Range(0, 1)]
    weights: Dict[str, float]


@operator(cpu=0.1, memory="64Mi")
def described(query: Query, weights: Dict[str, float], point: Point, layers: List[Layer], moment: datetime.datetime) -> Dict[str, float]:
    print(query, weights, point, layers, moment)
    return {"keys": len(query), **weights}


@operator(cpu=0.1, memory="64Mi")
def shown(query: Query, weights: Dict[str, float], point: Point, layers: List[Layer], moment: datetime.datetime, found: Dict[str, float]) -> str:
    return f"{sorted(query)} {weights} {point} {layers} {moment.isoformat()} {sorted(found.items())}"


@workflow(name="sdk.equal")
def equal(query: Query, weights: Dict[str, float], point: Point, layers: List[Layer], moment: datetime.datetime) -> str:
    return shown(query, weights, point, layers, moment, described(query, weights, point, layers, moment))


class Fitted(NamedTuple):
    model: Model
    accuracy: float


@operator(cpu=0.1, memory="64Mi", pickle=True)
def fitted(n: int) -> Fitted:
    return Fitted(Model(Machine(n)), 1)


@operator(cpu=0.1, memory="64Mi")
def better(fits: List[Fitted]) -> Fitted:
    return max(fits, key=lambda fit: fit.accuracy)


@operator(cpu=0.1, memory="64Mi", pickle=True)
def loaded(fit: Fitted) -> int:
    return int(fit.model.load().n)


@workflow(name="sdk.handed")
def handed(n: int = 3) -> int:
    return loaded(better([fitted(n), fitted(n)]))


@operator(cpu=0.1, memory="64Mi")
def diverged(way: str) -> float:
    for value in (0.5, float("inf"), float("nan")):
        client.metric("loss", value)
    return float("nan") if way == "nan" else 1


@workflow(name="sdk.diverged")
def diverging(way: Literal["nan", "one"] = "one") -> float:
    return diverged(way)


@workflow(name="sdk.limited")
def limited(
    n: Annotated[int, Range(1, 5)] = 2,
    x: Annotated[float, Range(0, 1)] = 0.5,
    name: Annotated[str, Length(1, 3), Pattern("[a-z]+")] = "a",
    layers: Annotated[List[Layer], Length(0, 2)] = [],
    pair: Tuple[int, str] = (1, "a"),
    anything: Any = None,
    day: Optional[datetime.date] = None,
) -> float:
    return diverged(name)
