"""Flows of Metaflow with a datastore in S3: tasks, exit hooks, the client, pages and resume use one bucket."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, Iterator
from urllib.request import Request, urlopen

import pytest

from .flows_of_metaflow import Author
from .running import Running

KEY, SECRET = "flowforge-test", "flowforge-test-secret"


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An S3 server with the bucket models."""
    program = Path(os.environ["FLOWFORGE_CACHE_DIR"], "bin", "versitygw")
    assert program.exists(), "there is no S3 server for tests: run scripts/setup s3"
    folder = tmp_path_factory.mktemp("s3")
    (folder / "buckets" / "models").mkdir(parents=True)
    (folder / "meta").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [str(program), "--port", address, "--access", KEY, "--secret", SECRET, "--quiet", "posix", "--sidecar", str(folder / "meta"), str(folder / "buckets")]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    end = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), 5).close()
            break
        except OSError:
            assert server.poll() is None and time.monotonic() < end, (folder / "log").read_text()
            time.sleep(0.05)  # another process is watched
    yield f"http://{address}"
    server.kill()
    server.wait()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server of its own, because the datastore is a setting of the project."""
    found = Running(tmp_path_factory.mktemp("server") / "data")
    yield found
    found.stop()


@pytest.fixture(scope="module")
def author(running: Running, endpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Author:
    for name, value in (("s3-access", KEY), ("s3-secret", SECRET)):
        running.call("PUT", f"/secrets/{name}", {"value": value})
    place = {"kind": "s3", "root": "s3://models/metaflow", "endpoint": endpoint, "access_key_secret": "s3-access", "secret_key_secret": "s3-secret"}
    running.call("PUT", "/metaflow/datastore", place)
    folder = tmp_path_factory.mktemp("author")
    found = Author(folder, running)
    found.env.update(AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET, METAFLOW_CLIENT_CACHE_PATH=str(folder / "blobs"))
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

    @kubernetes(cpu=1, image="registry.example.com/flows:1", secrets=["team-keys"])
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
    assert work["code"]["image"] == "registry.example.com/flows:1" and work["resources"] == {"cpu": 1.0}
    assert work["pod"] == {"envFrom": [{"secretRef": {"name": "team-keys"}}]}
