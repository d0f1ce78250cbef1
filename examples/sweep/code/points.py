"""Draws points of two classes that a line separates fairly well."""

import csv
import random

from flowforge import client


def main() -> None:
    source = random.Random(7)
    with open(client.output_path("points"), "w", newline="", encoding="utf-8") as f:
        rows = csv.writer(f)
        rows.writerow(["x", "y", "label"])
        for _ in range(400):
            label = source.randrange(2)
            centre = 1.0 if label else -1.0
            rows.writerow([source.gauss(centre, 1.0), source.gauss(-centre, 1.2), label])


if __name__ == "__main__":
    main()
