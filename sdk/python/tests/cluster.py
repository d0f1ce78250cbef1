"""The cluster of `make cluster` with this machine as a node, for tests whose tasks are pods."""

from __future__ import annotations

import json
import os
import subprocess
import time
import uuid
from typing import Any, List

import pytest

from .object_store import free_port

HOST = "10.244.0.1"  # this machine's address for pods, and the only one that they can reach
TASK_IMAGE = "localhost/task:test"  # Debian with Python, uv, and the packages of Metaflow to install
ENVIRONMENT = "/opt/metaflow"  # has them installed


class Cluster:
    """The cluster from the point of view of one server. Its namespaces have a prefix of their own."""

    def __init__(self) -> None:
        self._config = os.environ.get("FLOWFORGE_TEST_KUBECONFIG", "")
        if not self._config:
            pytest.skip("FLOWFORGE_TEST_KUBECONFIG is not set: start a Kubernetes with `make cluster`")
        if not self.objects("nodes", "--field-selector=metadata.name=real-node-0"):
            pytest.skip("the cluster has no real node: run `make cluster-node` as root to join this machine")
        self._prefix = f"t{uuid.uuid4().hex[:8]}-"
        address = f"{HOST}:{free_port(HOST)}"
        self.settings = {
            "FLOWFORGE_LAUNCHER": "kube", "FLOWFORGE_KUBE_CONFIG": self._config, "FLOWFORGE_KUBE_NAMESPACE_PREFIX": self._prefix,
            "FLOWFORGE_KUBE_IMAGE": "localhost/flowforge:test", "FLOWFORGE_KUBE_TASK_IMAGE": TASK_IMAGE,
            "FLOWFORGE_DEFAULT_CPU_MILLIS": "450",  # four pods at a time on two processors
            "FLOWFORGE_TASK_ADDR": address, "FLOWFORGE_TASK_URL": "https://" + address,
        }  # fmt: skip

    def call(self, *args: str) -> str:
        program = os.path.join(os.environ["FLOWFORGE_CACHE_DIR"], "cluster", "bin", "kubectl")
        done = subprocess.run([program, f"--kubeconfig={self._config}", *args], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def objects(self, kind: str, *args: str) -> Any:
        return json.loads(self.call("get", kind, "-o", "json", *args))["items"]

    def namespaces(self) -> List[str]:
        found = [n["metadata"]["name"] for n in self.objects("namespaces", "-l", "flowforge.io/project-id")]
        return [name for name in found if name.startswith(self._prefix)]

    def namespace(self) -> str:
        """Return the namespace of the server's only project once it exists."""
        end = time.monotonic() + 60
        while not (found := self.namespaces()):
            assert time.monotonic() < end, "the project has no namespace"
            time.sleep(0.1)  # another process is watched
        return found[0]

    def remove(self) -> None:
        for name in self.namespaces():
            self.call("delete", "namespace", name, "--wait=false")
