"""A foreach in a foreach, each with its own join."""

from metaflow import FlowSpec, Parameter, step


class GridFlow(FlowSpec):
    """Tries every depth with every rate."""

    depths = Parameter("depths", default="2,3", separator=",", help="Depths to try")

    @step
    def start(self):
        self.choices = [int(d) for d in self.depths]
        self.next(self.prepare, foreach="choices")

    @step
    def prepare(self):
        self.depth = self.input
        self.rates = [self.depth * 0.1, self.depth * 0.2]
        self.next(self.fit, foreach="rates")

    @step
    def fit(self):
        self.loss = round(self.depth - self.input, 3)
        self.next(self.of_depth)

    @step
    def of_depth(self, inputs):
        self.losses = [i.loss for i in inputs]
        self.depth = inputs[0].depth
        self.best_of_depth = (min(self.losses), self.depth)
        self.next(self.join)

    @step
    def join(self, inputs):
        self.table = {i.depth: i.losses for i in inputs}
        self.best = min(i.best_of_depth for i in inputs)
        self.next(self.end)

    @step
    def end(self):
        print(f"best: {self.best}")


if __name__ == "__main__":
    GridFlow()
