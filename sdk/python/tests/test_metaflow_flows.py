"""Flows of Metaflow on a server: each example gives the same results as `python flow.py run`."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest
from flowforge._api import Server

from .running import ROOT, Running

FLOWS = ROOT / "examples" / "metaflow"

# The examples with values of parameters that differ from the defaults.
RUNS: Dict[str, Tuple[str, ...]] = {
    "score": ("--rows", "4", "--rate", "1.5", "--title", "half scores", "--round-up", "True"),
    "branches": (),
    "grid": ("--depths", "2,4"),
    "route": (),
    "refine": (),
    "trouble": (),
    "stock": ("--table", "other.csv", "--prices", '{"apple": 7, "pear": 1}', "--note", 'a "quoted" note'),
    "report": (),
    "gather": (),
}

# What the tasks of a run stored, step by step, without what differs between any two runs.
READ = """
import sys
from metaflow import Run, namespace
namespace(None)
LOCAL = ("name",)
def plain(value):
    try:
        json.dumps(value)
        return value
    except TypeError:
        return type(value).__name__
found = {}
for path in json.loads(sys.argv[1]):
    run = Run(path)
    steps = {}
    for step in run:
        tasks = [{a.id: plain(a.data) for a in task if not a.id.startswith("_") and a.id not in LOCAL} for task in step]
        steps[step.id] = sorted(tasks, key=lambda t: json.dumps(t, sort_keys=True))
    found[path] = {"successful": run.successful, "steps": steps}
print(json.dumps(found))
"""


class Author:
    """A person who knows Metaflow, with a folder of flows."""

    def __init__(self, folder: Path, server: Running) -> None:
        self.folder, self.server = folder / "flows", server
        self.folder.mkdir()
        for file in FLOWS.iterdir():
            if file.is_file():
                (self.folder / file.name).write_bytes(file.read_bytes())
        (self.folder / "other.csv").write_text("item,count\napple,1\npear,2\n")
        self.env = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("METAFLOW_", "FLOWFORGE_"))},
            "PYTHONPATH": os.pathsep.join([str(ROOT / "sdk" / "metaflow"), str(ROOT / "sdk" / "python")]),
            # Metaflow starts the workers of @parallel with the first python of PATH.
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "HOME": str(folder),
            "USERNAME": "ada",
            "FLOWFORGE_SERVER": server.url,
            "FLOWFORGE_TOKEN": server.token,
            "METAFLOW_DEFAULT_METADATA": "service",
            "METAFLOW_SERVICE_URL": server.url + "/metaflow",
            "METAFLOW_SERVICE_HEADERS": json.dumps({"Authorization": "Bearer " + server.token}),
            **Server(server.url, server.token).get("/metaflow/datastore")["environment"],
        }

    def call(self, *args: str, ends: int = 0, **env: str) -> str:
        done = subprocess.run([sys.executable, *args], cwd=self.folder, env={**self.env, **env}, capture_output=True, text=True)
        assert done.returncode == ends, done.stdout + done.stderr
        return done.stdout + done.stderr

    def flow(self, name: str, *args: str, ends: int = 0, **env: str) -> str:
        return self.call(f"{name}.py", "--no-pylint", *args, ends=ends, **env)

    def plain(self, name: str) -> str:
        """Run an example on this machine; return the path of the run."""
        said = self.flow(name, "run", *RUNS[name], METAFLOW_DEFAULT_METADATA="local")
        found = re.search(r"run-id (\w+)", said)
        assert found, said
        return f"{FLOW_NAMES[name]}/{found.group(1)}"

    def forged(self, name: str) -> str:
        """Run an example on the server; return the path of the run."""
        said = self.flow(name, "flowforge", "run", *RUNS[name])
        found = re.search(r"run-id (flowforge-[\w-]+)", said)
        assert found, said
        return f"{FLOW_NAMES[name]}/{found.group(1)}"

    def read(self, paths: List[str], metadata: str) -> Dict[str, Any]:
        done = self.call("-c", "import json\n" + READ, json.dumps(paths), METAFLOW_DEFAULT_METADATA=metadata)
        found: Dict[str, Any] = json.loads(done.strip().splitlines()[-1])
        return found


FLOW_NAMES = {name: re.search(r"class (\w+)\(FlowSpec\)", (FLOWS / f"{name}.py").read_text()).group(1) for name in RUNS}  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def author(running: Running, tmp_path_factory: pytest.TempPathFactory) -> Author:
    return Author(tmp_path_factory.mktemp("author"), running)


@pytest.fixture(scope="module")
def runs(author: Author) -> Dict[str, Tuple[str, str]]:
    """The paths of the plain run and of the run on the server of each example."""
    with ThreadPoolExecutor(4) as pool:
        forged = {name: pool.submit(author.forged, name) for name in RUNS}
        plain = {name: pool.submit(author.plain, name) for name in RUNS}
        return {name: (plain[name].result(), forged[name].result()) for name in RUNS}


@pytest.fixture(scope="module")
def results(author: Author, runs: Dict[str, Tuple[str, str]]) -> Dict[str, Any]:
    plain, forged = ([pair[i] for pair in runs.values()] for i in (0, 1))
    return {**author.read(plain, "local"), **author.read(forged, "service")}


@pytest.mark.parametrize("name", RUNS)
def test_both_ways_give_the_same(name: str, runs: Dict[str, Tuple[str, str]], results: Dict[str, Any]) -> None:
    plain, forged = (results[path] for path in runs[name])
    assert plain["successful"] and forged["successful"]
    assert forged["steps"] == plain["steps"]
    assert sum(len(tasks) for tasks in plain["steps"].values()) >= 2


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
    said = author.flow("again", "flowforge", "run", ends=1)
    failed = re.search(r"run-id (flowforge-([\w-]+))", said)
    assert failed and "ValueError: not yet" in said, said
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
    said = author.flow("nodes", "flowforge", "run", ends=1)
    assert "the worker fails" in said and "node 1 of 2" in said, said
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


SECRETS = '''
import os
from metaflow import FlowSpec, secrets, step


class SecretFlow(FlowSpec):
    @secrets(sources=["flowforge.login", {"type": "flowforge", "id": "api-key"}])
    @step
    def start(self):
        self.user, self.length = os.environ["DB_USER"], len(os.environ["API_KEY"])
        print("the key is", os.environ["API_KEY"])
        self.next(self.end)

    @step
    def end(self):
        pass


if __name__ == "__main__":
    SecretFlow()
'''


def test_secrets_and_the_deployer(author: Author) -> None:
    author.server.call("PUT", "/secrets/login", {"value": '{"DB_USER": "mia"}'})
    author.server.call("PUT", "/secrets/api-key", {"value": "xyzzy-1234"})
    (author.folder / "secret.py").write_text(SECRETS)
    program = """
