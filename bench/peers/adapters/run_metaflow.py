"""Metaflow with local metadata and a local datastore. Every step is a process.

The time is that of the command that runs a flow, which includes its start.
"""

import os
import subprocess
import sys

import peer

CHAIN = """
    @step
    def {name}(self):
        {code}
        self.next(self.{next})
"""

WIDE = """
    @step
    def start(self):
        self.items = list(range({count}))
        self.next(self.each, foreach="items")

    @step
    def each(self):
        {code}
        self.next(self.join)

    @step
    def join(self, inputs):
        {check}
        self.next(self.end)
"""

END = """
    @step
    def end(self):
        {check}


if __name__ == "__main__":
    Flow()
"""

HEAD = """import subprocess
from metaflow import FlowSpec, step


class Flow(FlowSpec):
"""

TRUE = 'subprocess.run(["/bin/true"], check=True)'


def chain(count, code, check="pass"):
    """Return a flow of count steps. Metaflow requires the names of the first and the last one."""
    names = ["start", *[f"step{i}" for i in range(1, count - 1)], "end"]
    text = HEAD
    for name, following in zip(names, names[1:]):
        text += CHAIN.format(name=name, next=following, code=code)
    return text + END.format(check=f"{code}\n        {check}")


def wide(count, code, check="pass"):
    return HEAD + WIDE.format(count=count, code=code, check=check) + END.format(check="pass")


flows = {
    "chain-40": chain(peer.CHAIN, TRUE),
    "wide-200": wide(peer.WIDE, TRUE),
    "functions-20": chain(
        peer.FUNCTIONS,
        "self.number = getattr(self, 'number', 0) + 1",
        f"assert self.number == {peer.FUNCTIONS}",
    ),
    "map-100": wide(
        peer.ITEMS,
        "self.found = self.input + 1",
        f"assert [i.found for i in inputs] == list(range(1, {peer.ITEMS} + 1))",
    ),
}

os.environ.update(
    METAFLOW_DEFAULT_METADATA="local",
    METAFLOW_DATASTORE_SYSROOT_LOCAL=peer.folder,
    METAFLOW_USER="bench",
    METAFLOW_HOME=f"{peer.folder}/home",
    METAFLOW_DISABLE_TRACING="1",
)


def runner(name):
    path = f"{peer.folder}/{name}.py"
    with open(path, "w") as f:
        f.write(flows[name])
    command = [sys.executable, path, "--quiet", "run"]
    limits = ["--max-num-splits", str(peer.WIDE), "--max-workers", str(peer.WIDTH)]
    return lambda: subprocess.run(command + limits, cwd=peer.folder, check=True)


peer.serve("metaflow", {name: peer.timed(runner(name)) for name in flows})
