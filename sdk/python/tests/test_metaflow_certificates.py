"""Tasks of flows in pods reach a server with the certificates of an installation's own CA."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Iterator

import pytest

from .certificates import make_certificates
from .running import ROOT

@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("certificates")
    make_certificates(made, "127.0.0.1")
    return made


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """A server that accepts only tasks with a certificate."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"origin": "flowforge-1", "tasks": []}')

        def log_message(self, *_: object) -> None:
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    context.load_verify_locations(folder / "ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://127.0.0.1:{server.server_port}"
        server.shutdown()


PROGRAM = """
import os
import metaflow, requests
from metaflow_extensions.flowforge.plugins.flowforge import clone
service = os.environ["METAFLOW_SERVICE_URL"]
print(requests.get(service + "/ping").status_code, requests.Session().get(service + "/flows").status_code, clone.reused().origin)
try:
    requests.get(service.replace("/metaflow", "/other"))
except requests.exceptions.SSLError:
    print("other requests are as before")
"""


def test_tasks_reach_the_service_with_their_certificates(folder: Path, address: str, tmp_path: Path) -> None:
    env = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("METAFLOW_", "FLOWFORGE_"))},
        "PYTHONPATH": os.pathsep.join([str(ROOT / "sdk" / "metaflow"), str(ROOT / "sdk" / "python")]),
        "HOME": str(tmp_path),
        "METAFLOW_SERVICE_URL": address + "/metaflow",
        "METAFLOW_SERVICE_HEADERS": "{}",
        "FLOWFORGE_TASK_CA": str(folder / "ca.crt"),
        "FLOWFORGE_TASK_CERT": str(folder / "task.crt"),
        "FLOWFORGE_TASK_KEY": str(folder / "task.key"),
    }
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["200 200 flowforge-1", "other requests are as before"], done.stdout + done.stderr
