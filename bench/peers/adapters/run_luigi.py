"""Luigi with its local scheduler. The output file of a task says that the task has succeeded."""

import tempfile

import luigi
import peer


class Step(luigi.Task):
    folder = luigi.Parameter()
    number = luigi.IntParameter()

    def output(self):
        return luigi.LocalTarget(f"{self.folder}/{self.number}")


class Process(Step):
    def run(self):
        peer.true()
        with self.output().open("w") as f:
            f.write("done")


class NextProcess(Process):
    def requires(self):
        return NextProcess(self.folder, self.number - 1) if self.number else []


class Function(Step):
    def run(self):
        with self.output().open("w") as f:
            f.write(str(self.number + 1))


class NextFunction(Step):
    def requires(self):
        return NextFunction(self.folder, self.number - 1) if self.number else []

    def run(self):
        number = 0
        if self.number:
            with self.input().open() as f:
                number = int(f.read())
        with self.output().open("w") as f:
            f.write(str(number + 1))


def read(task):
    with task.output().open() as f:
        return f.read()


def build(tasks, workers):
    if not luigi.build(tasks, local_scheduler=True, workers=workers, log_level="ERROR"):
        raise RuntimeError("a task failed")


def chain():
    with tempfile.TemporaryDirectory(dir=peer.folder) as folder:
        build([NextProcess(folder, peer.CHAIN - 1)], 1)


def wide():
    with tempfile.TemporaryDirectory(dir=peer.folder) as folder:
        build([Process(folder, i) for i in range(peer.WIDE)], peer.WIDTH)


def functions():
    with tempfile.TemporaryDirectory(dir=peer.folder) as folder:
        last = NextFunction(folder, peer.FUNCTIONS - 1)
        build([last], 1)
        peer.expect(int(read(last)), peer.FUNCTIONS)


def items():
    with tempfile.TemporaryDirectory(dir=peer.folder) as folder:
        tasks = [Function(folder, i) for i in range(peer.ITEMS)]
        build(tasks, peer.WIDTH)
        peer.expect([int(read(t)) for t in tasks], list(range(1, peer.ITEMS + 1)))


peer.serve(
    "luigi",
    {
        "chain-40": peer.timed(chain),
        "wide-200": peer.timed(wide),
        "functions-20": peer.timed(functions),
        "map-100": peer.timed(items),
    },
)
