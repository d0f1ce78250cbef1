"""Flows of Metaflow with a datastore in S3: tasks, exit hooks, the client, pages and resume use one bucket."""

from __future__ import annotations

import json
import re
import sys
from typing import Any, Dict, Iterator
from urllib.request import Request, urlopen

import pytest

from .flows_of_metaflow import Author
from .object_store import KEY, SECRET, keep_in_bucket, object_store
from .running import Running


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with object_store(tmp_path_factory.mktemp("s3")) as address:
        yield address


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server of its own, because the datastore is a setting of the project."""
    found = Running(tmp_path_factory.mktemp("server") / "data")
    yield found
    found.stop()


@pytest.fixture(scope="module")
def author(running: Running, endpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Author:
    folder = tmp_path_factory.mktemp("author")
    client = keep_in_bucket(running, endpoint, folder)
    found = Author(folder, running)
    found.env.update(client)
    (found.folder / "remote.py").write_text(FLOW.replace("MARKER", repr(str(folder / "failing"))))
    return found


FLOW = '''
import os, time
from metaflow import FlowSpec, card, current, exit_hook, kubernetes, retry, step


def done(run):
    from metaflow import namespace
    namespace(None)
    print("the hook read", run.data.total, run.data.stamp)


@exit_hook(on_success=[done])
class RemoteFlow(FlowSpec):
    @retry(times=1, minutes_between_retries=0)
    @card
    @step
    def start(self):
        from metaflow.cards import Markdown
        current.card.append(Markdown("Kept in S3"))
        if current.retry_count == 0:
            raise ValueError("the first attempt")
        self.stamp = time.time_ns()  # no cache has it
        self.large = b"x" * 3_000_000
        self.items = [1, 2, 3]
        self.next(self.work, foreach="items")

    @kubernetes(cpu=1, memory=2048, image="registry.example.com/flows:1", secrets=["team-keys"])
    @step
    def work(self):
        if self.input == 3 and os.path.exists(MARKER):
            raise ValueError("the marker exists")
        print("works on", self.input)
        self.double = self.input * 2
        self.next(self.join)

    @step
    def join(self, inputs):
        self.total = sum(i.double for i in inputs)
        self.merge_artifacts(inputs, exclude=["double"])
        self.next(self.end)

    @step
    def end(self):
        print("total", self.total)


if __name__ == "__main__":
    RemoteFlow()
'''

READ = """
import json, sys
from metaflow import Run, namespace
from metaflow.cards import get_cards
namespace(None)
run = Run(sys.argv[1])
print(json.dumps({
    "successful": run.successful, "total": run.data.total, "stamp": run.data.stamp, "large": len(run.data.large),
    "doubles": sorted(t.data.double for t in run["work"]), "logs": sorted(t.stdout for t in run["work"]),
    "attempts": run["start"].task.current_attempt, "cards": ["</html>" in c.get() for c in get_cards(run["start"].task)],
    "work": [t.id for t in run["work"]],
}))
"""


def local(author: Author) -> None:
    """Let the steps run as processes here, with the interpreter of the tests."""
    file = author.folder / "remote.py"
    file.write_text(re.sub(r"    @kubernetes\(.*\)\n", "", file.read_text()))


@pytest.fixture(scope="module")
def resumed(author: Author, tmp_path_factory: pytest.TempPathFactory) -> Dict[str, Any]:
    """An execution that failed while the marker existed, and was resumed without it."""
    local(author)
    marker = author.folder.parent / "failing"
    marker.touch()
    output = author.flow("remote", "flowforge", "run", "--python", sys.prefix, ends=1)
    assert "the marker exists" in output
    found = re.search(r"run-id flowforge-([\w-]+)", output)
    assert found, output
    marker.unlink()
    execution = author.server.wait(author.server.call("POST", f"/executions/{found.group(1)}/resume", {}), 600)
    assert execution["status"] == "SUCCEEDED", execution
    return {**execution, "origin": found.group(1)}


def test_the_client_reads_what_tasks_stored(author: Author, resumed: Dict[str, Any]) -> None:
    path = f"RemoteFlow/flowforge-{resumed['execution_id']}"
    found = json.loads(author.call("-c", READ, path).strip().splitlines()[-1])
    assert (found["successful"], found["total"], found["large"], found["doubles"]) == (True, 12, 3_000_000, [2, 4, 6])
    assert found["logs"] == [f"works on {n}\n" for n in (1, 2, 3)] and found["cards"] == [True]
    log = author.server.call("GET", f"/executions/{resumed['execution_id']}/logs")["lines"]
    assert [line["message"] for line in log if "the hook read" in line["message"]] == [f"the hook read 12 {found['stamp']}"]
    again = author.flow("remote", "resume", "join", "--origin-run-id", f"flowforge-{resumed['execution_id']}")
    assert "total 12" in again and "works on" not in again


def test_pages_show_logs_and_cards_of_the_bucket(author: Author, resumed: Dict[str, Any]) -> None:
    path = f"RemoteFlow/flowforge-{resumed['execution_id']}"
    work = json.loads(author.call("-c", READ, path).strip().splitlines()[-1])["work"]

    def page(address: str) -> str:
        request = Request(author.server.url + address, headers={"Authorization": "Bearer " + author.server.token})
        with urlopen(request, timeout=60) as answer:
            return str(answer.read().decode())

    card = re.search(r'src="([^"]*/cards/[^"]+)"', page(f"/executions/metaflow/RemoteFlow/flowforge-{resumed['origin']}/start/start"))
    assert card and "</html>" in page(card.group(1).replace("&amp;", "&"))
    assert "works on" in page(f"/executions/metaflow/{path}/work/{work[0]}")


def test_pods_get_the_datastore_and_its_keys_from_secrets(author: Author, endpoint: str) -> None:
    file = author.folder / "remote.py"
    local_flow = file.read_text()
    file.write_text(FLOW.replace("MARKER", "'/nowhere'"))
    try:
        output = author.flow("remote", "flowforge", "create", "--only-json")
        author.flow("remote", "flowforge", "--name", "remote.pods", "create")  # without the package kubernetes
    finally:
        file.write_text(local_flow)
    assert SECRET not in output and f'"{KEY}"' not in output
    document, _ = json.JSONDecoder().raw_decode(output)
    operators = [*document["operators"], *document["on_exit"], *(o for g in document.get("graphs", {}).values() for o in g["operators"])]
    tasks = {o["name"]: o for o in operators if "code" in o}
    assert len(tasks) == 5
    for operator in tasks.values():
        environment = operator["environment"]
        assert environment["METAFLOW_DEFAULT_DATASTORE"] == "s3" and environment["METAFLOW_DATASTORE_SYSROOT_S3"] == "s3://models/metaflow"
        assert environment["METAFLOW_S3_ENDPOINT_URL"] == endpoint and "VIRTUAL_ENV" not in environment
        assert any(r.startswith("metaflow==") for r in operator["code"]["requirements"])
        keys = {i["name"]: i["value"] for i in operator["inputs"] if i["type"] == "Secret"}
        assert keys == {"aws_access_key_id": {"$secret": "s3-access"}, "aws_secret_access_key": {"$secret": "s3-secret"}}
    work = tasks["work"]
    assert work["code"]["image"] == "registry.example.com/flows:1" and work["resources"] == {"cpu": 1.0, "memory": "2048Mi"}
    assert {name: o["environment"]["METAFLOW_S3_WORKER_COUNT"] for name, o in tasks.items() if name in ("start", "work")} == {"start": "4", "work": "8"}
    assert work["pod"] == {"envFrom": [{"secretRef": {"name": "team-keys"}}]}
