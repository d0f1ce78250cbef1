"""Files that a launch gets as strings: paths that exist are uploaded, and references are sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List

import pytest

from flowforge import _launch
from flowforge._schema import Type
from flowforge.exceptions import DefinitionError


class Uploads:
    """A server that stores what it gets."""

    def __init__(self) -> None:
        self.names: List[str] = []

    def upload(self, data: Any, filename: str) -> Dict[str, Any]:
        self.names.append(filename)
        return {"$file": filename}


def test_a_missing_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("a\n1\n")
    server: Any = Uploads()
    table = Type("Table")
    assert _launch.upload(server, table, "rows.csv", "table") == {"$file": "rows.csv"}
    for reference in ("digits@1", "digits", "vision/digits.rows", "s3://bucket/rows.csv", "rows.csv@2"):
        assert _launch.upload(server, table, reference, "table") == reference
    for missing in ("nope.csv", "./rows", "data/rows.parquet"):
        with pytest.raises(DefinitionError, match=f"table: the file {missing} does not exist in .*; for an entry of the catalogue, write name@version"):
            _launch.upload(server, table, missing, "table")
