"""Typed parameters: each becomes a field of the launch form."""

from metaflow import FlowSpec, Parameter, step


class ScoreFlow(FlowSpec):
    """Scores a series of numbers."""

    rows = Parameter("rows", default=5, type=int, help="How many numbers")
    rate = Parameter("rate", default=0.5, type=float, help="The factor of each number")
    title = Parameter("title", default="scores", help="Title of the report")
    round_up = Parameter("round-up", default=False, type=bool, help="Round the total up")

    @step
    def start(self):
        """Makes the numbers."""
        self.numbers = [self.rate * n for n in range(self.rows)]
        self.next(self.total)

    @step
    def total(self):
        """Adds them."""
        self.sum = sum(self.numbers)
        if self.round_up:
            self.sum = float(int(self.sum) + 1)
        self.next(self.end)

    @step
    def end(self):
        self.report = f"{self.title}: {self.sum:g}"
        print(self.report)


if __name__ == "__main__":
    ScoreFlow()
