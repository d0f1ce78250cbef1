from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List

import pytest

import flowforge
from flowforge import Client, InputError, LogLevel, MetricType, OutputError
from flowforge._config import Config

from .conftest import Server


def test_public_names() -> None:
    assert sorted(flowforge.__all__) == flowforge.__all__
    for name in flowforge.__all__:
        assert hasattr(flowforge, name)


def test_log_and_metric_arrive_in_order(server: Server, config: Config) -> None:
    client = Client(config)
    for i in range(1200):
        client.log(f"line {i}", level="warning", i=i)
    client.metric("loss", 0.5, step=3, tags={"split": "train"})
    client.metric("total", 7, MetricType.COUNTER)
    client.metric("bad", float("nan"))
    assert client.flush()
    logs = server.entries("logs")
    assert [entry["message"] for entry in logs] == [f"line {i}" for i in range(1200)]
    assert logs[0]["level"] == "WARN"
    assert json.loads(logs[7]["extra"]) == {"i": 7}
    sequence = [int(entry["sequence"]) for entry in logs]
    assert sequence == sorted(set(sequence))
    loss, total, bad = server.entries("metrics")
    assert (loss["name"], loss["value"], loss["step"], loss["tags"]) == ("loss", 0.5, "3", {"split": "train"})
    assert total["type"] == "counter"
    assert bad["value"] == "NaN"
    client.close()


def test_latest_status_counts(server: Server, config: Config) -> None:
    client = Client(config)
    for percent in (10, 250):
        client.status("RUNNING", progress=percent, message="half way")
    client.close()
    updates = [body for method, body in server.calls if method == "UpdateStatus"]
    assert updates[-1]["progress"] == 100
    assert updates[-1]["message"] == "half way"


def test_a_status_keeps_the_progress_that_still_waits(server: Server, config: Config) -> None:
    client = Client(config)
    with client._sending()._wake:  # nothing is sent between the two
        client.status("RUNNING", progress=100, message="trained", epochs=3)
        client.status("SUCCEEDED", message="saved")
    assert client.flush(10)
    client.close()
    updates = [body for method, body in server.calls if method == "UpdateStatus"]
    assert [(u["status"], u["message"], u["progress"], u["details"]) for u in updates[-1:]] == [
        ("SUCCEEDED", "saved", 100, '{"epochs": 3}')
    ]


def test_server_away_for_a_while_loses_and_doubles_nothing(server: Server, config: Config) -> None:
    server.stop()
    client = Client(config)
    for i in range(50):
        client.log(f"line {i}")
    assert not client.flush(0.3)
    server.start()
    assert client.flush(10)
    assert [entry["message"] for entry in server.entries("logs")] == [f"line {i}" for i in range(50)]
    client.close()


def test_what_cannot_be_sent_is_spooled(server: Server, config: Config) -> None:
    server.stop()
    client = Client(config)
    client.log("last words", level=LogLevel.ERROR)
    client.metric("loss", 1.0)
    assert client._sender is not None
    client._sender.close(timeout=0.3)
    assert config.spool is not None
    spooled: List[Dict[str, Any]] = [json.loads(p.read_text()) for p in sorted(config.spool.glob("*.json"))]
    assert [line["message"] for request in spooled for line in request["logs"]] == ["last words"]
    assert [point["name"] for request in spooled for point in request["metrics"]] == ["loss"]
    assert spooled[0]["taskId"] == "e.1.1"


