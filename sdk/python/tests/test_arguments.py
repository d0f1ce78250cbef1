"""The options of the command for the inputs of a workflow."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import List, Optional

import pytest

from flowforge import _arguments, _times, operator, workflow

from .flows import search, values


def test_arguments_of_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.txt"
    file.write_text("1")
    read = functools.partial(_arguments.read, search.search, program="run")
    assert read(["--data", str(file), "--lr", "0.5", "--kinds", "svc", "--kinds", "forest"]) == {"data": file, "lr": 0.5, "kinds": ["svc", "forest"]}
    assert read(["--data", "rows@1"]) == {"data": "rows@1"}
    for argv, message in (
        ([], "the following arguments are required: --data"),
        (["--data", "a@1", "--lr", "7"], "argument --lr: 7 is more than 1"),
        (["--data", "a@1", "--kinds", "tree"], "argument --kinds: 'tree' is not one of 'svc', 'forest'"),
    ):
        with pytest.raises(SystemExit):
            read(argv)
        assert message in capsys.readouterr().err
    config = _arguments.read(values.values, ["--config", '{"colour": "red", "day": "2026-01-24"}', "--moment", "2026-01-02T03:04:05Z", "--person", '{"name": "a", "age": 1}', "--span", "PT1M"], "run")
    assert config["config"].colour is values.Colour.RED and config["span"].total_seconds() == 60


def test_help_shows_defaults_as_they_are_entered(capsys: pytest.CaptureFixture[str]) -> None:
    @operator
    def note(text: str) -> None: ...

    @workflow
    def flow(colour: values.Colour = values.Colour.GREEN, names: List[str] = ["a", "b"], rate: float = 0.5) -> None:
        note("x")

    with pytest.raises(SystemExit):
        _arguments.read(flow, ["-h"], "run")
    output = " ".join(capsys.readouterr().out.split())
    assert f"default: {values.Colour.GREEN.value} " in output and "default: a, b; repeat the option for each value" in output and "default: 0.5" in output


def test_lists_and_fields_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    @operator
    def note(text: str) -> None: ...

    @workflow
    def flow(config: values.Config, xs: List[int] = [1], rows: List[List[int]] = [], words: List[str] = [], layers: List[values.Adam] = [values.Adam(0.5)]) -> None:
        note("x")

    read = functools.partial(_arguments.read, flow, program="run")
    assert read(["--config.note", "a", "--xs", "[]", "--rows", "[1, 2]", "--rows", "[[3]]"]) == {"config.note": "a", "xs": [], "rows": [[1, 2], [3]]}
    assert read(["--config.layers", "[1]", "--config.layers", "2", "--xs", "[1, 2]", "--xs", "3"]) == {"config.layers": [1, 2], "xs": [1, 2, 3]}
    assert read(["--config.note", "", "--words", '["a", "b"]', "--words", "[1]", "--words", "c"]) == {"config.note": "", "words": ["a", "b", "[1]", "c"]}
    assert read(["--config.note", "a", "--layers", '[{"beta": 1}]']) == {"config.note": "a", "layers": [values.Adam(1.0)]}
    for argv, message in (
        ([], "the following arguments are required: --config"),
        (["--config.layers", '[1, "a"]'], "argument --config.layers: 'a' is not an `int`"),
        (["--config.optimizer", "3", "--layers", '[{"beta": 2}]'], "argument --layers: its field beta: 2 is more than 1"),
        (["-h"], '(List<Struct{beta: Float(min=0, max=1) = 0.9}>) default: [{"beta": 0.5}]; repeat the option for each value, or pass a JSON list'),
    ):
        with pytest.raises(SystemExit):
            read(argv)
        found = capsys.readouterr()
        assert message in " ".join((found.out + found.err).split())


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("PT1H30M", 5400), ("90s", 90), ("1h30m", 5400), ("2 h", 7200), ("1 h 30 min", 5400), ("1.5 hours", 5400), ("2d", 172800), ("250ms", 0.25), ("1W", 604800)],
)
def test_durations_as_the_launch_form_reads_them(text: str, seconds: float) -> None:
    assert _times.duration(text).total_seconds() == seconds


@pytest.mark.parametrize("text", ["2", "h", "2 x", "1h30", "2 hx", ""])
def test_texts_that_are_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration such as 90s, 1h30m or PT1H30M"):
        _times.duration(text)


def test_null_on_the_command_line() -> None:
    @operator
    def note(text: str) -> None: ...

    @workflow
    def flow(rate: Optional[float] = 0.5, kinds: Optional[List[str]] = ["a"], name: Optional[str] = "x") -> None:
        note("x")

    assert _arguments.read(flow, ["--rate", "null", "--kinds", "null", "--name", "null"], "run") == {"rate": None, "kinds": None, "name": "null"}
    assert _arguments.read(flow, ["--rate", "2", "--kinds", "b"], "run") == {"rate": 2.0, "kinds": ["b"]}
    assert _arguments.read(flow, [], "run") == {}