import json
from metaflow import Deployer
deployed = Deployer("secret.py", show_output=False, pylint=False).flowforge(name="uses.secrets").create(tags=["nightly"])
started = deployed.trigger()
status = started.wait(120)
run = started.run
print(json.dumps([deployed.name, status, run.data.user, run.data.length, sorted(run.user_tags), started.logs(), [r.pathspec for r in deployed.list_runs()] == [started.pathspec]]))
"""
    name, status, user, length, tags, logs, listed = json.loads(author.call("-c", program).strip().splitlines()[-1])
    assert [name, status, user, length, tags, listed] == ["uses.secrets", "SUCCEEDED", "mia", 10, ["nightly"], True]
    assert "the key is" in logs and "xyzzy" not in logs


def test_deployed_flows_are_found_and_triggered(author: Author, runs: Dict[str, Tuple[str, str]]) -> None:
    program = """
import json
from metaflow import DeployedFlow
listed = sorted(f.name for f in DeployedFlow.list_deployed_flows(impl="flowforge"))
own = [f.name for f in DeployedFlow.list_deployed_flows("StockFlow", impl="flowforge")]
flow = DeployedFlow.from_deployment("stockflow", impl="flowforge")
run = flow.trigger(table="other.csv", prices={"apple": 7, "pear": 1}, note="again")
wrong = missing = ""
try:
    flow.trigger(colour="red")
except Exception as err:
    wrong = str(err)
try:
    DeployedFlow.from_deployment("absent", impl="flowforge")
except Exception as err:
    missing = str(err)