def test_refused_messages_do_not_stop_the_task(server: Server, config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    server.status = 403
    client = Client(config)
    client.log("x")
    client.close()
    assert "rejected" in capsys.readouterr().err


def test_inputs(config: Config) -> None:
    client = Client(config)
    assert client.inputs["epochs"] == 5
    assert client.input_path("data").read_text() == "a,b\n"
    with pytest.raises(InputError, match="there is no input 'model'; the inputs are: data, epochs"):
        client.input_path("model")
    with pytest.raises(InputError, match="not a file"):
        client.input_path("epochs")


def test_outputs(config: Config, tmp_path: Path) -> None:
    client = Client(config)
    client.output("accuracy", 0.97)
    source = tmp_path / "model.bin"
    source.write_bytes(b"\0\1")
    client.output("model", source)
    folder = tmp_path / "images"
    folder.mkdir()
    (folder / "a.png").write_bytes(b"x")
    client.output("images", folder)
    client.output_path("report").write_text("<h1>")
    assert config.outputs is not None
    assert json.loads((config.outputs / "accuracy").read_text()) == 0.97
    assert (config.outputs / "model").read_bytes() == b"\0\1"
    assert (config.outputs / "images" / "a.png").exists()
    for name in ("../x", "", "a/b", ".hidden"):
        with pytest.raises(OutputError):
            client.output(name, 1)
    with pytest.raises(OutputError, match="cannot be written as JSON"):
        client.output("bad", object())
    with pytest.raises(OutputError):
        client.output("nan", float("nan"))


def test_checkpoint_survives_the_process_and_the_machine(server: Server, config: Config) -> None:
    client = Client(config)
    assert client.get_checkpoint() is None
    client.checkpoint({"epoch": 3})
    client.close()
    assert Client(config).get_checkpoint() == {"epoch": 3}
    saved = [body for method, body in server.calls if method == "SaveCheckpoint"]
    assert json.loads(saved[-1]["data"]) == {"epoch": 3}

    server.answers["GetCheckpoint"] = {"data": '{"epoch": 4}', "timestamp": "1"}
    assert config.checkpoints is not None
    (config.checkpoints / "checkpoint.json").unlink()
    assert Client(config).get_checkpoint() == {"epoch": 4}


def environment(config: Config) -> Dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(Path(flowforge.__file__).parents[1]),
        "FLOWFORGE_TASK_ID": config.task_id,
        "FLOWFORGE_WORKFLOW_ID": config.workflow_id,
        "FLOWFORGE_API_ENDPOINT": config.endpoint,
        "FLOWFORGE_AUTH_TOKEN": config.token,
        "FLOWFORGE_SPOOL": str(config.spool),
        "FLOWFORGE_OUTPUTS": str(config.outputs),
        "FLOWFORGE_CHECKPOINTS": str(config.checkpoints),
        "FLOWFORGE_PREEMPTED": str(config.preempted or ""),
    }


def run(program: str, config: Config) -> "subprocess.Popen[str]":
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(program)]
    return subprocess.Popen(command, env=environment(config), stdout=subprocess.PIPE, text=True)


def test_exit_flushes(server: Server, config: Config) -> None:
    process = run("from flowforge import client; client.log('bye')", config)
    process.communicate(timeout=20)
    assert process.returncode == 0
    assert [entry["message"] for entry in server.entries("logs")] == ["bye"]


def test_sigterm_flushes_and_still_ends_by_the_signal(server: Server, config: Config) -> None:
    program = """
        import signal
        from flowforge import client
        client.log("before the signal")
        print("ready", flush=True)
        signal.pause()
    """
    process = run(program, config)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    process.communicate(timeout=20)
    assert process.returncode == -15
    assert [entry["message"] for entry in server.entries("logs")] == ["before the signal"]


def test_preemption_saves_a_checkpoint_first(server: Server, config: Config, tmp_path: Path) -> None:
    program = """
        import signal
        from flowforge import client

        @client.on_preempt
        def save():
            client.checkpoint({"epoch": 41})

        assert not client.preempted
        print("ready", flush=True)
        signal.pause()
    """
    marker = tmp_path / "preempted"
    config = replace(config, preempted=marker)
    process = run(program, config)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    marker.touch()
    process.terminate()
    process.communicate(timeout=20)
    assert process.returncode == -15
    saved = [json.loads(body["data"]) for method, body in server.calls if method == "SaveCheckpoint"]
    assert saved == [{"epoch": 41}]


def test_a_failure_saves_a_checkpoint_first(server: Server, config: Config, capfd: pytest.CaptureFixture[str]) -> None:
    program = """
        from flowforge import client

        @client.on_failure
        def save():
            client.checkpoint({"epoch": 7})

        @client.on_failure
        def broken():
            raise ValueError("nothing to save")

        raise RuntimeError("out of luck")
    """
    process = run(program, config)
    process.communicate(timeout=20)
    assert process.returncode == 1
    saved = [json.loads(body["data"]) for method, body in server.calls if method == "SaveCheckpoint"]
    assert saved == [{"epoch": 7}]
    stderr = capfd.readouterr().err
    assert "RuntimeError: out of luck" in stderr and "on_failure: ValueError" in stderr


def test_a_signal_during_a_write_ends_the_program(server: Server, config: Config) -> None:
    program = """
        import io, os, signal, sys
        from flowforge import client

        class Interrupted(io.RawIOBase):
            def writable(self):
                return True

            def write(self, data):
                os.kill(os.getpid(), signal.SIGTERM)
                return len(data)

        client.on_failure(lambda: client.checkpoint({"epoch": 9}))
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(Interrupted()))
        print("a line", flush=True)
    """
    process = run(program, config)
    process.communicate(timeout=20)
    assert process.returncode == -15
    saved = [json.loads(body["data"]) for method, body in server.calls if method == "SaveCheckpoint"]
    assert saved == [{"epoch": 9}]


