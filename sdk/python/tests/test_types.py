"""Annotations become types of the registry, and values are converted both ways."""

from __future__ import annotations

import datetime
import enum
from dataclasses import InitVar, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Dict, FrozenSet, Iterator, List, Literal, NamedTuple, Optional, Sequence, Set, Tuple, TypedDict, Union
from uuid import UUID

import annotated_types as kinds
import numpy
import pandas
import pydantic
import pytest
from typing_extensions import NotRequired

from flowforge import (
    Columns, CustomType, Dataset, DefinitionError, File, Format, HyperparameterSet, Label, Length, MediaTypes, Model, OutputError, Pattern, Range, Section, Unit,
    operator, workflow,
)  # fmt: skip
from flowforge import _formats
from flowforge._annotations import read
from flowforge._evaluate import evaluate
from flowforge._schema import mismatch
from flowforge._times import duration, moment, span
from flowforge._unmapped import Unmapped


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


@dataclass
class Layer:
    size: Annotated[int, Range(1, 512)]
    names: List[str] = field(default_factory=lambda: ["a"])
    rate: Optional[float] = None


class Point(NamedTuple):
    x: float
    y: float = 0.0


class Person(TypedDict, total=False):
    name: str


class Settings(HyperparameterSet):
    lr: Annotated[float, Range(0.1, 1, log=True)] = 0.5


class RankingModel(Model, registered="RankingModel"):
    """A type of an administrator."""


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (int, "Integer"),
        (float, "Float"),
        (str, "String"),
        (bool, "Boolean"),
        (datetime.date, "Date"),
        (datetime.datetime, "DateTime"),
        (datetime.timedelta, "Duration"),
        (UUID, 'String(format="uuid")'),
        (Any, "JSON"),
        (dict, "JSON"),
        (Literal["a", 2], 'Enum("a", 2)'),
        (Literal["a", None], 'Optional<Enum("a")>'),
        (Colour, 'Enum("red", "green")'),
        (Optional[int], "Optional<Integer>"),
        (Union[int, str], "Union<Integer: Integer | String: String>"),
        (Union[int, str, None], "Optional<Union<Integer: Integer | String: String>>"),
        (Union[Layer, Point], "Union<Layer: Struct{size: Integer(min=1, max=512), names: List<String> = [\"a\"], rate: Optional<Float>} | Point: Struct{x: Float, y: Float = 0.0}>"),
        (List[Optional[int]], "List<Optional<Integer>>"),
        (Sequence[str], "List<String>"),
        (FrozenSet[int], "List<Integer>(unique=true)"),
        (Tuple[int, ...], "List<Integer>"),
        (Tuple[int, str], "Struct{item_1: Integer, item_2: String}"),
        (Dict[str, List[float]], "Map<String, List<Float>>"),
        (Dict[str, Any], "JSON"),
        (Person, "Struct{name: Optional<String>}"),
        (Settings, "HyperparameterSet{lr: Float(min=0.1, max=1, log=true) = 0.5}"),
        (HyperparameterSet, "HyperparameterSet"),
        (Path, "File"),
        (bytes, "File"),
        (Dataset, "Dataset"),
        (RankingModel, "RankingModel"),
        (Iterator[int], 'File(format="jsonl")'),
        (Annotated[int, Range(1, 5), Unit("rows")], 'Integer(min=1, max=5, unit="rows")'),
        (Annotated[Optional[float], Range(0, 1)], "Optional<Float(min=0, max=1)>"),
        (Annotated[str, Length(1, 3), Pattern("[a-z]+")], 'String(min_length=1, max_length=3, pattern="[a-z]+")'),
        (Annotated[List[str], Length(max=3)], "List<String>(max_items=3)"),
        (Annotated[str, Format("email")], 'String(format="email")'),
        (Annotated[datetime.date, Range(datetime.date(2020, 1, 1), "today")], 'Date(min="2020-01-01", max="today")'),
        (Annotated[Dataset, Format("csv"), Columns("id", label=int)], 'Dataset(format="csv", columns=[id: Any, label: Integer])'),
        (Annotated[File, MediaTypes("image/*")], 'File(media_types=["image/*"])'),
        (Annotated[float, CustomType("Rate")], "Rate"),
    ],
)
def test_annotation(annotation: Any, text: str) -> None:
    assert read(annotation).type.text() == text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (List["int"], List[int]),
        (Optional["int"], Optional[int]),
        (Dict[str, List["int"]], Dict[str, List[int]]),
        (Tuple["int", ...], Tuple[int, ...]),
        (Annotated[List["int"], "float"], Annotated[List[int], "float"]),
        (Literal["int"], Literal["int"]),
        ("List['int']", List[int]),
    ],
)
def test_strings_inside_annotations(given: Any, expected: Any) -> None:
    assert evaluate(given, {"List": List}, {}) == expected


