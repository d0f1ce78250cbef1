"""The example digits.train in Python: trains a small classifier on handwritten digits.

    flowforge run flow.py --epochs 5
    flowforge deploy flow.py

The modules in the folder code are those of workflow.yaml.
"""

import csv
import json
import random
import sys
from pathlib import Path
from typing import Annotated, List, Literal, NamedTuple

from flowforge import Advanced, Dataset, File, Format, HyperparameterSet, Label, Model, Order, Range, Section, Table, client, operator, workflow

sys.path.insert(0, str(Path(__file__).parent / "code"))

import table
from network import CLASSES, Network


class Hyperparameters(HyperparameterSet):
    learning_rate: Annotated[float, Range(1e-4, 1, log=True), "Size of a step"] = 0.05
    l2: Annotated[float, Range(1e-7, 0.1, log=True), "Weight decay"] = 1e-5
    batch_size: Annotated[Literal[8, 16, 32, 64], "Images per step"] = 16
    hidden: Annotated[int, Range(4, 128), "Units of the hidden layer"] = 32


class Parts(NamedTuple):
    train: Dataset
    test: Dataset
    rows: int


class Trained(NamedTuple):
    model: Model
    history: Table


class Result(NamedTuple):
    model: Model
    accuracy: float
    confusion: File
    history: Table


@operator(cpu="250m", memory="128Mi", timeout="5m", retry=1)
def split(dataset: Dataset, holdout: float, seed: int) -> Parts:
    """Splits the rows of each digit into training and test data."""
    with dataset.path.open(newline="") as file:
        rows = [([float(cells[name]) / 16 for name in table.HEADER[:-1]], int(cells["label"])) for cells in csv.DictReader(file)]
    chance = random.Random(seed)
    train, test = [], []
    for digit in range(CLASSES):
        of_digit = [row for row in rows if row[1] == digit]
        chance.shuffle(of_digit)
        cut = round(len(of_digit) * holdout)
        test += of_digit[:cut]
        train += of_digit[cut:]
    chance.shuffle(train)
    paths = Path("train.csv"), Path("test.csv")
    table.write(paths[0], train)
    table.write(paths[1], test)
    client.log(f"{len(train):,} training images, {len(test):,} test images")
    return Parts(Dataset(paths[0]), Dataset(paths[1]), len(rows))


@operator(cpu="500m", memory="256Mi", timeout="1h", retry=2)
def fit(train: Dataset, test: Dataset, model: Literal["mlp", "softmax"], hyperparameters: Hyperparameters, epochs: int, seed: int) -> Trained:
    """Gradient descent with loss and accuracy per epoch; continues from its last epoch after a restart."""
    rows, held = table.read(train.path), table.read(test.path)
    settings = hyperparameters
    network, first, history = Network(table.PIXELS, settings.hidden if model == "mlp" else 0, seed), 0, []
    checkpoint = client.get_checkpoint()
    if checkpoint:
        network, first, history = Network.of(checkpoint["network"]), checkpoint["epoch"] + 1, checkpoint["history"]
    for epoch in range(first, epochs):
        order = rows[:]
        random.Random(seed * 1000 + epoch).shuffle(order)
        size = settings.batch_size
        losses = [network.learn(order[i : i + size], settings.learning_rate, settings.l2) for i in range(0, len(order), size)]
        test_loss, accuracy = network.evaluate(held)
        history.append([epoch, sum(losses) / len(losses), test_loss, accuracy])
        client.metric("loss", history[-1][1], step=epoch, tags={"split": "train"})
        client.metric("loss", test_loss, step=epoch, tags={"split": "test"})
        client.metric("accuracy", accuracy, step=epoch)
        client.checkpoint({"epoch": epoch, "network": network.state(), "history": history})
        client.status(progress=100 * (epoch + 1) / epochs, message=f"epoch {epoch + 1} of {epochs}, accuracy {accuracy:.4f}")
    path = Path("history.csv")
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["epoch", "train_loss", "test_loss", "accuracy"], *history])
    return Trained(Model(network.state()), Table(path))


@operator(cpu="500m", memory="256Mi", timeout="10m")
def evaluate(model: Model, test: Dataset) -> Annotated[File, Format("json")]:
    """Counts how often each digit is read as each other one."""
    network = Network.of(model.load())
    confusion: List[List[int]] = [[0] * CLASSES for _ in range(CLASSES)]
    for pixels, label in table.read(test.path):
        _, p = network.forward(pixels)
        confusion[label][p.index(max(p))] += 1
    path = Path("confusion.json")
    path.write_text(json.dumps({"kind": "confusion_matrix", "labels": [str(i) for i in range(CLASSES)], "matrix": confusion}))
    return File(path)


@operator(cpu="100m", memory="64Mi", timeout="5m")
def accuracy_of(confusion: File) -> float:
    """The share of correct answers."""
    matrix = json.loads(confusion.path.read_text())["matrix"]
    right = sum(matrix[i][i] for i in range(CLASSES))
    return float(right / sum(map(sum, matrix)))


@workflow(name="digits.python", owner_team="examples", tags=["example", "vision", "training"])
def digits(
    dataset: Annotated[Dataset, Format("csv"), Label("Training data"), Section("Data"), Order(1)] = Dataset("uci-digits@1"),
    holdout: Annotated[float, Range(0.05, 0.5, step=0.05), Section("Data"), Order(2)] = 0.25,
    model: Annotated[Literal["mlp", "softmax"], Section("Model and training"), Order(1)] = "mlp",
    hyperparameters: Annotated[Hyperparameters, Section("Model and training"), Order(2)] = Hyperparameters(),
    epochs: Annotated[int, Range(1, 200), Section("Model and training"), Order(3)] = 20,
    seed: Annotated[int, Range(0), Label("Random seed"), Section("Model and training"), Order(4), Advanced()] = 7,
) -> Result:
    """Trains a small classifier on handwritten digits, using only Python's standard library.

    Args:
        dataset: Labelled images, one per row. Requires the columns pixel_0 to pixel_63 and label.
        holdout: Share of the rows reserved for the evaluation.
        model: A network with one hidden layer is more accurate; softmax regression is faster.
        hyperparameters: Parameters of the training.
        epochs: Number of passes over the training images.
        seed: The same seed gives the same model.
    """
    parts = split(dataset, holdout, seed)
    trained = fit(parts.train, parts.test, model, hyperparameters, epochs, seed)
    confusion = evaluate(trained.model, parts.test)
    return Result(trained.model, accuracy_of(confusion), confusion, trained.history)
