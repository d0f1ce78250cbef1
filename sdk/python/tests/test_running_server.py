"""What a task says through the client, as the API of a running server tells it."""

from __future__ import annotations

from typing import Any, Dict, List
from urllib.request import Request, urlopen

from .running import Running

TASK = """
import sys
from flowforge import client

before = client.get_checkpoint()
client.log("begins", attempt=client.attempt, level="WARN", rate=client.inputs["rate"])
for step in range(3):
    client.metric("loss", 1 / (step + 1), step=step, tags={"split": "train"})
client.metric("images", 64, "counter")
client.status(progress=40, message="nearly half")
if before is None:
    client.checkpoint({"epoch": 3})
    sys.exit("the first attempt fails")
client.output("score", before["epoch"] + client.inputs["rate"])
client.output_path("model").write_text("weights")
"""

WORKFLOW = {
    "name": "sdk.everything",
    "version": "1.0.0",
    "inputs": [{"name": "rate", "type": "Float"}],
    "operators": [
        {
            "name": "task",
            "type": "python",
            "inputs": [{"name": "rate", "type": "Float", "from": "inputs.rate"}],
            "outputs": [{"name": "score", "type": "Float"}, {"name": "model", "type": "File"}],
            "code": {"script": TASK},
            "retry": {"limit": 1, "initial_delay": "1s"},
            "timeout": "1m",
        }
    ],
}


STUBBORN = """
from flowforge import client

seen = client.get_checkpoint() or {"rounds": []}
log = client.checkpoint_dir / "log"
before = log.read_text() if log.exists() else ""

@client.on_failure
def save():
    client.checkpoint({"rounds": seen["rounds"] + [client.inputs["rate"]]})
    log.write_text(before + "x")

if client.inputs["rate"] < 1:
    raise SystemError("too slow")
client.output("rounds", seen["rounds"])
client.output("log", before)
"""

STUBBORN_WORKFLOW = {
    "name": "sdk.stubborn",
    "version": "1.0.0",
    "inputs": [{"name": "rate", "type": "Float"}],
    "operators": [
        {
            "name": "task",
            "type": "python",
            "inputs": [{"name": "rate", "type": "Float", "from": "inputs.rate"}],
            "outputs": [{"name": "rounds", "type": "List<Float>"}, {"name": "log", "type": "String"}],
            "code": {"script": STUBBORN},
            "retry": {"limit": 1, "initial_delay": "1s", "policy": "Always"},
            "timeout": "1m",
        }
    ],
}


def test_everything_a_task_says(running: Running) -> None:
    execution = running.run(WORKFLOW, {"rate": 0.5})
    assert execution["status"] == "SUCCEEDED", execution
    node = execution["nodes"][0]
    assert node["attempt"] == 2, "the checkpoint of the first attempt was there for the second"
    assert node["outputs"]["score"] == 3.5
    assert node["progress"]["message"] == "nearly half"

    path = "/executions/" + execution["execution_id"]
    logged: List[Dict[str, Any]] = [line for line in running.call("GET", path + "/logs")["lines"] if line["stream"] == "sdk"]
    assert [(line["attempt"], line["level"], line["message"]) for line in logged] == [(1, "WARN", "begins"), (2, "WARN", "begins")]
    assert [line["fields"] for line in logged] == [{"rate": 0.5, "attempt": 1}, {"rate": 0.5, "attempt": 2}]

    series = {(s["name"], s["attempt"]): s for s in running.call("GET", path + "/metrics")["series"]}
    assert sorted(series) == [("images", 1), ("images", 2), ("loss", 1), ("loss", 2)]
    loss = series["loss", 2]
    assert [(p["step"], p["value"]) for p in loss["points"]] == [(0, 1), (1, 0.5), (2, 1 / 3)]
    assert loss["tags"] == {"split": "train"}
    assert (series["images", 1]["type"], loss["type"]) == ("counter", "gauge")

    (model,) = running.call("GET", path + "/artifacts")["artifacts"]
    headers = {"Authorization": "Bearer " + running.token}
    with urlopen(Request(running.url + model["download_url"], headers=headers), timeout=10) as answer:
        assert answer.read() == b"weights"


def test_an_emergency_checkpoint_is_there_for_retry_and_resume(running: Running) -> None:
    first = running.run(STUBBORN_WORKFLOW, {"rate": 0.25})
    assert (first["status"], first["nodes"][0]["attempt"]) == ("FAILED", 2), first

    good = running.resume(first, {"rate": 2})
    assert good["status"] == "SUCCEEDED", good
    assert good["nodes"][0]["outputs"]["rounds"] == [0.25, 0.25], "both attempts saved, the second on top of the first"
    assert good["nodes"][0]["outputs"]["log"] == "xx", "the folder is handed over, too"

    # The first execution can be resumed once more, and what a resume left as well.
    bad = running.resume(first, {"rate": 0.5})
    assert bad["status"] == "FAILED", bad
    last = running.resume(bad, {"rate": 3})
    assert last["nodes"][0]["outputs"] == {"rounds": [0.25, 0.25, 0.5, 0.5], "log": "xxxx"}
    lines: List[str] = [line["message"] for line in running.call("GET", "/executions/" + last["execution_id"] + "/logs")["lines"]]
    assert "Resuming from the checkpoints of the original execution." in lines
