"""Trains one of scikit-learn's classifiers on the digits and evaluates it."""

import csv
import json

import joblib
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from flowforge import client

MAKERS = {
    "svc": lambda seed: SVC(gamma=0.001, C=10, random_state=seed),
    "forest": lambda seed: RandomForestClassifier(n_estimators=200, random_state=seed),
    "knn": lambda seed: KNeighborsClassifier(n_neighbors=3),
}


def main() -> None:
    with client.input_path("dataset").open(newline="") as file:
        rows = list(csv.DictReader(file))
    pixels = [[float(row[f"pixel_{i}"]) for i in range(64)] for row in rows]
    labels = [int(row["label"]) for row in rows]
    seed = int(client.inputs["seed"])
    x, x_test, y, y_test = train_test_split(pixels, labels, test_size=float(client.inputs["holdout"]), stratify=labels, random_state=seed)
    client.log(f"{len(x):,} training images, {len(x_test):,} test images")
    client.status(progress=10, message="training")
    model = MAKERS[client.inputs["classifier"]](seed).fit(x, y)
    guesses = model.predict(x_test)
    accuracy = float(accuracy_score(y_test, guesses))
    client.metric("accuracy", accuracy)
    client.metric("macro_f1", float(f1_score(y_test, guesses, average="macro")))
    matrix = confusion_matrix(y_test, guesses, labels=list(range(10))).tolist()
    client.output("accuracy", accuracy)
    confusion = {"kind": "confusion_matrix", "labels": [str(i) for i in range(10)], "matrix": matrix}
    client.output_path("confusion").write_text(json.dumps(confusion))
    joblib.dump(model, client.output_path("model"))
    client.log(f"accuracy {accuracy:.4f}")


main()
