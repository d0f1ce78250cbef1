"""Trains the classifier. Every epoch is a checkpoint from which a later attempt continues."""

import csv
import json
import random
import time

from flowforge import client

import table
from network import Network


def main() -> None:
    rows = table.read(client.input_path("train"))
    test = table.read(client.input_path("test"))
    settings = client.inputs["hyperparameters"]
    epochs, seed = int(client.inputs["epochs"]), int(client.inputs["seed"])
    rate, l2, size = float(settings["learning_rate"]), float(settings["l2"]), int(settings["batch_size"])
    hidden = int(settings["hidden"]) if client.inputs["model"] == "mlp" else 0

    network, first, history = Network(table.PIXELS, hidden, seed), 0, []
    checkpoint = client.get_checkpoint()
    if checkpoint:
        network, first, history = Network.of(checkpoint["network"]), checkpoint["epoch"] + 1, checkpoint["history"]
        client.log(f"continuing after epoch {checkpoint['epoch']} of an earlier attempt")

    for epoch in range(first, epochs):
        begin = time.monotonic()
        order = rows[:]
        random.Random(seed * 1000 + epoch).shuffle(order)
        losses = [network.learn(order[i : i + size], rate, l2) for i in range(0, len(order), size)]
        train_loss = sum(losses) / len(losses)
        test_loss, accuracy = network.evaluate(test)
        history.append([epoch, train_loss, test_loss, accuracy])
        client.metric("loss", train_loss, step=epoch, tags={"split": "train"})
        client.metric("loss", test_loss, step=epoch, tags={"split": "test"})
        client.metric("accuracy", accuracy, step=epoch)
        client.checkpoint({"epoch": epoch, "network": network.state(), "history": history})
        client.status(progress=100 * (epoch + 1) / epochs, message=f"epoch {epoch + 1} of {epochs}, accuracy {accuracy:.4f}")
        took = time.monotonic() - begin
        client.log(f"epoch {epoch + 1}/{epochs} loss={train_loss:.4f} test_loss={test_loss:.4f} accuracy={accuracy:.4f} in {took:.2f} s")

    model = {"format": "flowforge-digits/1", "accuracy": history[-1][3] if history else None, **network.state()}
    client.output_path("model").write_text(json.dumps(model))
    if history:
        client.describe({"accuracy": history[-1][3], "framework": "flowforge-digits"}, output="model")
    with client.output_path("history").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["epoch", "train_loss", "test_loss", "accuracy"])
        writer.writerows(history)


main()
