"""Figures, pictures and arrays become images, and several of them a report."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any, List

import numpy
import pandas
import pytest

from flowforge import DefinitionError, Image, OutputError, Report, operator
from flowforge import _task


class Figure:
    """Has what figures of matplotlib have."""

    def savefig(self, file: Any, format: str, bbox_inches: str) -> None:
        file.write(f"{format} {bbox_inches}".encode())


class Picture:
    """Has what pictures of Pillow have."""

    def _repr_png_(self) -> bytes:
        return b"picture"


class Nothing:
    def _repr_png_(self) -> None:
        return None


@operator
def image(value: Any) -> Image:
    return value  # type: ignore[no-any-return]


@operator
def report(value: Any) -> Report:
    return value  # type: ignore[no-any-return]


def written(made: Any, value: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that a task writes."""
    monkeypatch.chdir(folder)
    _task._write(made, made.signature.results[0], value)
    found: List[Path] = list((folder / "flowforge-outputs").iterdir())
    return found[0]


def test_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert image(Figure()).path.read_bytes() == image(Image(Figure())).path.read_bytes() == b"png tight"
    assert image(Picture()).path.name == "image.png"
    path = written(image, Figure(), tmp_path, monkeypatch)
    assert (path.name, path.read_bytes()) == ("result.png", b"png tight")
    with pytest.raises(OutputError, match="cannot be written as png: the Nothing cannot be written as PNG"):
        image(Nothing()).path


def pixels(png: bytes) -> bytes:
    assert png.startswith(b"\x89PNG")
    start = png.index(b"IDAT")
    (length,) = struct.unpack(">I", png[start - 4 : start])
    return zlib.decompress(png[start + 4 : start + 4 + length])


def test_arrays_are_pixels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pixels(image(numpy.array([[0.0, 1.0], [0.5, 2.0]])).path.read_bytes()) == b"\0\x00\xff\0\x80\xff"
    assert pixels(image(numpy.array([[[1, 2, 3]]], numpy.int64)).path.read_bytes()) == b"\0\x01\x02\x03"
    path = written(image, numpy.zeros((2, 3), bool), tmp_path, monkeypatch)
    assert path.name == "result.png" and pixels(path.read_bytes()) == b"\0\0\0\0" * 2
    for wrong in (numpy.zeros(3), numpy.zeros((2, 2, 7)), numpy.full((2, 2), 300)):
        with pytest.raises(OutputError, match=r"cannot be written as png: an array of shape \(.*\) is not an image: use height × width"):
            image(wrong).path


def test_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = report(["<h1>Loss</h1>", Figure(), Picture(), pandas.DataFrame({"a<b": [1]}), {"x": "<y>"}]).load()
    assert page.startswith("<!doctype html>") and "<h1>Loss</h1>" in page and page.count("data:image/png;base64,") == 2
    assert "<th>a&lt;b</th>" in page and "<pre>{&#x27;x&#x27;: &#x27;&lt;y&gt;&#x27;}</pre>" in page
    assert report("<p>as it is</p>").load() == "<p>as it is</p>"
    path = written(report, Report([Figure()]), tmp_path, monkeypatch)
    assert path.name == "result.html" and "data:image/png;base64," in path.read_text()


def test_the_class_of_a_figure_is_no_type() -> None:
    def draw() -> Figure:
        raise NotImplementedError

    with pytest.raises(DefinitionError, match=r"test_figures.py:\d+: the result of draw: `Figure` has no type. Use Image, and return Image\(figure\)"):
        operator(draw)
