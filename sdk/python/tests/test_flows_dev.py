"""`flowforge dev` and development versions with a running server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Dict

import pytest

from flowforge import _cli, _launch
from flowforge._api import Server

from .serving import PACKAGE, accept_interrupts, project, server


def test_documents_of_development_versions(server: Server, project: Path) -> None:
    sys.path.insert(0, str(project))
    try:
        module = _cli.load(str(project / "flow.py"))
        first = _launch.develop(module.flow, server)
        assert first.version.partition("-dev.h")[1] and _launch.develop(module.flow, server).version == first.version
        document: Dict[str, Any] = module.flow.definition().document()
        assert json.dumps(document)
        assert set(module.flow.definition().code.files) == {"flow.py", "helper.py"}
    finally:
        sys.path.remove(str(project))


SECOND = 1_700_000_000_000_000_000  # a time in ns


def test_dev_registers_every_save(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "tuned.py"
    text = "from flowforge import operator, workflow\n\n\n@operator\ndef one(rate: float) -> float:\n    return rate\n\n\n@workflow(name='tests.tuned')\ndef tuned(rate: float = 0.5) -> float:\n    return one(rate)\n"
    file.write_text(text)
    os.utime(file, ns=(SECOND, SECOND))
    env = {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONUNBUFFERED": "1"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    watching = subprocess.Popen([sys.executable, "-m", "flowforge", "dev", str(file)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, preexec_fn=accept_interrupts)
    limit = threading.Timer(120, watching.kill)
    limit.start()
    try:
        assert watching.stdout is not None
        assert watching.stdout.readline() == f"Watching 1 file in {tmp_path}. Press Ctrl+C to stop.\n"
        line = watching.stdout.readline()
        assert "tests.tuned 1.0.0-dev.h" in line, line
        assert watching.stdout.readline().strip() == f"{server.url}/workflows/tests.tuned/dev"
        first = server.get("/workflows/tests.tuned/development")["version"]
        assert first in line

        file.write_text(text.replace("one(rate)", "one(oops)"))  # as long as before
        os.utime(file, ns=(SECOND + 1, SECOND + 1))  # in the same second
        line = watching.stdout.readline()
        while not line.startswith("flowforge:"):
            assert line, "the command ended"
            line = watching.stdout.readline()
        assert "oops" in line
        assert server.get("/workflows/tests.tuned/development")["version"] == first

        (tmp_path / "helper.py").write_text("factor = 2\n")
        file.write_text(text.replace("rate: float = 0.5", "rate: float = 0.5, momentum: float = 0.9"))
        while "tests.tuned 1.0.0-dev.h" not in line:
            assert line, "the command ended"
            line = watching.stdout.readline()
        second = server.get("/workflows/tests.tuned/development")["version"]
        while second not in line:  # each file that was saved can be one registration
            line = watching.stdout.readline()
            assert line, "the command ended"
        assert second != first
        watching.send_signal(signal.SIGINT)
        assert watching.wait(30) == 0
    finally:
        limit.cancel()
        watching.kill()
        watching.wait()
        watching.stdout and watching.stdout.close()


def test_dev_in_a_file_that_does_not_exist(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert _cli.main(["dev", "nowhere.py"]) == 1
    assert "the file nowhere.py does not exist" in capsys.readouterr().err
