"""Resumed executions of Metaflow flows are complete runs for Metaflow's client."""

from __future__ import annotations

import json
import re

from .flows_of_metaflow import Author

AGAIN = '''
import os
from metaflow import FlowSpec, current, step


class AgainFlow(FlowSpec):
    @step
    def start(self):
        self.items = [1, 2]
        self.next(self.work, foreach="items")

    @step
    def work(self):
        self.value = self.input * 10
        self.next(self.join)

    @step
    def join(self, inputs):
        self.values = [i.value for i in inputs]
        if not os.path.exists(PATH):
            raise ValueError("not yet")
        self.origin = current.origin_run_id
        self.next(self.end)

    @step
    def end(self):
        pass


if __name__ == "__main__":
    AgainFlow()
'''


def test_a_resumed_execution_is_a_complete_run(author: Author) -> None:
    ready = author.folder / "ready"
    (author.folder / "again.py").write_text(f"PATH = {str(ready)!r}\n" + AGAIN)
    output = author.flow("again", "flowforge", "run", ends=1)
    failed = re.search(r"run-id (flowforge-([\w-]+))", output)
    assert failed and "ValueError: not yet" in output, output
    assert "FAILED" in author.flow("again", "flowforge", "status", failed.group(1)).splitlines()
    assert "ValueError: not yet" in author.flow("again", "flowforge", "logs", failed.group(1), "--step", "join")
    ready.touch()
    execution = author.server.wait(author.server.call("POST", f"/executions/{failed.group(2)}/resume", {}))
    assert execution["status"] == "SUCCEEDED", execution
    path = "AgainFlow/flowforge-" + execution["execution_id"]
    found = author.read([path], "service")[path]["steps"]
    assert [t["value"] for t in found["work"]] == [10, 20]
    assert found["join"] == [{"values": [10, 20], "origin": failed.group(1)}]
    assert "Cloning previously run task" in author.flow("again", "resume", "--origin-run-id", failed.group(1))


MANY = '''
import os
from metaflow import FlowSpec, step


class ManyFlow(FlowSpec):
    @step
    def start(self):
        self.items = list(range(6))
        self.next(self.work, foreach="items")

    @step
    def work(self):
        if not os.path.exists(PATH):
            raise ValueError("not yet")
        self.value = self.input
        self.next(self.join)

    @step
    def join(self, inputs):
        self.values = [i.value for i in inputs]
        self.next(self.end)

    @step
    def end(self):
        pass


if __name__ == "__main__":
    ManyFlow()
'''

COPIES = "import json, sys; from metaflow import Task, namespace; namespace(None); print(json.dumps([m.value for m in Task(sys.argv[1]).metadata if m.name == 'origin-run-id']))"

# The code of a resumed run and of the run that it resumes, and the tasks without code, which are copies.
CODE = """
import json, sys
from metaflow import Run, namespace
namespace(None)
code = Run(sys.argv[1]).code
print(json.dumps([b"class ManyFlow" in code.flowspec, Run("ManyFlow/" + sys.argv[2]).code.flowspec == code.flowspec, [n for n in code.tarball.getnames() if n == "many.py" or n.startswith(".mf_code/metaflow/") or n.startswith(".mf_log")], sorted({t.parent.id for s in Run(sys.argv[1]) for t in s if t.code is None})]))
"""


def test_one_task_copies_what_a_resumed_run_reuses(author: Author) -> None:
    ready = author.folder / "many-ready"
    (author.folder / "many.py").write_text(f"PATH = {str(ready)!r}\n" + MANY)
    failed = re.search(r"run-id (flowforge-([\w-]+))", author.flow("many", "flowforge", "run", ends=1))
    assert failed
    ready.touch()
    execution = author.server.wait(author.server.call("POST", f"/executions/{failed.group(2)}/resume", {}))
    assert execution["status"] == "SUCCEEDED", execution
    code = author.call("-c", CODE, f"ManyFlow/flowforge-{execution['execution_id']}", failed.group(1))
    assert json.loads(code.strip().splitlines()[-1]) == [True, True, ["many.py"], []]
    copies = author.call("-c", COPIES, f"ManyFlow/flowforge-{execution['execution_id']}/start/start")
    assert json.loads(copies.strip().splitlines()[-1]) == [failed.group(1)]


NODES = '''
import os
from metaflow import FlowSpec, current, parallel, step


class NodesFlow(FlowSpec):
    @step
    def start(self):
        self.next(self.work, num_parallel=2)

    @parallel
    @step
    def work(self):
        self.node = current.parallel.node_index
        print("node", self.node, "of", current.parallel.num_nodes)
        if self.node and os.path.exists(PATH + "-worker"):
            raise ValueError("the worker fails")
        self.next(self.join)

    @step
    def join(self, inputs):
        if not os.path.exists(PATH):
            raise ValueError("not yet")
        self.nodes = [i.node for i in inputs]
        self.next(self.end)

    @step
    def end(self):
        pass


if __name__ == "__main__":
    NodesFlow()
'''


def test_a_resumed_run_has_all_tasks_of_a_parallel_step(author: Author) -> None:
    ready, worker = author.folder / "nodes-ready", author.folder / "nodes-ready-worker"
    (author.folder / "nodes.py").write_text(f"PATH = {str(ready)!r}\n" + NODES)
    worker.touch()
    output = author.flow("nodes", "flowforge", "run", ends=1)
    assert "the worker fails" in output and "node 1 of 2" in output, output
    worker.unlink()
    failed = re.search(r"run-id (flowforge-([\w-]+))", author.flow("nodes", "flowforge", "run", ends=1))
    assert failed
    ready.touch()
    execution = author.server.wait(author.server.call("POST", f"/executions/{failed.group(2)}/resume", {}))
    assert execution["status"] == "SUCCEEDED", execution
    path = "NodesFlow/flowforge-" + execution["execution_id"]
    found = author.read([path], "service")[path]["steps"]
    assert [t["node"] for t in found["work"]] == [0, 1]
    assert found["join"][0]["nodes"] == [0, 1]
