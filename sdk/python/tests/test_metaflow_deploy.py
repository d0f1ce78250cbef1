"""What a deployment of a flow asks the server about the datastore and the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Dict

from .running import ROOT

PROGRAM = """
import json, sys
from flowforge._api import Server
from metaflow_extensions.flowforge.plugins.flowforge import deploy
where = deploy.store(Server())
environment, packages = deploy._python(where, deploy.Options())
print(json.dumps([environment.get("VIRTUAL_ENV") == sys.prefix, where.root]))
"""

MACHINE = "import sys; from metaflow_extensions.flowforge.plugins.flowforge import deploy; print(deploy._machine())"


def python(program: str, **env: str) -> "subprocess.CompletedProcess[str]":
    path = os.pathsep.join([str(ROOT / "sdk" / "metaflow"), str(ROOT / "sdk" / "python")])
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("METAFLOW_", "FLOWFORGE_"))}
    return subprocess.run([sys.executable, "-c", program], env={**kept, "PYTHONPATH": path, **env}, capture_output=True, text=True)


def deployed(datastore: Dict[str, Any], **env: str) -> "subprocess.CompletedProcess[str]":
    """Run PROGRAM with a server that has a datastore."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(datastore).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            return python(PROGRAM, FLOWFORGE_SERVER=f"http://127.0.0.1:{server.server_address[1]}", FLOWFORGE_TOKEN="ffk_test", **env)
        finally:
            server.shutdown()


def test_the_root_is_that_of_the_server() -> None:
    done = deployed({"kind": "local"}, METAFLOW_DATASTORE_SYSROOT_LOCAL="/tmp/elsewhere")
    assert done.returncode != 0 and "does not report a Metaflow datastore" in done.stderr, done.stdout + done.stderr


def test_the_server_says_whether_it_is_on_this_machine() -> None:
    here = python(MACHINE).stdout.strip()
    assert len(here) == 64
    for machine, own in ((here, True), ("0" * 64, False), ("", False)):
        done = deployed({"kind": "local", "root": "/data", "machine": machine})
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == [own, "/data"], "a forwarded port is an address of this machine, too"


FLOW = """
import json, sys, types
from metaflow import FlowSpec, schedule, step
from metaflow_extensions.flowforge.plugins.flowforge import deploy

class Nightly(FlowSpec):
    @step
    def start(self):
        self.next(self.end)

    @step
    def end(self):
        pass

flow = ARGUMENTS(Nightly)(use_cli=False)
for kind in flow._flow_decorators.values():
    for one in kind:
        one.flow_init(flow, None, None, None, None, None, print, {})
print(json.dumps(deploy._schedules(types.SimpleNamespace(flow=flow))))
"""


def declared(folder: Path, decorator: str) -> "subprocess.CompletedProcess[str]":
    """Run FLOW with a decorator, as a file: Metaflow reads the source of steps."""
    file = folder / "flow.py"
    file.write_text(FLOW.replace("ARGUMENTS", decorator))
    return python(f"import runpy; runpy.run_path({str(file)!r}, run_name='__main__')")


def test_the_schedule_of_a_flow_is_declared(tmp_path: Path) -> None:
    for arguments, expected in (
        ("schedule(daily=True)", [{"cron": "0 0 * * ?"}]),
        ("schedule(hourly=True)", [{"cron": "0 * * * ?"}]),
        ("schedule(weekly=True, timezone='Europe/Berlin')", [{"cron": "0 0 ? * SUN", "timezone": "Europe/Berlin"}]),
        ("schedule(cron='30 2 ? * MON-FRI *')", [{"cron": "30 2 ? * MON-FRI"}]),
        ("schedule(cron='30 2 * * *')", [{"cron": "30 2 * * *"}]),
        ("(lambda flow: flow)", []),
    ):
        done = declared(tmp_path, arguments)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout.splitlines()[-1]) == expected, arguments
    done = declared(tmp_path, "schedule(cron='0 2 * * ? 2027')")
    assert "the year 2027" in done.stderr, done.stdout + done.stderr
