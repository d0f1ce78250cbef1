"""Values become files and come back. Libraries are stood in for by modules that keep what they get."""

from __future__ import annotations

import json
import pickle
import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List

import pytest

from flowforge import Client, InputError, OutputError, _formats
from flowforge._config import Config


@pytest.fixture
def folders(tmp_path: Path) -> Config:
    (tmp_path / "outputs").mkdir()
    return replace(Config.from_env({}), inputs=tmp_path / "inputs.json", outputs=tmp_path / "outputs")


def again(config: Config, path: Path, **options: Any) -> Any:
    assert config.inputs is not None
    config.inputs.write_text(json.dumps({"x": str(path)}))
    return Client(config).load("x", **options)


@pytest.mark.parametrize(
    ("value", "extension"),
    [({"a": [1, 2.5, None]}, ".json"), ([], ".json"), ("text", ".json"), (None, ".json"), (b"\x00\xff", ".bin"), (bytearray(b"ab"), ".bin")],
)
def test_plain_values(folders: Config, value: Any, extension: str) -> None:
    path = Client(folders).save("x", value)
    assert path.name == "x" + extension
    assert again(folders, path) == value
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_pickles_are_read_when_they_are_trusted(folders: Config) -> None:
    path = Client(folders).save("x", {1, 2}, format="pickle")
    with pytest.raises(InputError, match="may run code"):
        again(folders, path)
    assert again(folders, path, allow_pickle=True) == {1, 2}


def test_values_that_are_no_files(folders: Config) -> None:
    assert folders.inputs is not None
    folders.inputs.write_text(json.dumps({"lr": 0.1, "name": "no such file"}))
    client = Client(folders)
    assert client.load("lr") == 0.1
    assert client.load("name") == "no such file"
    with pytest.raises(InputError, match="there is no input"):
        client.load("other")


class Odd:
    def __reduce__(self) -> Any:
        raise pickle.PicklingError("never")


@pytest.mark.parametrize(
    ("value", "form", "message"),
    [
        (Odd(), None, "no default format for .*Odd"),
        (Odd(), "pickle", "cannot be written as pickle: never"),
        (1, "xml", "unknown format 'xml'; the formats are: json, arrow"),
        ({"a": float("nan")}, None, "cannot be written as json"),
        ("text", "raw", "cannot be written as raw"),
        ({1}, "json", "cannot be written as json"),
    ],
)
def test_what_cannot_be_written(folders: Config, value: Any, form: Any, message: str) -> None:
    with pytest.raises(OutputError, match=message):
        Client(folders).save("x", value, format=form)
    assert folders.outputs is not None
    assert list(folders.outputs.iterdir()) == []


def test_libraries_that_are_not_there(folders: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(OutputError, match="torch needs torch, which is not installed"):
        Client(folders).save("x", 1, format="torch")
    assert folders.outputs is not None
    path = folders.outputs / "model.pth"
    path.write_bytes(b"weights")
    with pytest.raises(InputError, match="torch needs torch, which is not installed"):
        again(folders, path)


def test_damaged_files(folders: Config) -> None:
    assert folders.outputs is not None
    path = folders.outputs / "x.json"
    path.write_text("{")
    with pytest.raises(InputError, match="cannot be read as json"):
        again(folders, path)


def made_by(module: str, name: str, **members: Any) -> Any:
    """A value whose type says that a library made it."""
    return type(name, (), {"__module__": module, **members})()


def test_formats_follow_types_and_sizes() -> None:
    small, large = _formats.ARROW_LIMIT - 1, _formats.ARROW_LIMIT
    sums: List[Any] = [types.SimpleNamespace(sum=lambda n=n: n) for n in (small, large)]
    for n, usage, want in ((small, sums[0], "arrow"), (large, sums[1], "parquet")):
        assert _formats.format_for(made_by("pyarrow.lib", "Table", nbytes=n)) == want
        assert _formats.format_for(made_by("pandas.core.frame", "DataFrame", memory_usage=lambda self, index, deep, u=usage: u)) == want
    array = made_by("numpy", "ndarray", dtype=types.SimpleNamespace(hasobject=False))
    objects = made_by("numpy", "ndarray", dtype=types.SimpleNamespace(hasobject=True))
    tensor = made_by("torch", "Tensor")
    named: Dict[str, Any] = {"w": array, "b": array}
    cases: List[Any] = [(array, "npz"), (objects, None), (named, "npz"), (tensor, "torch"), ({"w": tensor}, "torch"), ({}, "json"), (Odd(), None)]
    for value, expected in cases:
        assert _formats.format_for(value) == expected


def test_torch_reads_no_code(folders: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    options_used: Dict[str, Any] = {}
    torch = types.ModuleType("torch")

    def load(path: str, **options: Any) -> str:
        options_used.update(options)
        return Path(path).read_text()

    setattr(torch, "save", lambda value, path: Path(path).write_text(value))
    setattr(torch, "load", load)
    monkeypatch.setitem(sys.modules, "torch", torch)
    path = Client(folders).save("x", "weights", format="torch")
    assert again(folders, path) == "weights"
    assert options_used["weights_only"] is True