status = run.wait(120)
print(json.dumps([listed, own, flow.flow_name, status, run.run.data.report, wrong, missing, len(flow.list_runs())]))
"""
    listed, own, flow, status, report, wrong, missing, count = json.loads(author.call("-c", program).strip().splitlines()[-1])
    assert {"stockflow", "scoreflow"} <= set(listed)
    assert [own, flow, status] == [["stockflow"], "StockFlow", "SUCCEEDED"] and report.endswith("note: again") and count == 2
    assert "no parameter *colour*" in wrong and "no Metaflow flow *absent*" in missing


UNSUPPORTED = {
    "@conda(packages={'pandas': '2.2'})": ("--environment=conda", "FlowForge does not install"),
    "@pypi(packages={'six': '1'}, python='3.4')": ("--environment=pypi", "requests Python 3.4"),
    "@batch(cpu=2)": ("--datastore=s3", "runs on AWS Batch"),
}


@pytest.mark.parametrize("decorator", UNSUPPORTED)
def test_what_is_not_supported_is_a_clear_error(author: Author, decorator: str) -> None:
    (author.folder / "other.py").write_text(
        "from metaflow import FlowSpec, batch, conda, pypi, step\n\n\nclass OtherFlow(FlowSpec):\n"
        f"    {decorator}\n    @step\n    def start(self):\n        self.next(self.end)\n\n    @step\n    def end(self):\n        pass\n\n\n"
        'if __name__ == "__main__":\n    OtherFlow()\n'
    )
    option, part = UNSUPPORTED[decorator]
    assert part in author.flow("other", option, "flowforge", "create", ends=1, METAFLOW_DATASTORE_SYSROOT_S3="s3://bucket/mf")


def test_the_client_reads_cards(author: Author, runs: Dict[str, Tuple[str, str]]) -> None:
    program = (
        "import sys; from metaflow import Run, namespace; from metaflow.cards import get_cards; namespace(None)\n"
        "print(['Work' in c.get() for c in get_cards(Run(sys.argv[1])['start'].task)])"
    )
    assert author.call("-c", program, runs["report"][1]).strip().splitlines()[-1] == "[True]"


def test_parameters_are_typed_inputs(author: Author, runs: Dict[str, Tuple[str, str]]) -> None:
    found = author.server.call("GET", "/workflows/scoreflow/versions/1.0.0")["definition"]["inputs"]
    assert {i["name"]: (i["type"], i.get("default"), i.get("description")) for i in found} == {
        "rows": ("Integer", 5, "How many numbers"),
        "rate": ("Float", 0.5, "The factor of each number"),
        "title": ("String", "scores", "Title of the report"),
        "round_up": ("Boolean", False, "Round the total up"),
    }


def test_the_same_flow_is_deployed_once(author: Author) -> None:
    author.flow("score", "flowforge", "create")  # other tests add files to the folder, which is the code package
    again = author.flow("score", "flowforge", "create")
    found = re.search(r"scoreflow 1\.0\.(\d+) has the same content", again)
    assert found, again
    with (author.folder / "score.py").open("a") as file:
        file.write("# changed\n")
    assert f"scoreflow 1.0.{int(found.group(1)) + 1} for flow" in author.flow("score", "flowforge", "create")


def test_tasks_record_their_run_with_this_server_only(author: Author) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        foreign = f"http://127.0.0.1:{other.getsockname()[1]}"
        assert foreign not in author.flow("branches", "flowforge", "create", "--only-json", METAFLOW_SERVICE_INTERNAL_URL=foreign)


LEFT = '''
import subprocess
from metaflow import FlowSpec, step


class LeftFlow(FlowSpec):
    @step
    def start(self):
        subprocess.Popen(["sh", "-c", "for i in $(seq 200); do echo busy; sleep 0.1; done"])
        print("the step is done")
        print("no line end", end="")
        self.next(self.end)

    @step
    def end(self):
        print("after the busy step")


if __name__ == "__main__":
    LeftFlow()
'''


def test_a_step_ends_before_a_process_that_it_leaves(author: Author) -> None:
    (author.folder / "left.py").write_text(LEFT)
    said = author.flow("left", "flowforge", "run")
    found = re.search(r"run-id (flowforge-([\w-]+))", said)
    assert found, said
    log = author.flow("left", "flowforge", "logs", found.group(1))
    assert "the step is done" in log and "no line end" in log and "after the busy step" in log
    assert log.count("busy") < 100  # the process writes 200 lines
    stored = author.call("-c", f"from metaflow import Task, namespace; namespace(None); print(Task('LeftFlow/{found.group(1)}/start/start').stdout)")
    assert "the step is done\n" in stored and "no line end" in stored


def test_a_task_waits_for_a_server_that_restarts(author: Author) -> None:
    answers = [503, 200]

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(answers.pop(0))
            self.end_headers()
            self.wfile.write(b'{"origin": "flowforge-1", "tasks": ["a/b/c"]}')

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        program = "from metaflow_extensions.flowforge.plugins.flowforge import clone; print(clone.reused())"
        url = f"http://127.0.0.1:{server.server_port}"
        assert "tasks=['a/b/c']" in author.call("-c", program, METAFLOW_SERVICE_URL=url)
        server.shutdown()
    assert not answers


ENDED = """
import json, os
from metaflow_extensions.flowforge.plugins.flowforge import task
open("inputs.json", "w").write("{}")
found = task._step_arguments(task.Attempt(), "start", {"retries": {"start": 1}, "tags": []}, ["r/s/t"], "")
print(json.dumps([a for a in found if "retr" in a]))
"""


@pytest.mark.parametrize(("attempt", "spent", "most"), [("1", "0", 1), ("3", "0", 3), ("4", "1", 3), ("2", "1", 1), ("3", "2", 1)])
def test_attempts_that_spend_no_retry_do_not_count_for_catch(author: Author, attempt: str, spent: str, most: int) -> None:
    env = {"FLOWFORGE_INPUTS": "inputs.json", "FLOWFORGE_WORKFLOW_ID": "e", "FLOWFORGE_NODE": "start", "FLOWFORGE_ATTEMPT": attempt, "FLOWFORGE_RETRY": spent}
    said = author.call("-c", ENDED, ends=0, **env)
    assert json.loads(said.strip().splitlines()[-1]) == [f"--retry-count={int(attempt) - 1}", f"--max-user-code-retries={most}"]
