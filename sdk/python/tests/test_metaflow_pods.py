"""Flows of Metaflow in pods of a real cluster, with a datastore in S3: each example gives the same results as `python flow.py run`."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, Iterator, List, Sequence, Tuple
from urllib.parse import urlencode

import pytest

from .certificates import make_certificates
from .cluster import ENVIRONMENT, HOST, TASK_IMAGE, Cluster
from .flows_of_metaflow import FLOW_NAMES, RUNS, Author
from .object_store import keep_in_bucket, object_store
from .running import Running

LIMIT = 900  # seconds until all flows have ended


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    found = Cluster()
    yield found
    found.remove()


@pytest.fixture(scope="module")
def endpoint(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with object_store(tmp_path_factory.mktemp("s3"), HOST) as address:
        yield address


@pytest.fixture(scope="module")
def running(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server whose tasks are pods. They reach it only with certificates of its own CA."""
    folder = tmp_path_factory.mktemp("server")
    make_certificates(folder, HOST)
    names = {"CERT": "server.crt", "KEY": "server.key", "CLIENT_CA": "ca.crt", "CA": "ca.crt", "CLIENT_CERT": "task.crt", "CLIENT_KEY": "task.key"}
    found = Running(folder / "data", **cluster.settings, **{f"FLOWFORGE_TASK_TLS_{name}": str(folder / file) for name, file in names.items()})
    yield found
    found.stop()


