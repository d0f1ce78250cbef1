"""Outputs of JSON lines that other operators can read while they are written."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import Any, Iterable, Iterator, List, Optional, TextIO, Type

from .exceptions import InputError, OutputError


class Writer:
    """Writes the items of one output immediately.

    Use it in a with statement, or close it. Instances are not thread-safe.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._name = name
        self._file: Optional[TextIO] = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("w", encoding="utf-8", newline="\n")
        except OSError as err:
            raise OutputError(f"output {name!r}: {err}") from err

    def write(self, item: Any) -> None:
        """Write a JSON-serializable item. Raises OutputError if it cannot be written."""
        if self._file is None:
            raise OutputError(f"output {self._name!r} is closed")
        try:
            self._file.write(json.dumps(item, allow_nan=False) + "\n")
            self._file.flush()
        except (OSError, TypeError, ValueError) as err:
            raise OutputError(f"output {self._name!r}: {err}") from err

    def close(self) -> None:
        """Close the output."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()


class Shared:
    """Items of a local run. Every fork reads all of them, although their source yields them once."""

    def __init__(self, source: Iterable[Any], read: Optional[List[Any]] = None) -> None:
        self._source = iter(source)
        self._read: List[Any] = [] if read is None else read
        self._next = 0

    def fork(self) -> Shared:
        """Return an iterator over the same items, from the first."""
        return Shared(self._source, self._read)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._next == len(self._read):
            self._read.append(next(self._source))
        self._next += 1
        return self._read[self._next - 1]


def items(path: Path, name: str) -> Iterator[Any]:
    """Yield the items of an input as they arrive."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _item(line, name, number)
    except (OSError, UnicodeDecodeError) as err:
        raise InputError(f"input {name!r} cannot be read: {err}") from err


def _item(line: str, name: str, number: int) -> Any:
    try:
        return json.loads(line)
    except ValueError as err:
        raise InputError(f"line {number} of input {name!r} is not valid JSON: {err}") from err
