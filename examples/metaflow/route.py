"""Switches: a step that chooses the next one, also inside a foreach."""

from metaflow import FlowSpec, Parameter, step


class RouteFlow(FlowSpec):
    """Sends each order through the checks that it needs."""

    limit = Parameter("limit", default=100, type=int, help="Orders above need a review")

    @step
    def start(self):
        self.orders = [40, 250]
        self.next(self.look, foreach="orders")

    @step
    def look(self):
        self.amount = self.input
        self.kind = "large" if self.amount > self.limit else "small"
        self.next({"large": self.review, "small": self.accept}, condition="kind")

    @step
    def review(self):
        self.outcome = f"reviewed {self.amount}"
        self.next(self.done)

    @step
    def accept(self):
        self.outcome = f"accepted {self.amount}"
        self.next(self.done)

    @step
    def done(self):
        self.next(self.collect)

    @step
    def collect(self, inputs):
        self.outcomes = [i.outcome for i in inputs]
        self.next(self.count)

    @step
    def count(self):
        self.any_review = "yes" if any("reviewed" in o for o in self.outcomes) else "no"
        self.next({"yes": self.warn, "no": self.end}, condition="any_review")

    @step
    def warn(self):
        self.warned = True
        self.next(self.end)

    @step
    def end(self):
        print(self.outcomes)


if __name__ == "__main__":
    RouteFlow()
