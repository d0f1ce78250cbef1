"""Operators on a running server are forks of a warm process unless they ask for their own."""

from __future__ import annotations

import os
from typing import Any, Iterator, List

import pytest

from .flows import forks
from .running import Running


@pytest.fixture(scope="module")
def server(running: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("warm")
    before = dict(os.environ)
    os.environ.update(FLOWFORGE_SERVER=running.url, FLOWFORGE_TOKEN=running.token, XDG_CACHE_HOME=str(folder), XDG_CONFIG_HOME=str(folder))
    yield running
    os.environ.clear()
    os.environ.update(before)


def test_operators_are_forks(server: Running) -> None:
    forked, own, seen = forks.forks.launch().wait(120).result()
    assert (forked, own, seen) == (True, False, [])


def test_document_says_fresh() -> None:
    operators: List[Any] = forks.forks.definition().document()["operators"]
    assert {o["name"]: o.get("fresh") for o in operators} == {"leave": None, "own_interpreter": True, "find": None}
    assert "fresh: true" in forks.forks.definition().yaml()
