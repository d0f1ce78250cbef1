"""Evaluates the model and shows its mistakes."""

import csv
import json
from typing import List

from flowforge import client

import png
import table
from network import CLASSES, Network

SCALE, GAP, COLUMNS, SHOWN = 6, 6, 12, 60


def sheet(images: List[List[float]]) -> List[List[int]]:
    """Return one picture of all images, dark on light, in rows of COLUMNS."""
    side = 8 * SCALE + GAP
    lines = max(1, -(-len(images) // COLUMNS))
    picture = [[255] * (COLUMNS * side + GAP) for _ in range(lines * side + GAP)]
    for number, pixels in enumerate(images):
        top, left = GAP + number // COLUMNS * side, GAP + number % COLUMNS * side
        for y in range(8 * SCALE):
            for x in range(8 * SCALE):
                picture[top + y][left + x] = 245 - round(pixels[y // SCALE * 8 + x // SCALE] * 235)
    return picture


def main() -> None:
    state = json.loads(client.input_path("model").read_text())
    network = Network.of({key: state[key] for key in ("hidden", "w1", "b1", "w2", "b2")})
    rows = table.read(client.input_path("test"))
    confusion = [[0] * CLASSES for _ in range(CLASSES)]
    wrong = []
    for pixels, label in rows:
        _, p = network.forward(pixels)
        guess = p.index(max(p))
        confusion[label][guess] += 1
        if guess != label:
            wrong.append(pixels)
            client.log(f"predicted {guess}, actual {label}", level="DEBUG", certainty=round(p[guess], 3))
    right = sum(confusion[i][i] for i in range(CLASSES))
    accuracy = right / len(rows)

    client.output("accuracy", accuracy)
    matrix = {"kind": "confusion_matrix", "labels": [str(i) for i in range(CLASSES)], "matrix": confusion}
    client.output_path("confusion").write_text(json.dumps(matrix))
    with client.output_path("per_class").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["digit", "images", "precision", "recall", "f1"])
        for i in range(CLASSES):
            shown, called = sum(confusion[i]), sum(row[i] for row in confusion)
            precision, recall = confusion[i][i] / max(called, 1), confusion[i][i] / max(shown, 1)
            f1 = 2 * precision * recall / max(precision + recall, 1e-12)
            writer.writerow([i, shown, round(precision, 4), round(recall, 4), round(f1, 4)])
    png.write(client.output_path("mistakes"), sheet(wrong[:SHOWN]))
    client.metric("test_accuracy", accuracy)
    client.log(f"{right} of {len(rows)} correct, accuracy {accuracy:.4f}, {len(wrong)} mistakes")


main()
