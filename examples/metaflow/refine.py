"""Recursion: a step that repeats itself until it is satisfied."""

from metaflow import FlowSpec, Parameter, step


class RefineFlow(FlowSpec):
    """Computes a square root by Newton's method."""

    number = Parameter("number", default=2.0, type=float, help="The number")
    digits = Parameter("digits", default=2, type=int, help="Correct digits")

    @step
    def start(self):
        self.guess, self.rounds = self.number, 0
        self.next(self.refine)

    @step
    def refine(self):
        self.guess = (self.guess + self.number / self.guess) / 2
        self.rounds += 1
        close = abs(self.guess**2 - self.number) < 10**-self.digits
        self.verdict = "good" if close else "again"
        self.next({"again": self.refine, "good": self.end}, condition="verdict")

    @step
    def end(self):
        self.root = round(self.guess, self.digits)
        print(f"{self.root} after {self.rounds} rounds")


if __name__ == "__main__":
    RefineFlow()
