"""Texts that UTF-8 cannot represent: they are errors, and never become other characters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, NamedTuple

import pytest

from flowforge import _files, foreach, operator, workflow
from flowforge._api import Server
from flowforge._arguments import read
from flowforge._config import Config
from flowforge.exceptions import DefinitionError, OutputError, ServerError

LONE = b"caf\xe9".decode("utf-8", "surrogateescape")
REASON = r"contains the lone surrogate '\\udce9', which UTF-8 and JSON cannot represent"


@dataclass
class Note:
    title: str
    tags: List[str]


class Parts(NamedTuple):
    number: int
    note: str


@operator
def text() -> str:
    return LONE


@operator
def parts() -> Parts:
    return Parts(1, LONE)


@operator
def notes() -> List[Note]:
    return [Note("first", []), Note("second", ["x", LONE])]


@operator
def anything() -> Dict[str, Any]:
    return {"deep": {LONE: 1}}


@operator
def nul() -> str:
    return "a\x00b"


@operator
def length(value: str, other: Any = None) -> int:
    return len(value)


@workflow
def measured(value: str, other: Any = None) -> int:
    return length(value, other)


@workflow
def constant() -> int:
    return length(LONE)


@workflow
def repeated() -> List[int]:
    return foreach(["a", LONE], lambda value: length(value))


def test_results_name_operator_output_and_field() -> None:
    with pytest.raises(OutputError, match="^operator text, output 'result': the text " + REASON):
        text()
    with pytest.raises(OutputError, match="^operator parts, output 'note': the text " + REASON):
        parts()
    with pytest.raises(OutputError, match=r"^operator notes, output 'result': the text at \[1\]\['tags'\]\[1\] " + REASON):
        notes()
    with pytest.raises(OutputError, match=r"^operator anything, output 'result': the key 'caf\\udce9' " + REASON):
        anything()
    with pytest.raises(OutputError, match=r"^operator nul, output 'result': the text contains the character NUL"):
        nul()


def test_inputs_and_constants() -> None:
    with pytest.raises(DefinitionError, match="measured: value: the text " + REASON):
        measured(LONE)
    with pytest.raises(DefinitionError, match=r"measured: other: the text at \['a'\] " + REASON):
        measured("x", {"a": LONE})
    with pytest.raises(DefinitionError, match="length: value: the text " + REASON):
        constant.definition()
    with pytest.raises(DefinitionError, match=r"foreach: the text at \[1\] " + REASON):
        repeated.definition()
    assert measured("😀 é", {"a": ["é"]}) == 3


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read(measured, ["--value", LONE], "flowforge run flow.py")
    assert "argument --value: the text contains the lone surrogate '\\udce9'" in capsys.readouterr().err


def test_the_client(config: Config) -> None:
    with pytest.raises(ServerError, match=r"POST /executions: the text at \['inputs'\]\['value'\] " + REASON):
        Server("http://127.0.0.1:1", "t").post("/executions", {"inputs": {"value": LONE}})
    with pytest.raises(OutputError, match="^output 'a': the text " + REASON):
        _files.write_output(config, "a", LONE)
    assert config.outputs is not None and not Path(config.outputs, "a").exists()
    _files.save_checkpoint(config, {"name": LONE})
    assert _files.load_checkpoint(config) == {"name": LONE}, "a checkpoint returns to Python as it was"
