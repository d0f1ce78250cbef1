"""An exception is described with frames, source and names of locals, never with their values."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, Dict, Set

import pytest

from flowforge import _failure
from flowforge._traceback import trim

HERE = str(Path(__file__).resolve().parents[1])


def described(folder: Path, code: str, call: str = "main()") -> Dict[str, Any]:
    """Return what a task with this code writes when it fails."""
    (folder / "flow.py").write_text(textwrap.dedent(code))
    task = f"import sys; sys.path[:0] = ['.', {HERE!r}]\nfrom flowforge import _traceback\ndef run():\n    import flow\n    flow.{call}\n_traceback.guard(run)"
    file = folder / "traceback"
    done = subprocess.run([sys.executable, "-c", task], cwd=folder, env={"FLOWFORGE_TRACEBACK": str(file), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert file.stat().st_size <= _failure.LIMIT
    found: Dict[str, Any] = json.loads(file.read_text())
    found["log"] = done.stderr
    return found


def test_frames_and_names_without_values(tmp_path: Path) -> None:
    found = described(
        tmp_path,
        """
        import json

        class Empty(ValueError):
            pass

        def main():
            api_key = "s3cr" + "3t"
            rows = [1, 2]
            try:
                json.loads("[1", parse_int=int)
            except ValueError as err:
                raise Empty("no rows") from err
        """,
    )
    first, cause = found["exceptions"]
    assert (first["type"], first["message"]) == ("flow.Empty", "no rows")
    frame = first["frames"][-1]
    assert frame == {
        "file": "flow.py",
        "line": 13,
        "function": "main",
        "first": 10,
        "source": ["    try:", '        json.loads("[1", parse_int=int)', "    except ValueError as err:", '        raise Empty("no rows") from err'],
        "locals": ["api_key", "rows"],
    }
    assert (cause["relation"], cause["type"]) == ("cause", "json.decoder.JSONDecodeError")
    assert [f.get("library", "") for f in cause["frames"]] == ["", "Python", "Python", "Python"]
    assert cause["frames"][1]["file"] == "json/__init__.py"
    assert all("locals" not in f for f in cause["frames"][1:])
    assert "s3cr3t" not in json.dumps(found)


def test_recursion_and_long_texts_are_cut_and_counted(tmp_path: Path) -> None:
    found = described(
        tmp_path,
        """
        def main(n=0):
            if n == 500:
                raise ValueError("many words " * 500)
            main(n + 1)
        """,
    )
    (only,) = found["exceptions"]
    assert len(only["frames"]) + only["omitted"] == 502  # with the line that calls main
    assert only["message"].endswith(f"many … ({5500 - 1996} more characters)")


def test_a_cut_shows_no_part_of_a_word(tmp_path: Path) -> None:
    """Masking recognizes whole secrets only."""
    found = described(
        tmp_path,
        """
        def main():
            raise ValueError("a" * 1990 + " " + "s3cr3t" * 10)
        """,
    )
    assert found["exceptions"][0]["message"] == "a" * 1990 + " … (60 more characters)"


def test_many_large_causes_fit(tmp_path: Path) -> None:
    found = described(
        tmp_path,
        """
        def main(n=0):
            long = "€" * 190  # €€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€
            try:
                if n < 20:
                    main(n + 1)
            finally:
                raise ValueError(long * 20)
        """,
    )
    assert len(found["exceptions"]) == _failure.EXCEPTIONS
    assert found["omitted"] == 21 - _failure.EXCEPTIONS


def test_syntax_errors_and_broken_messages(tmp_path: Path) -> None:
    found = described(tmp_path, "def main(:\n    pass\n")
    (only,) = found["exceptions"]
    assert [(f["file"], f["line"]) for f in only["frames"]][-1] == ("flow.py", 1)
    found = described(
        tmp_path,
        """
        class Broken(Exception):
            def __str__(self):
                raise ValueError

        def main():
            raise Broken
        """,
    )
    assert found["exceptions"][0]["message"] == "The message cannot be written as a string."


def test_messages_have_no_colors(tmp_path: Path) -> None:
    found = described(tmp_path, 'def main():\n    raise ValueError("\\x1b[1;31mred\\x1b[0m is 3")\n')
    assert found["exceptions"][0]["message"] == "red is 3"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="groups of exceptions came with Python 3.11")
def test_parts_of_groups(tmp_path: Path) -> None:
    found = described(tmp_path, 'def main():\n    raise ExceptionGroup("both", [ValueError("a"), TypeError("b")])\n')
    assert [(e.get("relation", ""), e["type"]) for e in found["exceptions"]] == [("", "ExceptionGroup"), ("part", "ValueError"), ("part", "TypeError")]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have notes since Python 3.11")
def test_notes(tmp_path: Path) -> None:
    found = described(
        tmp_path,
        """
        def main():
            err = ValueError("bad row")
            err.add_note("in rates.csv, line 3")
            raise err
        """,
    )
    assert found["exceptions"][0]["message"] == "bad row\nin rates.csv, line 3"


def test_errors_of_the_package_have_no_frames(tmp_path: Path) -> None:
    (tmp_path / "traceback").write_text("{}")
    found = described(tmp_path, "from flowforge.exceptions import OutputError\n\ndef main():\n    raise OutputError('output x is missing')\n")
    assert "exceptions" not in found


def test_long_chains_of_exceptions_are_trimmed() -> None:
    last: BaseException = ValueError("first")
    for _ in range(5000):
        following = ValueError("next")
        following.__context__, last = last, following
    seen: Set[int] = set()
    trim(last, seen)
    assert len(seen) == 5001
    while last.__context__ is not None:  # the destructor of a long chain would be deep, too
        last, last.__context__ = last.__context__, None


def test_an_exception_that_cannot_be_described_is_shown(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from flowforge._traceback import guard\ndef main():\n    raise type('Odd', (Exception,), {'__module__': None})('shown')\nguard(main)"],
        capture_output=True, text=True, cwd=Path(__file__).parents[1], env={**os.environ, "FLOWFORGE_TRACEBACK": str(tmp_path / "traceback")},
    )  # fmt: skip
    assert done.returncode == 1 and "shown" in done.stderr and "TypeError" not in done.stderr
