"""Validates the table of digits and keeps the valid rows."""

import csv
import sys

from flowforge import client

import table


def main() -> None:
    source = client.input_path("dataset")
    with source.open(newline="") as file:
        reader = csv.DictReader(file)
        missing = [name for name in table.HEADER if name not in (reader.fieldnames or [])]
        if missing:
            sys.exit(f"{source.name} has no column {missing[0]} ({len(missing)} of {len(table.HEADER)} are missing)")
        rows, bad = [], 0
        for number, cells in enumerate(reader, start=2):
            try:
                pixels = [float(cells[name]) for name in table.HEADER[:-1]]
                label = int(cells["label"])
                if not 0 <= label <= 9 or not all(0 <= x <= 16 for x in pixels):
                    raise ValueError("out of range")
                rows.append(([x / 16 for x in pixels], label))
            except (TypeError, ValueError) as err:
                bad += 1
                client.log(f"skipped line {number}: {err}", level="WARN")
    if not rows:
        sys.exit("no row of the table is well formed")
    table.write(client.output_path("table"), rows)
    client.output("rows", len(rows))
    client.log(f"kept {len(rows):,} rows, skipped {bad}")
    for digit in range(10):
        client.metric("rows_per_digit", sum(label == digit for _, label in rows), step=digit)


main()
