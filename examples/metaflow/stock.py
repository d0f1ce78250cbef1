"""Files, JSON and a configuration as parameters."""

from metaflow import Config, FlowSpec, IncludeFile, JSONType, Parameter, step


class StockFlow(FlowSpec):
    """Reports what must be ordered."""

    config = Config("config", default="stock.json")
    table = IncludeFile("table", default="stock.csv", help="Items with their counts")
    prices = Parameter("prices", type=JSONType, default='{"apple": 2, "pear": 3}', help="Price of each item")
    note = Parameter("note", help="Goes into the report")

    @step
    def start(self):
        rows = [line.split(",") for line in self.table.splitlines()[1:]]
        self.counts = {name: int(count) for name, count in rows}
        self.next(self.end)

    @step
    def end(self):
        self.order = {n: self.prices[n] for n, count in self.counts.items() if count < self.config.at_least}
        self.report = f"{self.order} in {self.config.unit}, note: {self.note}"
        print(self.report)


if __name__ == "__main__":
    StockFlow()
