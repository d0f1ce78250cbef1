"""A server for tests, with an empty data directory of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict
from urllib.request import Request, urlopen

ROOT = Path(__file__).resolve().parents[3]


class Running:
    """A server with an empty data directory of its own."""

    def __init__(self, data: Path, **more: str) -> None:
        binary = os.environ.get("FLOWFORGE_BINARY", str(ROOT / "bin" / "flowforge"))
        settings = {"FLOWFORGE_DATA_DIR": str(data), "FLOWFORGE_ADDR": "127.0.0.1:0", "FLOWFORGE_EXAMPLES": "off"}
        settings["FLOWFORGE_PYTHON"] = sys.executable  # tasks have the libraries of the tests
        self.log = (data.parent / "server.log").open("w+")
        self.process = subprocess.Popen(
            [binary, "serve"], stdout=subprocess.PIPE, stderr=self.log, text=True, env={**os.environ, **settings, **more}
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            found = re.search(r"is at (http://\S+)", line)
            if found:
                self.url = found.group(1)
                break
        else:
            raise AssertionError("the server did not start: " + Path(self.log.name).read_text())
        self.token = (data / "admin.token").read_text().strip()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": "Bearer " + self.token, "Content-Type": "application/json"}
        with urlopen(Request(self.url + "/api/v1" + path, data, headers, method=method), timeout=10) as answer:
            return json.load(answer)

    def run(self, workflow: Dict[str, Any], inputs: Dict[str, Any]) -> Dict[str, Any]:
        """Launch a workflow and return its execution once that has ended."""
        self.call("POST", "/workflows", workflow)
        return self.wait(self.call("POST", "/executions", {"workflow": workflow["name"], "inputs": inputs}))

    def resume(self, execution: Dict[str, Any], inputs: Dict[str, Any]) -> Dict[str, Any]:
        """Resume an execution with other inputs and wait for its end."""
        path = "/executions/" + execution["execution_id"] + "/resume"
        return self.wait(self.call("POST", path, {"override_inputs": inputs}))

    def wait(self, launched: Dict[str, Any], seconds: float = 60) -> Dict[str, Any]:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            execution: Dict[str, Any] = self.call("GET", "/executions/" + launched["execution_id"])
            if execution["status"] in ("SUCCEEDED", "FAILED", "CANCELLED"):
                return execution
            time.sleep(0.1)  # another process is watched
        raise AssertionError(f"the execution did not end: {execution}")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        assert self.process.stdout is not None
        self.process.stdout.read()
        self.process.stdout.close()
        self.process.wait(20)
        self.log.close()
