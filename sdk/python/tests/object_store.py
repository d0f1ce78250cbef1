"""An S3 server for tests, and projects whose Metaflow datastore is a bucket of it."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Dict, Iterator

from .running import Running

KEY, SECRET = "flowforge-test", "flowforge-test-secret"


@contextmanager
def object_store(folder: Path, host: str = "127.0.0.1") -> Iterator[str]:
    """Run an S3 server with the bucket models on an address of this machine, and return its endpoint."""
    program = Path(os.environ["FLOWFORGE_CACHE_DIR"], "bin", "versitygw")
    assert program.exists(), "there is no S3 server for tests: run scripts/setup s3"
    (folder / "buckets" / "models").mkdir(parents=True)
    (folder / "meta").mkdir()
    port = free_port(host)
    command = [str(program), "--port", f"{host}:{port}", "--access", KEY, "--secret", SECRET, "--quiet", "posix", "--sidecar", str(folder / "meta"), str(folder / "buckets")]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection((host, port), 5).close()
                break
            except OSError:
                assert server.poll() is None and time.monotonic() < end, (folder / "log").read_text()
                time.sleep(0.05)  # another process is watched
        yield f"http://{host}:{port}"
    finally:
        server.kill()
        server.wait()


def free_port(host: str) -> int:
    with socket.create_server((host, 0)) as free:
        port: int = free.getsockname()[1]
        return port


def keep_in_bucket(running: Running, endpoint: str, folder: Path) -> Dict[str, str]:
    """Make the bucket the datastore of the project. Return the variables with which a client reads it."""
    for name, value in (("s3-access", KEY), ("s3-secret", SECRET)):
        running.call("PUT", f"/secrets/{name}", {"value": value})
    place = {"kind": "s3", "root": "s3://models/metaflow", "endpoint": endpoint, "access_key_secret": "s3-access", "secret_key_secret": "s3-secret"}
    running.call("PUT", "/metaflow/datastore", place)
    return {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "METAFLOW_CLIENT_CACHE_PATH": str(folder / "blobs")}
