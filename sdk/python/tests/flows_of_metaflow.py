"""A person who knows Metaflow, with the example flows, on this machine and on a server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Tuple

from flowforge._api import Server

from .running import ROOT, Running

FLOWS = ROOT / "examples" / "metaflow"

# The examples with values of parameters that differ from the defaults.
RUNS: Dict[str, Tuple[str, ...]] = {
    "score": ("--rows", "4", "--rate", "1.5", "--title", "half scores", "--round-up", "True"),
    "branches": (),
    "grid": ("--depths", "2,4"),
    "route": (),
    "refine": (),
    "trouble": (),
    "stock": ("--table", "other.csv", "--prices", '{"apple": 7, "pear": 1}', "--note", 'a "quoted" note'),
    "report": (),
    "gather": (),
}

# What the tasks of a run stored, step by step, without what differs between any two runs.
READ = """
import sys
from metaflow import Run, namespace
namespace(None)
LOCAL = ("name",)
def plain(value):
    try:
        json.dumps(value)
        return value
    except TypeError:
        return type(value).__name__
found = {}
for path in json.loads(sys.argv[1]):
    run = Run(path)
    steps = {}
    for step in run:
        tasks = [{a.id: plain(a.data) for a in task if not a.id.startswith("_") and a.id not in LOCAL} for task in step]
        steps[step.id] = sorted(tasks, key=lambda t: json.dumps(t, sort_keys=True))
    found[path] = {"successful": run.successful, "steps": steps}
print(json.dumps(found))
"""


class Author:
    """A person who knows Metaflow, with a folder of flows."""

    def __init__(self, folder: Path, server: Running) -> None:
        self.folder, self.server = folder / "flows", server
        self.folder.mkdir()
        for file in FLOWS.iterdir():
            if file.is_file():
                (self.folder / file.name).write_bytes(file.read_bytes())
        (self.folder / "other.csv").write_text("item,count\napple,1\npear,2\n")
        self.env = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("METAFLOW_", "FLOWFORGE_"))},
            "PYTHONPATH": os.pathsep.join([str(ROOT / "sdk" / "metaflow"), str(ROOT / "sdk" / "python")]),
            # Metaflow starts the workers of @parallel with the first python of PATH.
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "HOME": str(folder),
            "USERNAME": "ada",
            "FLOWFORGE_SERVER": server.url,
            "FLOWFORGE_TOKEN": server.token,
            "METAFLOW_DEFAULT_METADATA": "service",
            "METAFLOW_SERVICE_URL": server.url + "/metaflow",
            "METAFLOW_SERVICE_HEADERS": json.dumps({"Authorization": "Bearer " + server.token}),
            **Server(server.url, server.token).get("/metaflow/datastore")["environment"],
        }

    def call(self, *args: str, ends: int = 0, **env: str) -> str:
        done = subprocess.run([sys.executable, *args], cwd=self.folder, env={**self.env, **env}, capture_output=True, text=True)
        assert done.returncode == ends, done.stdout + done.stderr
        return done.stdout + done.stderr

    def flow(self, name: str, *args: str, ends: int = 0, **env: str) -> str:
        return self.call(f"{name}.py", "--no-pylint", *args, ends=ends, **env)

    def plain(self, name: str) -> str:
        """Run an example with a local datastore on this machine; return the path of the run."""
        output = self.flow(name, "run", *RUNS[name], METAFLOW_DEFAULT_METADATA="local", METAFLOW_DEFAULT_DATASTORE="local")
        found = re.search(r"run-id (\w+)", output)
        assert found, output
        return f"{FLOW_NAMES[name]}/{found.group(1)}"

    def forged(self, name: str) -> str:
        """Run an example on the server; return the path of the run."""
        output = self.flow(name, "flowforge", "run", *RUNS[name])
        found = re.search(r"run-id (flowforge-[\w-]+)", output)
        assert found, output
        return f"{FLOW_NAMES[name]}/{found.group(1)}"

    def read(self, paths: List[str], metadata: str) -> Dict[str, Any]:
        done = self.call("-c", "import json\n" + READ, json.dumps(paths), METAFLOW_DEFAULT_METADATA=metadata)
        found: Dict[str, Any] = json.loads(done.strip().splitlines()[-1])
        return found


FLOW_NAMES = {name: re.search(r"class (\w+)\(FlowSpec\)", (FLOWS / f"{name}.py").read_text()).group(1) for name in RUNS}  # type: ignore[union-attr]
