"""Selects the best model. Failed rates have no accuracy."""

from flowforge import client


def main() -> None:
    tried = zip(client.inputs["accuracies"], client.inputs["rates"])
    accuracy, rate = max((a, -r) for a, r in tried if a is not None)
    client.log(f"the best rate is {-rate:g} with accuracy {accuracy:.3f}")
    client.output("rate", -rate)
    client.output("accuracy", accuracy)


if __name__ == "__main__":
    main()