@pytest.fixture(scope="module")
def author(running: Running, endpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Author:
    folder = tmp_path_factory.mktemp("author")
    client = keep_in_bucket(running, endpoint, folder)
    found = Author(folder, running)
    found.env.update(client)
    return found


def deploy(author: Author, name: str, values: Sequence[str] = (), python: Sequence[str] = ()) -> str:
    """Deploy a flow and start it. Return the ID of its execution."""
    author.flow(name, "--datastore", "s3", "flowforge", "create", *python)
    output = author.flow(name, "--datastore", "s3", "flowforge", "trigger", *values)
    found = re.search(r"run-id flowforge-([\w-]+)", output)
    assert found, output
    return found.group(1)


def log(author: Author, execution: str, **only: str) -> List[str]:
    selected = urlencode({"limit": 200, **only})
    return [line["message"] for line in author.server.call("GET", f"/executions/{execution}/logs?{selected}")["lines"]]


def ended(author: Author, execution: str) -> str:
    """Wait for the end of an execution. Return its status, with the log of its failed steps."""
    found = author.server.wait({"execution_id": execution}, LIMIT)
    failed = {n["operator"]: (n.get("error") or {}).get("message") or "" for n in found["nodes"] if n["status"] == "FAILED"}
    return "\n".join([found["status"], *failed.values(), *(log(author, execution, node=",".join(failed)) if failed else ())])


@pytest.fixture(scope="module")
def runs(author: Author) -> Dict[str, Tuple[str, str]]:
    """The paths of the plain run and of the run in pods of each example."""
    with ThreadPoolExecutor(2) as pool:
        forged = {name: pool.submit(deploy, author, name, RUNS[name], ("--python", ENVIRONMENT)) for name in RUNS}
        plain = {name: pool.submit(author.plain, name) for name in RUNS}
        found = {name: (plain[name].result(), forged[name].result()) for name in RUNS}
    assert {name: ended(author, execution) for name, (_, execution) in found.items()} == dict.fromkeys(RUNS, "SUCCEEDED")
    return {name: (path, f"{FLOW_NAMES[name]}/flowforge-{execution}") for name, (path, execution) in found.items()}


@pytest.fixture(scope="module")
def results(author: Author, runs: Dict[str, Tuple[str, str]]) -> Dict[str, Any]:
    plain, forged = ([pair[i] for pair in runs.values()] for i in (0, 1))
    return {**author.read(plain, "local"), **author.read(forged, "service")}


@pytest.mark.parametrize("name", RUNS)
def test_pods_give_the_same(name: str, runs: Dict[str, Tuple[str, str]], results: Dict[str, Any]) -> None:
    plain, forged = (results[path] for path in runs[name])
    assert plain["successful"] and forged["successful"]
    assert forged["steps"] == plain["steps"]


FLOW = '''
import os
from metaflow import FlowSpec, card, current, exit_hook, kubernetes, namespace, retry, secrets, step


def tell(run):
    namespace(None)
    print("the hook read", run.data.total)


def complain(run):
    namespace(None)
    print("the hook saw", sorted(step.id for step in run))


@exit_hook(on_success=[tell], on_error=[complain])
class RemoteFlow(FlowSpec):
    @secrets(sources=["flowforge.login"])
    @retry(times=1, minutes_between_retries=0)
    @card
    @step
    def start(self):
        from metaflow.cards import Markdown
        current.card.append(Markdown("Kept in S3"))
        if current.retry_count == 0:
            raise ValueError("the first attempt")
        self.user, self.items = os.environ["DB_USER"], [1, 2]
        self.next(self.work, foreach="items")

    @kubernetes(cpu=0.2, memory=500, image="IMAGE", labels={"team": "red"}, secrets=["team-keys"])
    @step
    def work(self):
        print("works on", self.input)
        self.double, self.key, self.machine = 2 * self.input, os.environ["TEAM_KEY"], os.uname().nodename
        self.next(self.join)

    @step
    def join(self, inputs):
        if not current.origin_run_id:
            raise ValueError("only a resumed run succeeds")
        self.total = sum(i.double for i in inputs)
        self.machines = sorted({i.machine for i in inputs})
        self.merge_artifacts(inputs, exclude=["double", "machine"])
        self.next(self.end)

    @step
    def end(self):
        pass


if __name__ == "__main__":
    RemoteFlow()
'''

READ = """
import json, sys
from metaflow import Run, namespace
from metaflow.cards import get_cards
namespace(None)
first, second = (Run(path) for path in sys.argv[1:])
print(json.dumps({
    "successful": [first.successful, second.successful], "attempt": first["start"].task.current_attempt, "user": second.data.user,
    "total": second.data.total, "key": second.data.key, "machines": len(second.data.machines),
    "logs": sorted(t.stdout for t in first["work"]), "cards": ["</html>" in c.get() for c in get_cards(first["start"].task)],
}))
"""


def test_pods_get_keys_retry_and_resume(author: Author, cluster: Cluster) -> None:
    server = author.server
    server.call("PUT", "/secrets/login", {"value": '{"DB_USER": "mia"}'})
    cluster.call("create", "secret", "generic", "team-keys", f"--namespace={cluster.namespace()}", "--from-literal=TEAM_KEY=red")
    (author.folder / "remote.py").write_text(FLOW.replace("IMAGE", TASK_IMAGE))
    first = deploy(author, "remote")
    assert "only a resumed run succeeds" in ended(author, first)
    second = server.call("POST", f"/executions/{first}/resume", {})["execution_id"]
    assert ended(author, second) == "SUCCEEDED"
    hooks = [log(author, execution, q="the hook") for execution in (first, second)]
    assert hooks == [["the hook saw ['join', 'start', 'work']"], ["the hook read 6"]]
    paths = (f"RemoteFlow/flowforge-{execution}" for execution in (first, second))
    assert json.loads(author.call("-c", READ, *paths).strip().splitlines()[-1]) == {
        "successful": [False, True], "attempt": 1, "user": "mia", "total": 6, "key": "red", "machines": 2,
        "logs": ["works on 1\n", "works on 2\n"], "cards": [True],
    }  # fmt: skip
    again = author.flow("remote", "--datastore", "s3", "resume", "join", "--origin-run-id", f"flowforge-{second}")
    assert "works on" not in again and "Done!" in again
