"""Splits the rows of each digit into training and test data."""

import random

from flowforge import client

import table


def main() -> None:
    rows = table.read(client.input_path("table"))
    chance = random.Random(client.inputs["seed"])
    share = float(client.inputs["holdout"])
    train, test = [], []
    for digit in range(10):
        of_digit = [row for row in rows if row[1] == digit]
        chance.shuffle(of_digit)
        cut = round(len(of_digit) * share)
        test += of_digit[:cut]
        train += of_digit[cut:]
    chance.shuffle(train)
    table.write(client.output_path("train"), train)
    table.write(client.output_path("test"), test)
    client.log(f"{len(train):,} training images, {len(test):,} test images")


main()
