"""Types that Python files declare are registered with the workflow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, List, Optional

import pytest

from flowforge import CustomType, DefinitionError, Length, Range, operator, workflow
from flowforge import _custom
from flowforge._annotations import read

from .flows import custom
from .serving import server

__all__ = ["server"]

Taken = Annotated[float, CustomType("TestTaken", register=True), Range(0, 1)]


@operator
def same(value: Taken) -> Taken:
    return value


@workflow
def taken(value: Taken) -> Taken:
    return same(value)


def test_the_document_names_the_type() -> None:
    d = custom.detection.definition()
    assert [i["type"] for i in d.document()["inputs"]] == ["Optional<TestShare>"]
    assert [o["type"] for o in d.document()["outputs"]] == ["List<TestDetection>", "TestRanking"]
    found = {one["type_name"]: one for one in _custom.documents(d.document())}
    assert list(found)[:2] == ["TestShare", "TestDetection"]
    assert found["TestShare"]["extends"] == "Float(min=0, max=1)" and found["TestShare"]["ui_renderer"]["inputs"] is True
    assert found["TestDetection"]["extends"] == "Struct{left: Integer, share: TestShare = 0.5}"
    assert found["TestRanking"] == {"type_name": "TestRanking", "extends": "Model"}
    with pytest.raises(DefinitionError, match="detection: share: 2.0 is more than 1; its type is Optional<TestShare>"):
        custom.detection(2.0)


def test_on_the_server(server: Any) -> None:
    local = custom.detection(0.75)
    remote = custom.detection.launch(0.75).wait(120).result()
    assert remote.boxes == local.boxes == [custom.Box(1, 0.75)]
    assert isinstance(remote.model, custom.Ranking) and remote.model.load() == {"weights": [0.75]}
    found = server.get("/types/TestShare")
    assert (found["extends"], found["summary"]) == ("Float(min=0, max=1)", "A part of a whole.") and found["ui_renderer"]["inputs"] is True
    custom.detection.deploy()  # the types are there already


def test_another_definition_of_a_registered_type(server: Any) -> None:
    server.post("/types", {"type_name": "TestTaken", "extends": "Float(min=0)"})
    message = r"test_custom_types.py:\d+: the type TestTaken is registered with a different base type, Float\(min=0\) instead of Float\(min=0, max=1\). Types never change: use another name"
    with pytest.raises(DefinitionError, match=message):
        _custom.register(taken.definition(), server)


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (Annotated[float, CustomType("rate")], "'rate' is not the name of a type; use letters and digits, and begin with a capital letter"),
        (Annotated[float, CustomType("Float")], "'Float' is a built-in type; use another name"),
        (Annotated[List[int], CustomType("TestSizes", inputs=True)], "the renderer of TestSizes cannot edit a List; inputs=True requires one of String, "),
    ],
)
def test_mistakes(annotation: Any, message: str) -> None:
    def flow(value: int) -> int:
        return value

    flow.__annotations__["value"] = annotation
    with pytest.raises(DefinitionError, match=rf"test_custom_types.py:\d+: parameter 'value' of flow: {message}"):
        operator(flow)


def test_a_renderer_that_does_not_exist() -> None:
    with pytest.raises(DefinitionError, match=r"test_custom_types.py:\d+: the renderer of TestRate does not exist: .*/tests/nothing.html"):
        CustomType("TestRate", renderer="nothing.html")


def test_types_without_a_declaration_are_not_registered() -> None:
    t = read(Annotated[Optional[List[int]], Length(1, 2), CustomType("TestKnown")]).type
    assert t.text() == "Optional<TestKnown>" and "TestKnown" not in _custom._DECLARED


def test_another_renderer_is_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.html"
    page.write_text("one")
    monkeypatch.setattr(_custom._DECLARED["TestShare"].word, "renderer", page)
    before = custom.detection.definition().content()
    assert custom.detection.definition().content() == before
    page.write_text("two")
    assert custom.detection.definition().content() != before
    page.write_text("x" * (512 << 10) + "x")
    with pytest.raises(DefinitionError, match=r"flows/custom.py:\d+: the renderer of TestShare, .*page.html, has more than 512 KiB; make the page smaller"):
        custom.detection.definition().content()
