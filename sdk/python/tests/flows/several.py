"""Results that contain files: lists, dicts and structures of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

from flowforge import Dataset, File, Image, Model, foreach, operator, workflow


@dataclass
class Plot:
    title: str
    image: Image
    score: float = 0.0
    raw: Optional[File] = None


@operator
def parts(count: int) -> List[Path]:
    paths = []
    for n in range(count):
        path = Path(f"part-{n}.txt")
        path.write_text(f"part {n}")
        paths.append(path)
    return paths


@operator
def by_name(rows: int) -> Dict[str, Dataset]:
    return {"train": Dataset([[n] for n in range(rows)]), "test": Dataset([[0]])}


@operator
def plots(names: List[str]) -> List[Plot]:
    return [Plot(name, Image(b"\x89PNG" + name.encode(), format="raw"), n, File({"name": name}) if n else None) for n, name in enumerate(names)]


@operator
def size(part: Path) -> int:
    return len(part.read_bytes())


@operator
def models(kinds: List[str]) -> List[Model]:
    return [Model({"kind": kind}) for kind in kinds]


class Read(NamedTuple):
    texts: List[str]
    rows: Dict[str, int]
    titles: List[str]
    kinds: List[str]


@operator
def read(files: List[Path], tables: Dict[str, Dataset], plots: List[Plot], models: List[Model]) -> Read:
    return Read(
        [file.read_text() for file in files],
        {name: len(table.load()) for name, table in tables.items()},
        [f"{p.title} {p.score} {p.image.path.read_bytes()[4:].decode()} {p.raw.load() if p.raw else None}" for p in plots],
        [model.load()["kind"] for model in models],
    )


class Several(NamedTuple):
    parts: List[Path]
    tables: Dict[str, Dataset]
    plots: List[Plot]
    models: List[Model]
    sizes: List[int]
    read: Read


@workflow
def several(count: int = 2, kinds: List[str] = ["svc", "forest"]) -> Several:
    files, tables, drawn, made = parts(count), by_name(3), plots(["loss", "accuracy"]), models(kinds)
    found = read(files, tables, drawn, made)
    return Several(files, tables, drawn, made, foreach(files, lambda part: size(part)), found)


@operator
def lengths(files: Dict[str, File]) -> Dict[str, int]:
    return {name: len(file.path.read_bytes()) for name, file in files.items()}


@workflow
def measured(files: Dict[str, File]) -> Dict[str, int]:
    return lengths(files)


@operator
def one(n: int) -> Model:
    return Model({"n": n})


class Built(NamedTuple):
    models: List[Model]
    named: Dict[str, Model]
    given: List[File]


@workflow
def built(given: List[File]) -> Built:
    first, second = one(1), one(2)
    return Built([first, second], {"a": first}, given)
