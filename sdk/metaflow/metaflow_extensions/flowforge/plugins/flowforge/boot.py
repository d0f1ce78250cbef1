"""Starts one task of a flow in an attempt of FlowForge.

It prepares the environment variables that Metaflow reads when it is imported, and then runs the
flow's own command line: flow.py … flowforge task STEP. It needs only the standard library.
"""

import json
import os
import runpy
import sys
from typing import Any, Dict


def main() -> None:
    settings = json.loads(os.environ["METAFLOW_FLOWFORGE"])
    work = os.getcwd()
    code = os.path.join(work, ".mf_code")
    sys.path[:0] = [work, code]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [work, code, os.environ.get("PYTHONPATH", "")]))
    _link_metaflow(code, settings["metaflow"])
    token = {"Authorization": "Bearer " + os.environ["FLOWFORGE_AUTH_TOKEN"]}
    service = os.environ["FLOWFORGE_API_ENDPOINT"].rstrip("/") + "/metaflow"  # the token is for no other service
    os.environ.update(
        METAFLOW_DEFAULT_METADATA="service",
        METAFLOW_SERVICE_URL=service,
        METAFLOW_SERVICE_HEADERS=json.dumps(token),
        METAFLOW_HOME=os.path.join(work, ".metaflowhome"),  # settings of the machine do not matter
        METAFLOW_DEFAULT_SECRETS_BACKEND_TYPE="flowforge",
    )
    _object_store()
    _link_cards()
    if sys.argv[1] == "--hook":
        _hook(settings, sys.argv[2])
        return
    attached = [f"--with={spec}" for spec in [*settings["with"].get(sys.argv[1], ()), "flowforge_internal"]]
    sys.argv = [settings["script"], *settings["options"], *attached, "flowforge", "task", *sys.argv[1:]]
    runpy.run_path(settings["script"], run_name="__main__")


def _hook(settings: Dict[str, Any], function: str) -> None:
    """Call a function of @exit_hook as Metaflow does elsewhere."""
    from metaflow.plugins.exit_hook import exit_hook_script

    exit_hook_script.main(settings["script"], function, f"{settings['flow']}/flowforge-{os.environ['FLOWFORGE_WORKFLOW_ID']}")


def _link_metaflow(code: str, version: str) -> None:
    """Make the installed Metaflow part of the code package, which has none."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = distribution("metaflow")
    except PackageNotFoundError:
        sys.exit(
            f"Metaflow is not installed in {sys.executable}. Install metaflow=={version} for the Python of the server, "
            "or deploy the flow with: flowforge create --requirements requirements.txt"
        )
    if found.version != version:
        sys.exit(
            f"The flow was deployed with Metaflow {version}, but {sys.executable} has {found.version}. Install the same version, "
            "or deploy the flow with: flowforge create --requirements requirements.txt"
        )
    path = os.path.join(code, "metaflow")
    if not os.path.exists(path):
        os.symlink(os.path.realpath(str(found.locate_file("metaflow"))), path)


def _link_cards() -> None:
    """Make the folder where the client looks for cards the one where Metaflow writes them.

    With METAFLOW_CARD_LOCALROOT, Metaflow 2.19 writes cards beside the data of the flow.
    """
    folder = os.environ.get("METAFLOW_CARD_LOCALROOT", "")
    if not folder:
        return
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    try:
        os.symlink(".", folder)
    except FileExistsError:
        pass


def _object_store() -> None:
    """Hand the keys of the object store to the libraries of AWS."""
    inputs = {}
    with open(os.environ["FLOWFORGE_INPUTS"], encoding="utf-8") as file:
        inputs = json.load(file)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        if inputs.get(name.lower()):
            os.environ[name] = inputs[name.lower()]


if __name__ == "__main__":
    main()
