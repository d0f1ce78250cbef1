"""Branches that run in parallel, and a join that merges their artifacts."""

from metaflow import FlowSpec, step


class BranchFlow(FlowSpec):
    """Fits two models and keeps the better one."""

    @step
    def start(self):
        self.data = list(range(10))
        self.next(self.linear, self.square)

    @step
    def linear(self):
        self.linear_error = sum(abs(x - 2 * x) for x in self.data)
        self.next(self.check)

    @step
    def check(self):
        self.checked = True
        self.next(self.best)

    @step
    def square(self):
        self.square_error = sum(abs(x - x * x) for x in self.data)
        self.next(self.best)

    @step
    def best(self, inputs):
        self.merge_artifacts(inputs)
        self.winner = "linear" if self.linear_error < self.square_error else "square"
        self.errors = sorted([inputs.check.linear_error, inputs.square.square_error])
        self.next(self.end)

    @step
    def end(self):
        print(f"{self.winner} wins: {self.errors}")


if __name__ == "__main__":
    BranchFlow()
