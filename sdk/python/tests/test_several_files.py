"""Results that contain files, in plain Python and on a running server."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Iterator, List, Set, Union

import pytest

from flowforge import DefinitionError, File, Model, OutputError, Run, operator

from .flows import several
from .serving import server

__all__ = ["server"]


def shown(found: several.Several) -> List[Any]:
    return [
        [(path.name, path.read_text()) for path in found.parts],
        {name: table.load() for name, table in found.tables.items()},
        [(p.title, p.score, p.image.path.read_bytes(), p.raw and p.raw.load()) for p in found.plots],
        [model.load() for model in found.models],
        found.sizes,
        found.read,
    ]


def test_here_and_on_the_server(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    local = several.several(3)
    run = several.several.launch(3).wait(120)
    remote = run.result()
    assert shown(local) == shown(remote)
    assert local.read == several.Read(["part 0", "part 1", "part 2"], {"train": 3, "test": 1}, ["loss 0.0 loss None", "accuracy 1.0 accuracy {'name': 'accuracy'}"], ["svc", "forest"])
    assert run.artifacts["parts.result[1]"].load() == b"part 1"
    assert run.artifacts["plots.result[1].raw"].load() == {"name": "accuracy"}
    assert run.artifacts["by_name.result.train"].kind == "Dataset"

    untyped = Run(run.id).outputs
    assert [model.load() for model in untyped["models"]] == [{"kind": "svc"}, {"kind": "forest"}]
    assert isinstance(untyped["models"][0], Model) and untyped["models"][0].artifact[1] == run.artifacts["models.result[0]"].id
    assert remote.tables["train"].artifact[1] == run.artifacts["by_name.result.train"].id

    # Files of a run and local files are inputs, with their lineage.
    note = tmp_path / "note.txt"
    note.write_text("12345")
    given: Dict[str, Any] = {"a": remote.tables["train"], "b": note}
    assert several.measured.launch(given).wait(120).result() == several.measured({"a": remote.tables["train"].path, "b": note})  # type: ignore[dict-item]


def test_results_that_the_workflow_builds(server: Any, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("12345")
    for found in (several.built([File(note)]), several.built.launch([File(note)]).wait(120).result()):
        assert [model.load() for model in found.models] == [{"n": 1}, {"n": 2}]
        assert found.named["a"].load() == {"n": 1} and found.given[0].path.read_text() == "12345"


def test_resumed_and_cached(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = several.several.launch(1, kinds=["svc"]).wait(120)
    again = run.resume({"kinds": ["forest"]}, from_node="models").wait(120)
    assert [model.load() for model in again.outputs["models"]] == [{"kind": "forest"}]
    assert [path.read_text() for path in several.several.launch(1).wait(120).result().parts] == ["part 0"]


@operator
def files(value: Any) -> List[File]:
    return value  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([Path("nowhere.txt")], r"operator files, output 'result, file 1': the file .*nowhere.txt does not exist"),
        ([File({}), None], r"operator files, output 'result, file 2': the function returned None, but declares `File`"),
        (File("text"), r"operator files, output 'result': File\(.*\) is not a `[Ll]ist\[File\]`"),
        ([File(object())], r"operator files, output 'result, file 1': a builtins.object has no file format"),
        ([__file__], r"operator files, output 'result, file 1': '.*' is a string and would be the content; return Path"),
        ([File(1)] * 1001, r"operator files, output 'result' contains more than 1,000 files; return a Directory"),
    ],
)
def test_wrong_values(value: Any, message: str) -> None:
    with pytest.raises(OutputError, match=message):
        files(value)


def test_a_local_file_that_does_not_exist(server: Any) -> None:
    with pytest.raises(DefinitionError, match=r"test_several_files.py:\d+: files: the file nothing.csv does not exist in /"):
        several.measured.launch({"a": Path("nothing.csv")})  # type: ignore[dict-item]


def test_a_generator_of_files() -> None:
    assert [file.load() for file in files(File(n) for n in range(2))] == [0, 1]


def union(n: int) -> List[Union[File, int]]:
    raise NotImplementedError


def unordered(n: int) -> Set[Path]:
    raise NotImplementedError


def streams(n: int) -> Dict[str, Iterator[int]]:
    raise NotImplementedError


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (union, r"test_several_files.py:\d+: the result 'result' of union contains files in the union `.*`. Return them in a list, a dict, a dataclass or a NamedTuple"),
        (unordered, r"the result 'result' of unordered contains files in the set `Set\[.*Path\]`, which has no order"),
        (streams, r"the result 'result' of streams contains files in an iterator, which is an output of its own"),
    ],
)
def test_types_without_a_place_for_files(function: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        operator(function)