def test_columns() -> None:
    found = Columns("id", day=datetime.date, at=datetime.datetime, span=datetime.timedelta, ok=bool, x=float, other=Any, image="Tensor[28, 28]")
    assert found.text() == "[id: Any, day: Date, at: DateTime, span: Duration, ok: Boolean, x: Float, other: Any, image: Tensor[28, 28]]"
    for wrong in (complex, List[int], 3, None):
        with pytest.raises(DefinitionError, match=r'test_types.py:\d+: Columns\(z=.*\): this has no data type; use bool, int, .*, or the name of a data type, such as z="Integer"'):
            Columns(z=wrong)


def test_hints() -> None:
    found = read(Annotated[float, Label("Rate"), Section("Training"), "The size of a step."])
    assert (found.hints, found.description) == ({"label": "Rate", "section": "Training"}, "The size of a step.")


def test_annotated_types_and_pydantic() -> None:
    class Options(pydantic.BaseModel):
        depth: int = pydantic.Field(3, ge=1, le=9, description="Levels of the tree.")

    Options.model_rebuild(_types_namespace={})
    assert read(Annotated[int, kinds.Gt(0), kinds.Lt(10)]).type.text() == "Integer(min=1, max=9)"
    assert read(Annotated[int, kinds.Gt(0.5), kinds.Lt(2.5)]).type.text() == "Integer(min=1, max=2)"
    assert read(Annotated[float, kinds.Gt(0), kinds.Lt(1)]).type.text() == "Float(exclusive_min=0, exclusive_max=1)"
    assert read(Annotated[float, kinds.Interval(gt=0, le=1)]).type.text() == "Float(max=1, exclusive_min=0)"
    assert read(Annotated[float, pydantic.Field(gt=0, lt=1)]).type.text() == "Float(exclusive_min=0, exclusive_max=1)"
    assert read(Annotated[float, Range(0, exclusive_max=1)]).type.text() == "Float(min=0, exclusive_max=1)"
    assert read(Annotated[datetime.date, kinds.Gt(datetime.date(2024, 2, 28))]).type.text() == 'Date(min="2024-02-29")'
    with pytest.raises(DefinitionError, match=r"only numbers and dates have exclusive limits; for a `timedelta`, use an inclusive one: Range\(min=datetime.timedelta\(seconds=5\)\)"):
        read(Annotated[datetime.timedelta, kinds.Gt(datetime.timedelta(seconds=5))])
    assert read(Annotated[str, kinds.Len(1, 3)]).type.text() == "String(min_length=1, max_length=3)"
    assert read(Annotated[float, pydantic.Field(ge=0, title="Rate")]).hints == {"label": "Rate"}
    t = read(Options).type
    assert t.text() == 'Struct{depth: Integer(min=1, max=9) = 3 @{"description": "Levels of the tree."}}'
    assert t.decode(t.encode(Options(depth=4))) == Options(depth=4)


def test_a_frame_with_mixed_types(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"output 'x' cannot be written as arrow: .* with type object. All values of a column need the same type$"):
        _formats.write(pandas.DataFrame({"a": [1, "b"]}), tmp_path, "x", None)


def test_frames_and_arrays() -> None:
    assert read(pandas.DataFrame).type.text() == "Table"
    assert read(numpy.ndarray).type.text() == 'File(format="npz")'


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Colour, Colour.RED),
        (Layer, Layer(3, ["b"], 0.5)),
        (Point, Point(1.0)),
        (Settings, Settings(lr=0.2)),
        (Tuple[int, str], (1, "a")),
        (Tuple[int, ...], (1, 2)),
        (FrozenSet[int], frozenset({1, 2})),
        (Dict[str, Point], {"a": Point(1.0, 2.0)}),
        (Union[Layer, Point, int], Point(1.0)),
        (Union[Layer, Point, int], 7),
        (Optional[Colour], None),
        (datetime.timedelta, datetime.timedelta(days=1, milliseconds=5)),
        (datetime.datetime, datetime.datetime(2026, 1, 2, 3, 4, 5, 600, tzinfo=datetime.timezone.utc)),
        (UUID, UUID(int=5)),
    ],
)
def test_values_survive(annotation: Any, value: Any) -> None:
    import json

    t = read(annotation).type
    assert t.decode(json.loads(json.dumps(t.encode(value)))) == value


class Query(Person):
    n: NotRequired[int]
    limit: NotRequired[Optional[int]]


def test_absent_keys_stay_absent() -> None:
    person, query = read(Person).type, read(Query).type
    assert person.decode({"name": None}) == {} == person.decode({}) and person.decode({"name": "q"}) == {"name": "q"}
    assert query.text() == "Struct{name: Optional<String>, n: Optional<Integer>, limit: Optional<Integer>}"
    assert query.decode({"name": None, "n": None, "limit": None}) == {"limit": None}, "null is a value of limit"
    assert query.build is not None and query.build({"n": None, "limit": 2}) == {"limit": 2}


class Aliased(pydantic.BaseModel):
    """Its fields have other names for callers."""

    learning_rate: float = pydantic.Field(default=0.1, alias="lr")
    epochs: int = pydantic.Field(default=1, validation_alias=pydantic.AliasChoices("n", "rounds"))
    batch: int = 8


