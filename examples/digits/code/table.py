"""Reads and writes the table of digits."""

import csv
from pathlib import Path
from typing import Iterable, List, Tuple

PIXELS = 64
HEADER = [f"pixel_{i}" for i in range(PIXELS)] + ["label"]

Row = Tuple[List[float], int]  # 64 pixels from 0 to 1, and the digit


def read(path: Path) -> List[Row]:
    """Return the rows of a table that write created."""
    with path.open(newline="") as file:
        reader = csv.reader(file)
        next(reader)
        return [([float(x) / 16 for x in cells[:PIXELS]], int(cells[PIXELS])) for cells in reader]


def write(path: Path, rows: Iterable[Row]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for pixels, label in rows:
            writer.writerow([round(x * 16) for x in pixels] + [label])
