"""A result that is declared as a file must not become a file of another type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest

from flowforge import File, Model, OutputError, operator
from flowforge import _formats, _results, _task


@operator
def frame(value: Any) -> pandas.DataFrame:
    return value


@operator
def path(value: Any) -> Path:
    return value  # type: ignore[no-any-return]


@operator
def content(value: Any) -> bytes:
    return value  # type: ignore[no-any-return]


@operator
def model(value: Any) -> Model:
    return value  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("made", "value", "message"),
    [
        (frame, pandas.Series([1]), "operator frame, output 'result': a `pandas.Series` is not a `DataFrame`; return its to_frame"),
        (frame, [{"a": 1}], "operator frame, output 'result': a `list` is not a `DataFrame`; return a DataFrame that contains it"),
        (path, "x.txt", "operator path, output 'result': 'x.txt' is a string; return Path.'x.txt'. for a file"),
        (content, "abc", "operator content, output 'result': 'abc' is not bytes"),
        (model, __file__, "operator model, output 'result': '.*' is a string and would be the content; return Path.'.*'. for the file with this name"),
    ],
)
def test_a_value_of_another_type(made: Any, value: Any, message: str) -> None:
    with pytest.raises(OutputError, match=message):
        made(value)
    with pytest.raises(OutputError, match=message):
        _task._write(made, made.signature.results[0], value)


def test_values_that_fit() -> None:
    assert len(frame(pandas.DataFrame({"a": [1]}))) == 1
    assert content(b"abc") == b"abc"
    assert model({"n": 1}).load() == {"n": 1}
    for value in (File("text"), Path(__file__), "two\nlines"):
        _results.check_file("op", "result", model.signature.results[0].type, value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (pandas.DataFrame({"bin": pandas.cut([1, 2, 3], 2)}), "the categories of column 'bin' are intervals, as pandas.cut makes them, which Arrow cannot represent"),
        (pandas.DataFrame({"c": [1j]}), "output 'result' cannot be written as arrow: "),
        ({"a": numpy.array([object()])}, "an array of Python objects can only be a pickle; convert it to an array of numbers or strings"),
    ],
)
def test_what_could_not_be_read_again(value: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=message):
        _formats.write(value, tmp_path, "result", "npz" if isinstance(value, dict) else None)
    assert not list(tmp_path.iterdir())