def test_who_is_stopped_saves_as_who_fails(server: Server, config: Config) -> None:
    program = """
        import signal
        from flowforge import client
        client.on_failure(lambda: client.checkpoint({"epoch": 8}))
        print("ready", flush=True)
        signal.pause()
    """
    process = run(program, config)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    process.communicate(timeout=20)
    assert process.returncode == -15
    saved = [json.loads(body["data"]) for method, body in server.calls if method == "SaveCheckpoint"]
    assert saved == [{"epoch": 8}]


def test_a_success_saves_nothing_more(server: Server, config: Config) -> None:
    program = """
        import sys
        from flowforge import client
        client.on_failure(lambda: client.checkpoint({"epoch": 9}))
        sys.exit(0)
    """
    process = run(program, config)
    process.communicate(timeout=20)
    assert process.returncode == 0
    assert [method for method, _ in server.calls if method == "SaveCheckpoint"] == []


def test_cancellation_is_no_preemption(server: Server, config: Config) -> None:
    program = """
        import signal
        from flowforge import client
        client.on_preempt(lambda: print("saved", flush=True))
        print("ready", flush=True)
        signal.pause()
    """
    process = run(program, config)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    assert process.communicate(timeout=20)[0] == ""
    assert process.returncode == -15


def test_child_processes_report_too(server: Server, config: Config) -> None:
    program = """
        import os
        from flowforge import client
        client.log("parent")
        pid = os.fork()
        client.log("child" if pid == 0 else "parent again")
        client.close()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    """
    process = run(program, config)
    process.communicate(timeout=20)
    assert sorted(entry["message"] for entry in server.entries("logs")) == ["child", "parent", "parent again"]
    sequence = [entry["sequence"] for entry in server.entries("logs")]
    assert len(set(sequence)) == 3


def test_outside_it_prints_and_writes_nothing(tmp_path: Path) -> None:
    program = """
        from flowforge import client
        client.log("hello", name="x")
        client.metric("loss", 1.5, step=2)
        client.status(progress=50)
        client.output("accuracy", 0.9)
        client.checkpoint({"a": 1})
        assert client.get_checkpoint() is None
        assert client.inputs == {}
    """
    env = {k: v for k, v in os.environ.items() if not k.startswith("FLOWFORGE_")}
    env["PYTHONPATH"] = str(Path(flowforge.__file__).parents[1])
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], env=env, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["INFO hello name=x", "METRIC loss=1.5 step=2", "STATUS RUNNING 50 %", "OUTPUT accuracy=0.9"]
    assert list(tmp_path.iterdir()) == []


def test_import_is_quick() -> None:
    program = "import time; t = time.perf_counter(); import flowforge; print(time.perf_counter() - t)"
    env = {**os.environ, "PYTHONPATH": str(Path(flowforge.__file__).parents[1])}
    times = [float(subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True).stdout) for _ in range(3)]
    heavy = subprocess.run(
        [sys.executable, "-c", "import sys, flowforge; print([m for m in ('http.client', 'ssl', 'asyncio', 'urllib.request') if m in sys.modules])"],
        env={**env, "SSL_CERT_FILE": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    print("import takes", min(times), "s; heavy modules:", heavy.stdout)
    assert "http.client" not in heavy.stdout and "asyncio" not in heavy.stdout


def test_names_of_the_design_document(server: Server, config: Config) -> None:
    from flowforge import FlowForgeClient, client, types
    from flowforge.client import FlowForgeClient as same

    assert FlowForgeClient is same is Client
    assert isinstance(client, FlowForgeClient)
    assert types.TaskStatus is flowforge.TaskStatus
    mine = FlowForgeClient(config)
    mine.status("RUNNING", "msg", 50, {"batch": 5})
    mine.output(key="count", value=3)
    mine.output("model", "weights", metadata={"accuracy": 0.923, "framework": "pytorch"})
    mine.describe({"accuracy": 0.97})
    mine.describe({"rows": 3}, output="table")
    mine.close()
    update = [body for method, body in server.calls if method == "UpdateStatus"][-1]
    assert (update["message"], update["progress"], json.loads(update["details"])) == ("msg", 50, {"batch": 5})
    assert config.outputs is not None
    assert json.loads((config.outputs / "count").read_text()) == 3
    assert json.loads((config.outputs / ".model.metadata").read_text())["framework"] == "pytorch"
    assert json.loads((config.outputs / ".result.metadata").read_text()) == {"accuracy": 0.97}
    assert json.loads((config.outputs / ".table.metadata").read_text()) == {"rows": 3}


def test_status_takes_the_progress_second_as_before(server: Server, config: Config) -> None:
    mine = Client(config)
    mine.status("RUNNING", 50)  # type: ignore[arg-type]
    mine.close()
    assert [body for method, body in server.calls if method == "UpdateStatus"][-1]["progress"] == 50
