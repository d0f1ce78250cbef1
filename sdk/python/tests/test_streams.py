"""Items are written one by one, and read while they are written."""

from __future__ import annotations

import datetime
import json
import os
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Dict, Iterator, List, Literal, Optional, Set, Tuple, TypedDict, Union

import pytest

from flowforge import Client, DefinitionError, InputError, OutputError, operator, workflow
from flowforge._config import Config


@pytest.fixture
def folders(tmp_path: Path) -> Config:
    return replace(Config.from_env({}), inputs=tmp_path / "inputs.json", outputs=tmp_path / "outputs")


def reader(config: Config, path: Path) -> Client:
    assert config.inputs is not None
    config.inputs.write_text(json.dumps({"rows": str(path)}))
    return Client(config)


def test_each_item_is_there_when_it_is_written(folders: Config) -> None:
    assert folders.outputs is not None
    path = folders.outputs / "rows.jsonl"
    with Client(folders).writer("rows") as rows:
        assert path.read_text() == ""
        rows.write({"n": 1})
        assert path.read_text() == '{"n": 1}\n'
        rows.write([2, "zwei\n", None])
        assert list(reader(folders, path).items("rows")) == [{"n": 1}, [2, "zwei\n", None]]
    with pytest.raises(OutputError, match="is closed"):
        rows.write(3)


def test_a_generator_is_written_as_it_goes(folders: Config) -> None:
    assert folders.outputs is not None
    path = folders.outputs / "rows.jsonl"

    def made() -> Iterator[int]:
        for n in range(3):
            assert path.read_text() == "".join(f"{k}\n" for k in range(n))
            yield n

    assert Client(folders).write_items("rows", made()) == 3
    assert list(reader(folders, path).items("rows")) == [0, 1, 2]
    assert Client(folders).write_items("none", []) == 0


def test_items_come_through_a_pipe_one_by_one(folders: Config, tmp_path: Path) -> None:
    """The writer continues only after the reader has read its item."""
    path = tmp_path / "rows"
    os.mkfifo(path)
    seen = [threading.Event() for _ in range(5)]

    def write() -> None:
        with path.open("w") as pipe:
            for n, event in enumerate(seen):
                pipe.write(json.dumps({"n": n}) + "\n")
                pipe.flush()
                assert event.wait(30)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    client = reader(folders, path)
    with pytest.raises(InputError, match="still being written"):
        client.load("rows")
    assert client.input_path("rows") == path
    got = []
    for row in client.items("rows"):
        got.append(row["n"])
        seen[row["n"]].set()
    assert got == [0, 1, 2, 3, 4]
    writer.join(30)


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), object()])
def test_what_json_cannot_hold(folders: Config, value: Any) -> None:
    with Client(folders).writer("rows") as rows:
        with pytest.raises(OutputError, match="rows"):
            rows.write(value)


def test_names_and_lines_that_are_wrong(folders: Config, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="valid name of an output"):
        Client(folders).writer("../rows")
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'1\n\n{"half"\n')
    items = reader(folders, path).items("rows")
    assert next(items) == 1
    with pytest.raises(InputError, match="line 3 of input 'rows' is not valid JSON"):
        next(items)
    path.write_bytes(b"\xff\n")
    with pytest.raises(InputError, match="cannot be read"):
        list(Client(folders).items("rows"))
    with pytest.raises(InputError, match="there is no input"):
        Client(folders).items("other")


def test_every_consumer_of_a_local_run_reads_all_items() -> None:
    made: List[int] = []

    @operator
    def numbers(limit: int) -> Iterator[int]:
        for n in range(limit):
            made.append(n)
            yield n

    @operator
    def total(values: Iterator[int]) -> int:
        return sum(values)

    @operator
    def first(values: Iterator[int]) -> int:
        return next(values)

    @workflow
    def flow(limit: int, more: Iterator[int]) -> Tuple[int, int, int, int, int]:
        items = numbers(limit)
        return first(items), total(items), total(items), total(more), total(more)

    assert flow(4, iter([1, 2])) == (0, 6, 6, 3, 3)
    assert made == [0, 1, 2, 3]
    assert list(numbers(3)) == [0, 1, 2]


class Row(TypedDict):
    name: str
    values: List[Optional[float]]


@dataclass
class Point:
    x: int


@pytest.mark.parametrize("items", [int, Any, Row, Dict[str, Any], Optional[str], List[Row], Literal["a"], Union[int, str]])
def test_items_of_json(items: Any) -> None:
    def made() -> None: ...

    made.__annotations__["return"] = Iterator[items]
    assert operator(made).signature.results[0].type.stream


@pytest.mark.parametrize("items", [Point, bytes, Tuple[int, str], datetime.date, Dict[int, str], List[Point], Set[int], Path])
def test_items_that_are_not_json(items: Any) -> None:
    def made() -> None: ...

    made.__annotations__["return"] = Iterator[items]
    with pytest.raises(DefinitionError, match="the items of `.*` are not JSON values: items are passed as lines of JSON"):
        operator(made)