class ByName(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(populate_by_name=True, alias_generator=str.upper)
    rate: float = 0.1


def test_models_with_aliases_keep_their_values() -> None:
    t = read(Aliased).type
    assert [f.name for f in t.fields] == ["learning_rate", "epochs", "batch"], "the names of the attributes"
    given = Aliased.model_validate({"lr": 0.5, "n": 7, "batch": 16})
    assert t.decode(t.encode(given)) == given
    assert read(ByName).type.decode({"rate": 0.5}) == ByName(rate=0.5)


@dataclass
class Sized:
    rows: int
    cells: int = field(init=False)

    def __post_init__(self) -> None:
        self.cells = self.rows * 2


@dataclass
class Scaled:
    rows: int
    factor: InitVar[int]


def test_dataclasses_whose_fields_are_computed() -> None:
    t = read(Sized).type
    assert t.text() == "Struct{rows: Integer}"
    assert t.decode(t.encode(Sized(3))) == Sized(3)
    with pytest.raises(Unmapped, match="the InitVar 'factor' of `Scaled` is not kept, so a task could not create the value again"):
        read(Scaled)

    @operator
    def measure(rows: int) -> Sized:
        return Sized(rows)

    assert measure(4) == Sized(4)


class Shape(enum.Enum):
    FLAT = (1, 2)


def test_sets_and_enums() -> None:
    t = read(Set[Colour]).type
    assert t.encode({Colour.RED, Colour.GREEN}) == ["green", "red"]
    assert read(FrozenSet[Point]).type.encode(frozenset({Point(2), Point(1)})) == [{"x": 1, "y": 0.0}, {"x": 2, "y": 0.0}]
    with pytest.raises(Unmapped, match=r"`Shape\.FLAT` is \(1, 2\), but a form can offer only strings, numbers and booleans"):
        read(Shape)


def test_a_date_has_no_time_of_day() -> None:
    assert read(datetime.date).type.encode(datetime.datetime(2026, 1, 2, 3, 4)) == "2026-01-02"


def test_times() -> None:
    assert moment("2026-01-02T03:04:05.123456789Z").microsecond == 123456
    assert moment("2026-01-02T03:04:05.5+02:00").microsecond == 500_000
    assert duration("PT1H30M") == datetime.timedelta(minutes=90)
    assert (span(90), span("30m"), span(datetime.timedelta(minutes=2))) == ("90s", "30m", "120s")


def test_a_negative_duration_is_refused_as_on_the_server() -> None:
    @operator
    def wait(how_long: datetime.timedelta) -> None: ...

    @workflow
    def flow(how_long: datetime.timedelta) -> None:
        wait(how_long)

    flow(datetime.timedelta())
    with pytest.raises(DefinitionError, match="flow: how_long: .* is not a .timedelta.: a duration must not be negative"):
        flow(datetime.timedelta(seconds=-5))


@dataclass
class Tree:
    name: str
    child: Optional["Tree"] = None


class Holder(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    inner: List[complex] = []


def test_errors_name_the_field() -> None:
    with pytest.raises(Unmapped, match="^the field 'inner' of `Holder`: `complex` has no type"):
        read(Holder)
    with pytest.raises(Unmapped, match="^the field 'child' of `Tree`: `Tree` contains itself, and a form has a fixed number of fields: use Any for the inner value"):
        read(Dict[str, Tree])
    with pytest.raises(DefinitionError, match=r"Range applies to numbers, dates and durations; a `str` has a Length: Annotated\[str, Length\(1, 10\)\]"):
        read(Annotated[str, Range(1, 5)])


def test_what_has_no_type() -> None:
    for annotation, message in (
        (complex, "`complex` has no type"),
        (Dict[int, str], "has keys of type int, but JSON keys are strings"),
        (tuple, "`tuple` needs the types of its values"),
    ):
        with pytest.raises(Unmapped, match=message):
            read(annotation)
    assert read(complex, pickle=True).type.text() == 'File(format="pickle")'


@pytest.mark.parametrize(
    ("given", "expected", "why"),
    [
        (int, float, ""),
        (float, int, "`float` is not an `int`"),
        (Literal["a"], str, ""),
        (Literal["a", "b"], Literal["a"], "the option \"b\" does not fit `Literal['a']`"),
        (Model, File, ""),
        (File, Model, "`File` is not a `Model`"),
        (int, Optional[int], ""),
        (Optional[int], int, "the value may be absent"),
        (int, Union[int, str], ""),
        (Model, Any, "`Model` is a file, not a value"),
        (Annotated[int, Range(1, 5)], Annotated[int, Range(6, 9)], "it is at most 5, but at least 6 is required"),
        (List[int], List[str], "its entries: `int` is not a `str`"),
        (Model, RankingModel, "`Model` is not `RankingModel`"),
    ],
)
def test_what_fits(given: Any, expected: Any, why: str) -> None:
    found = mismatch(read(given).type, read(expected).type)
    assert found == why if not why else found.startswith(why)
