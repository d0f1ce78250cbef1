"""What a deployment of a flow asks the server about the datastore and the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
