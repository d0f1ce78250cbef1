"""The files that `flowforge dev` watches."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Callable, Iterator

import pytest

from flowforge import DefinitionError, _dev, _git, _pack


def test_an_error_of_the_command_names_no_line(tmp_path: Path) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\necho no such luck >&2\nexit 1\n")
    (tmp_path / "git").chmod(0o755)
    (tmp_path / "flow.py").write_text("")
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen([sys.executable, "-m", "flowforge", "dev", "flow.py"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as dev:
        try:
            assert dev.stderr is not None
            assert dev.stderr.readline().startswith("flowforge: git cannot list the files of ")
        finally:
            dev.kill()


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Callable[[Iterator[None]], None]:
    """Let a generator run one step at each look instead of waiting."""

    def install(generator: Iterator[None]) -> None:
        left = iter(range(1000))

        def sleep(seconds: float) -> None:
            assert next(left, None) is not None, "the change is not noticed"
            next(generator, None)

        monkeypatch.setattr(_dev, "time", SimpleNamespace(sleep=sleep))

    return install


def test_files_in_folders_that_were_empty(tmp_path: Path, steps: Callable[[Iterator[None]], None]) -> None:
    file = tmp_path / "flow.py"
    file.write_text("")
    watched = _dev._Watched(file)
    registered = watched.list()
    (tmp_path / "new" / "inner").mkdir(parents=True)

    def change() -> Iterator[None]:
        yield
        (tmp_path / "new" / "inner" / "rates.csv").write_text("1\n")

    steps(change())
    assert {path.name for path in watched.wait(registered)} == {"rates.csv"}


def test_an_error_does_not_end_the_watching(tmp_path: Path, steps: Callable[[Iterator[None]], None], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "code" / "flow.py"
    file.parent.mkdir()
    file.write_text("")
    programs = os.environ["PATH"]
    watched = _dev._Watched(file)
    registered = watched.list()
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "git").write_text("#!/bin/sh\necho no such luck >&2\nexit 1\n")
    (broken / "git").chmod(0o755)

    def change() -> Iterator[None]:
        monkeypatch.setenv("PATH", str(broken))
        yield from [None] * 40
        monkeypatch.setenv("PATH", programs)
        yield from [None] * 20
        file.write_text("rate = 1\n")

    steps(change())
    assert "flow.py" in {path.name for path in watched.wait(registered)}
    assert capfd.readouterr().err.count("no such luck") == 1


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    file = tmp_path / "flow.py"
    file.write_text("")
    (tmp_path / os.fsdecode(b"rates\xff.csv")).write_text("1\n")
    _git._git(tmp_path, "init", "--quiet")
    assert [os.fsencode(path.name) for path in _pack.near(file)] == [b"flow.py", b"rates\xff.csv"]
    code = _pack.Code(tmp_path, tuple(_git.files(tmp_path)))
    assert len(code.digest()) == 64 and code.archive()


def test_tasks_cannot_get_files_whose_names_are_not_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "raw_names.py").write_text("def f(): ...\n")
    (tmp_path / os.fsdecode(b"rates\xff.csv")).write_text("1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    function = importlib.import_module("raw_names").f
    with pytest.raises(DefinitionError, match=r"the name of the file rates\\xff\.csv in .* is not UTF-8, so tasks cannot get it: rename the file, or list it in \.gitignore"):
        _pack.collect(function)
    _git._git(tmp_path, "init", "--quiet")
    (tmp_path / ".gitignore").write_text("*.csv\n")
    assert _pack.collect(function).files == ("raw_names.py",)


def test_the_repository_of_a_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("inner", "hook"):
        (tmp_path / name).mkdir()
        _git._git(tmp_path / name, "init", "--quiet")
        (tmp_path / name / f"{name}.py").write_text("")
        _git._git(tmp_path / name, "add", ".")
        _git._git(tmp_path / name, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", name)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "hook" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "hook"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "hook" / ".git" / "index"))
    assert _git.files(tmp_path / "inner") == ["inner.py"]
    state = _git.state(tmp_path / "inner")
    assert (state["subject"], state["dirty"]) == ("inner", False)
