"""Several tasks of one step that run at the same time and know each other."""

from metaflow import FlowSpec, current, parallel, resources, step


class GatherFlow(FlowSpec):
    """Adds what the nodes of a @parallel step computed."""

    @step
    def start(self):
        self.base = 10
        self.next(self.work, num_parallel=3)

    @resources(cpu=0.5, memory=500)
    @parallel
    @step
    def work(self):
        self.node = current.parallel.node_index
        self.share = self.base + self.node / current.parallel.num_nodes
        self.next(self.join)

    @step
    def join(self, inputs):
        self.nodes = [i.node for i in inputs]
        self.total = sum(i.share for i in inputs)
        self.next(self.end)

    @step
    def end(self):
        print(f"nodes {self.nodes}: {self.total}")


if __name__ == "__main__":
    GatherFlow()
