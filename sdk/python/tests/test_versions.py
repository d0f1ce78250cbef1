"""The number of a version follows from what changed in the signature."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from typing import Annotated, Any, Callable, Dict, List, Literal, NamedTuple, Optional, Union

import pytest

from flowforge import Columns, Dataset, Length, Model, Pattern, Range, operator, workflow
from flowforge._versions import Change, compare, following


@operator
def make(n: float = 0) -> Model: ...  # type: ignore[empty-body]


@operator
def count(n: float = 0) -> int: ...  # type: ignore[empty-body]


def signature(function: Callable[..., Any]) -> Any:
    return workflow(function).definition().signature()


def before(lr: Annotated[float, Range(0, 1)], kinds: List[Literal["svc"]] = ["svc"]) -> Model:
    return make(lr)


def same(lr: Annotated[float, Range(0, 1)], kinds: List[Literal["svc"]] = ["svc"]) -> Model:
    """Other code and texts."""
    return make()


def optional_input(lr: Annotated[float, Range(0, 1)], kinds: List[Literal["svc"]] = ["svc"], rows: Optional[int] = None) -> Model:
    return make(lr)


def required_input(lr: Annotated[float, Range(0, 1)], rows: int, kinds: List[Literal["svc"]] = ["svc"]) -> Model:
    return make(lr)


def removed_input(lr: Annotated[float, Range(0, 1)]) -> Model:
    return make(lr)


def wider_range(lr: Annotated[float, Range(0, 10)], kinds: List[Literal["svc"]] = ["svc"]) -> Model:
    return make(lr)


def narrower_range(lr: Annotated[float, Range(0.5, 1)], kinds: List[Literal["svc"]] = ["svc"]) -> Model:
    return make(lr)


def exclusive_range(lr: Annotated[float, Range(exclusive_min=0, max=1)], kinds: List[Literal["svc"]] = ["svc"]) -> Model:
    return make(lr)


def more_options(lr: Annotated[float, Range(0, 1)], kinds: List[Literal["svc", "forest"]] = ["svc"]) -> Model:
    return make(lr)


def default_added(lr: Annotated[float, Range(0, 1)] = 0.5, kinds: List[Literal["svc"]] = ["svc"]) -> Model:
    return make(lr)


def default_changed(lr: Annotated[float, Range(0, 1)], kinds: List[Literal["svc"]] = []) -> Model:
    return make(lr)


def other_type(lr: str, kinds: List[Literal["svc"]] = ["svc"]) -> Model:
    return make()


def other_output(lr: Annotated[float, Range(0, 1)], kinds: List[Literal["svc"]] = ["svc"]) -> int:
    return count()


class Two(NamedTuple):
    result: Model
    rows: int


def more_outputs(lr: Annotated[float, Range(0, 1)], kinds: List[Literal["svc"]] = ["svc"]) -> Two:
    return Two(make(lr), count())


@pytest.mark.parametrize(
    ("function", "level", "reason"),
    [
        (same, "patch", "signature unchanged"),
        (optional_input, "minor", "adds optional input rows"),
        (required_input, "major", "adds required input rows"),
        (removed_input, "major", "input kinds removed"),
        (wider_range, "minor", "input lr accepts more: Float(min=0, max=10) instead of Float(min=0, max=1)"),
        (narrower_range, "major", "type of lr changed from Float(min=0, max=1) to Float(min=0.5, max=1)"),
        (exclusive_range, "major", "type of lr changed from Float(min=0, max=1) to Float(max=1, exclusive_min=0)"),
        (more_options, "minor", 'input kinds accepts more: List<Enum("svc", "forest")> instead of List<Enum("svc")>'),
        (default_added, "minor", "input lr becomes optional"),
        (default_changed, "minor", 'default of kinds changed from ["svc"] to []'),
        (other_type, "major", "type of lr changed from Float(min=0, max=1) to String"),
        (other_output, "major", "type of output result changed from Model to Integer"),
        (more_outputs, "minor", "adds output rows"),
    ],
)
def test_level(function: Callable[..., Any], level: str, reason: str) -> None:
    assert compare(signature(before), signature(function)) == Change(level, reason)


def test_an_inclusive_limit_accepts_more() -> None:
    reason = "input lr accepts more: Float(min=0, max=1) instead of Float(max=1, exclusive_min=0)"
    assert compare(signature(exclusive_range), signature(before)) == Change("minor", reason)


def test_what_becomes_required_is_major() -> None:
    assert compare(signature(default_added), signature(before)) == Change("major", "input lr becomes required")


def test_following() -> None:
    assert [following("2.3.1", level) for level in ("major", "minor", "patch")] == ["3.0.0", "2.4.0", "2.3.2"]


@dataclass
class Old:
    rate: float
    size: int = 5


@dataclass
class Required:
    rate: float
    momentum: float
    size: int = 5


@dataclass
class Lost:
    rate: float
    size: int


@dataclass
class Other:
    rate: float
    size: int = 6


@dataclass
class More:
    rate: float
    size: int = 5
    note: str = ""


Words = Annotated[List[str], Length(1, 5)]
Day = datetime.date


@pytest.mark.parametrize(
    ("old", "new", "level"),
    [
        (Words, Annotated[List[str], Length(1, 4)], "major"),
        (Words, Annotated[List[str], Length(2, 5)], "major"),
        (Words, Annotated[List[str], Length(0, 9)], "minor"),
        (List[str], Words, "major"),
        (Words, List[str], "minor"),
        (str, Annotated[str, Length(max=5)], "major"),
        (str, Annotated[str, Pattern("a+")], "major"),
        (Annotated[str, Pattern("a+")], Annotated[str, Pattern("a*")], "major"),
        (Annotated[str, Pattern("a+")], str, "minor"),
        (Annotated[Day, Range(Day(2024, 1, 1))], Annotated[Day, Range(Day(2025, 1, 1))], "major"),
        (Annotated[Day, Range(Day(2024, 1, 1))], Annotated[Day, Range(Day(2023, 1, 1))], "minor"),
        (Annotated[datetime.timedelta, Range(max=datetime.timedelta(hours=2))], Annotated[datetime.timedelta, Range(max=datetime.timedelta(minutes=90))], "major"),
        (Old, Required, "major"),
        (Old, Lost, "major"),
        (Old, More, "minor"),
        (Old, Other, "minor"),
        (List[Old], List[Lost], "major"),
        (Optional[Old], Optional[Required], "major"),
        (Dict[str, Old], Dict[str, Lost], "major"),
        (Dataset, Annotated[Dataset, Columns(label=int)], "major"),
        (Annotated[Dataset, Columns("a", "b")], Annotated[Dataset, Columns("a")], "minor"),
        (Annotated[Dataset, Columns(a=int)], Annotated[Dataset, Columns(a=str)], "major"),
        (Union[int, str], Union[int, Old], "major"),
        (Union[Old, More], Old, "major"),
        (Union[int, str], Union[int, str, Old], "minor"),
        (Old, Union[Old, More], "major"),
        (Annotated[float, Range(0, 1)], Annotated[float, Range(0, 1, log=True)], "patch"),
        (Literal["a"], str, "minor"),
        (Literal["a"], Annotated[str, Length(2)], "major"),
    ],
)
def test_limits_at_every_depth(old: Any, new: Any, level: str) -> None:
    def typed(annotation: Any) -> Any:
        def flow(value: Any) -> None:
            count()

        flow.__annotations__["value"] = annotation
        return json.loads(json.dumps(signature(flow)))

    assert compare(typed(old), typed(new)).level == level
    assert compare(typed(old), typed(old)).level == "patch"
