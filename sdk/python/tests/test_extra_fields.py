"""Fields that a class of pydantic does not declare and keeps: they are not lost on the way."""

from __future__ import annotations

import datetime
from typing import Any, Dict, Optional, TypedDict

import pydantic
import pytest
from pydantic.dataclasses import dataclass as checked

from flowforge import Dataset, operator, workflow
from flowforge._annotations import read
from flowforge._schema import mismatch
from flowforge._unmapped import Unmapped
from flowforge._versions import compare
from flowforge.exceptions import DefinitionError, OutputError


class Open(pydantic.BaseModel, extra="allow"):
    rate: float = 0.1
    limit: Optional[int] = None


class Closed(pydantic.BaseModel):
    rate: float = 0.1
    limit: Optional[int] = None


class Free(pydantic.BaseModel, extra="allow"):
    pass


class Timed(pydantic.BaseModel, extra="allow"):
    __pydantic_extra__: Dict[str, datetime.date]
    name: str = ""


class Renamed(pydantic.BaseModel, extra="allow"):
    learning_rate: float = pydantic.Field(default=0.1, alias="lr")


@checked(config=pydantic.ConfigDict(extra="allow"))
class Measured:
    rate: float = 0.1


class Query(TypedDict):
    name: str


def test_extra_fields_are_part_of_the_type() -> None:
    assert read(Open).type.text() == "Struct(extra=true){rate: Float = 0.1, limit: Optional<Integer>}"
    assert read(Free).type.text() == "Struct(extra=true)"
    assert read(Measured).type.text() == "Struct(extra=true){rate: Float = 0.1}"
    assert read(Closed).type.text() == "Struct{rate: Float = 0.1, limit: Optional<Integer>}"


@pytest.mark.parametrize(
    "given",
    [
        Open.model_validate({"rate": 1, "seed": 7, "tags": ["a", {"b": None}]}),
        Free.model_validate({"seed": 7}),
        Free(),
        Timed.model_validate({"name": "x", "begin": "2026-01-02"}),
        Renamed.model_validate({"lr": 0.5, "seed": 7}),
        Measured(rate=1, seed=7),  # type: ignore[call-arg]
    ],
    ids=repr,
)
def test_values_keep_their_extra_fields(given: Any) -> None:
    t = read(type(given)).type
    again = t.decode(t.encode(given))
    assert type(again) is type(given) and vars(again) == vars(given)
    assert getattr(again, "model_extra", None) == getattr(given, "model_extra", None)


def test_a_dict_is_read_by_the_names_of_its_model() -> None:
    t = read(Renamed).type
    assert t.encode({"lr": 0.5, "seed": 7}) == {"learning_rate": 0.5, "seed": 7}
    with pytest.raises(ValueError, match="'lr' and 'learning_rate' are the same field"):
        t.decode({"learning_rate": 0.1, "lr": 0.5})
    with pytest.raises(ValueError, match="the extra field 'learning_rate' has the name of a declared one"):
        t.encode(Renamed.model_validate({"lr": 0.5, "learning_rate": 1}))


@operator
def seen(options: Open) -> Dict[str, Any]:
    return dict(options.model_extra or {})


@operator
def made() -> Open:
    return Open.model_validate({"rate": 2, "seed": 7})


@operator
def dated() -> Open:
    return Open.model_validate({"when": datetime.date(2026, 1, 2)})


@operator
def measured() -> Measured:
    return Measured(seed=7)  # type: ignore[call-arg]


@operator
def requested() -> Query:
    return {"name": "x", "limit": 3}  # type: ignore[typeddict-unknown-key]


@workflow
def passes(options: Open = Open.model_validate({"depth": 3})) -> Dict[str, Any]:
    return seen(options)


@workflow
def hands_over() -> Dict[str, Any]:
    return seen(made())


@operator
def strict(options: Closed) -> float:
    return options.rate


@operator
def weighed(options: Open) -> float:
    return options.rate


@workflow
def narrowly(options: Closed) -> float:
    return strict(options)


@workflow
def widely(options: Open) -> float:
    return weighed(options)


@workflow
def reads(options: Open) -> Dict[str, Any]:
    return seen({"rate": 1, "copied": options.seed})  # type: ignore[attr-defined, arg-type]


def test_a_plain_call_keeps_them() -> None:
    assert passes(Open.model_validate({"seed": 7})) == {"seed": 7} and passes() == {"depth": 3}
    assert hands_over() == {"seed": 7}
    assert reads(Open.model_validate({"seed": 7})) == {"copied": 7}
    assert seen({"rate": 1, "seed": 7}) == {"seed": 7}  # type: ignore[arg-type]


def test_results_that_cannot_keep_them_are_errors() -> None:
    with pytest.raises(OutputError, match=r"operator dated, output 'result'.*\['when'\] has the type `date`"):
        dated()
    with pytest.raises(OutputError, match="measured returned Measured.*extra field 'seed', which is no output"):
        measured()
    with pytest.raises(OutputError, match="operator requested, output 'result'.*it has no field 'limit'; its fields are: name"):
        requested()


def test_unknown_fields_of_other_classes_are_errors() -> None:
    with pytest.raises(DefinitionError, match="narrowly: options: .*it has no field 'seed'; its fields are: rate, limit"):
        narrowly({"rate": 1, "seed": 7})  # type: ignore[arg-type]


def test_they_are_not_passed_to_what_would_drop_them() -> None:
    wide, narrow = read(Open).type, read(Closed).type
    assert mismatch(wide, narrow) == "`Open` keeps extra fields, which `Closed` does not have"
    assert not mismatch(narrow, wide) and not mismatch(read(Measured).type, read(Free).type)
    assert not mismatch(wide, read(Optional[Free]).type)

    class Holding(pydantic.BaseModel, arbitrary_types_allowed=True):
        rate: float
        data: Dataset

    assert "its field data" in mismatch(read(Holding).type, wide)


def test_extra_fields_are_values() -> None:
    class Files(pydantic.BaseModel, extra="allow", arbitrary_types_allowed=True):
        __pydantic_extra__: Dict[str, Dataset]

    with pytest.raises(Unmapped, match="the extra fields of `Files` are `Dataset`, but only values of JSON"):
        read(Files)


def test_a_version_that_keeps_more_accepts_more() -> None:
    closed, opened = (flow.definition().signature() for flow in (narrowly, widely))
    assert compare(closed, opened).level == "minor" and compare(opened, closed).level == "major"
