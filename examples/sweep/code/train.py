"""Fits a logistic regression by gradient descent with one learning rate."""

import csv
import math
import sys

from flowforge import client


def likely(weights: list[float], row: list[float]) -> float:
    z = weights[0] * row[0] + weights[1] * row[1] + weights[2]
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, z))))


def main() -> None:
    rate, epochs = float(client.inputs["rate"]), int(client.inputs["epochs"])
    with open(client.input_path("points"), newline="", encoding="utf-8") as f:
        rows = [[float(r["x"]), float(r["y"]), float(r["label"])] for r in csv.DictReader(f)]
    train, test = rows[:300], rows[300:]
    weights = [0.0, 0.0, 0.0]
    for epoch in range(epochs):
        gradient, loss = [0.0, 0.0, 0.0], 0.0
        for row in train:
            p = likely(weights, row)
            error = p - row[2]
            gradient = [gradient[0] + error * row[0], gradient[1] + error * row[1], gradient[2] + error]
            loss -= math.log(max(1e-12, p if row[2] else 1 - p))
        weights = [w - rate * g / len(train) for w, g in zip(weights, gradient)]
        loss /= len(train)
        client.metric("loss", loss, step=epoch)
        if loss > 2:
            sys.exit(f"the loss runs away: {loss:.3g} in epoch {epoch}; the rate {rate:g} is too high")
    hits = sum((likely(weights, row) > 0.5) == bool(row[2]) for row in test)
    client.output("accuracy", hits / len(test))


if __name__ == "__main__":
    main()
