"""Flows of Metaflow on a server: each example gives the same results as `python flow.py run`."""

from __future__ import annotations

import json
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, Tuple

import pytest

from .flows_of_metaflow import RUNS, Author

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
    output = author.flow("left", "flowforge", "run")
    found = re.search(r"run-id (flowforge-([\w-]+))", output)
    assert found, output
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
    output = author.call("-c", ENDED, ends=0, **env)
    assert json.loads(output.strip().splitlines()[-1]) == [f"--retry-count={int(attempt) - 1}", f"--max-user-code-retries={most}"]
