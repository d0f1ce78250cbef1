"""The commands `python flow.py flowforge …`."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict, List, Optional

from metaflow import JSONType, parameters
from metaflow._vendor import click
from metaflow.exception import MetaflowException
from metaflow.includefile import FilePathClass
from metaflow.tagging_util import validate_tags

from . import names
from .errors import FlowForgeException

try:
    from flowforge._api import Server, quoted
    from flowforge.exceptions import FlowForgeError
except ImportError:  # in a fresh environment
    raise MetaflowException("The package flowforge is not installed. The server's page Build > Python shows how to install it.") from None


@click.group()
def cli() -> None:
    pass


@cli.group(help="Commands related to FlowForge.")
@click.option("--name", default=None, type=str, help="Name of the workflow (default: the name of the flow in lower case).")
@click.pass_obj
def flowforge(obj: Any, name: Optional[str] = None) -> None:
    obj.flowforge_name = name or ""


def _check(obj: Any) -> None:
    obj.check(obj.graph, obj.flow, obj.environment, pylint=obj.pylint)


def _create_options(command: Any) -> Any:
    for option in reversed(
        [
            click.option("--tag", "tags", multiple=True, default=None, help="Add this tag to all runs of the workflow. Can be repeated."),
            click.option("--max-workers", default=100, show_default=True, help="Maximum number of parallel tasks."),
            click.option("--workflow-timeout", default=None, type=int, help="Maximum duration of a run, in seconds."),
            click.option("--requirements", default=None, type=click.Path(exists=True, dir_okay=False), help="Requirements file with the packages that FlowForge installs for the tasks."),
            click.option("--python", default=None, help="Virtual environment for the tasks, on the server's machine or in the image of pods (default: the current one, if the server runs on this machine)."),
        ]
    ):
        command = option(command)
    return command


@flowforge.command(help="Deploy a new version of this flow as a FlowForge workflow.")
@_create_options
@click.option("--deployer-attribute-file", default=None, type=str, hidden=True, help="Used by Metaflow's Deployer API.")
@click.option("--only-json", is_flag=True, default=False, help="Print the definition without deploying it.")
@click.pass_obj
def create(obj: Any, deployer_attribute_file: Optional[str] = None, only_json: bool = False, **options: Any) -> None:
    _check(obj)
    with _errors():
        if only_json:
            click.echo(json.dumps(_definition(obj, options), indent=2))
            return
        deployed = _deploy(obj, options)
    if deployer_attribute_file:
        _write(deployer_attribute_file, {"name": deployed.name, "flow_name": obj.flow.name, "metadata": _metadata(Server())})


def _options(obj: Any, options: Dict[str, Any]) -> Any:
    from . import deploy

    validate_tags(options.get("tags"))
    packages: List[str] = []
    if options.get("requirements"):
        with open(options["requirements"], encoding="utf-8") as file:
            packages = [line.split("#")[0].strip() for line in file if line.split("#")[0].strip()]
    return deploy.Options(
        name=obj.flowforge_name, tags=options.get("tags") or (), max_workers=options["max_workers"], timeout=options.get("workflow_timeout"),
        packages=packages, python=os.path.abspath(options["python"]) if options.get("python") else "",
    )  # fmt: skip


def _definition(obj: Any, options: Dict[str, Any]) -> Dict[str, Any]:
    from . import deploy

    server = Server()
    return deploy.definition(obj, server, deploy.store(server), _options(obj, options))


def _deploy(obj: Any, options: Dict[str, Any]) -> Any:
    from . import deploy

    server, chosen = Server(), _options(obj, options)
    obj.echo(f"Deploying *{obj.flow.name}* to FlowForge...", bold=True)
    deployed = deploy.deploy(obj, server, chosen)
    if deployed.changed:
        obj.echo(f"Workflow *{deployed.name}* {deployed.version} for flow *{obj.flow.name}* deployed to FlowForge successfully.", bold=True)
    else:
        obj.echo(f"Workflow *{deployed.name}* {deployed.version} has the same content; nothing to deploy.", bold=True)
    obj.echo("Its launch form is:")
    obj.echo(f"    {deployed.url}", fg="green")
    for notice in deploy.notices(obj):
        obj.echo(notice, no_bold=True)  # asterisks are part of schedules
    return deployed


@parameters.add_custom_parameters(deploy_mode=False)
@flowforge.command(help="Trigger the workflow on FlowForge.")
@click.option("--run-id-file", default=None, type=str, help="Write the ID of the run to this file.")
@click.option("--deployer-attribute-file", default=None, type=str, hidden=True, help="Used by Metaflow's Deployer API.")
@click.pass_obj
def trigger(obj: Any, run_id_file: Optional[str] = None, deployer_attribute_file: Optional[str] = None, **values: Any) -> None:
    with _errors():
        _trigger(obj, values, run_id_file, deployer_attribute_file)


def _trigger(obj: Any, values: Dict[str, Any], run_id_file: Optional[str], deployer_attribute_file: Optional[str], version: str = "") -> str:
    from . import deploy, parameters as own

    server, name = Server(), deploy.resolve_name(obj.flowforge_name)
    request: Dict[str, Any] = {"workflow": name, "inputs": {}}
    if version:
        request["version"] = version
    for _, parameter in obj.flow._get_parameters():
        value = values.get(parameter.name.replace("-", "_").lower())
        if value is None or parameter.IS_CONFIG_PARAMETER or not _given(parameter.name):
            continue
        request["inputs"][own.input_name(parameter.name)] = _value(server, parameter, value)
    execution = server.post("/executions", request)["execution_id"]
    run = names.run_id(execution)
    if run_id_file:
        with open(run_id_file, "w", encoding="utf-8") as file:
            file.write(run)
    if deployer_attribute_file:
        _write(deployer_attribute_file, {"name": name, "metadata": _metadata(server), "pathspec": f"{obj.flow.name}/{run}"})
    obj.echo(f"Workflow *{name}* triggered on FlowForge (run-id *{run}*).", bold=True)
    obj.echo(f"See the run at {server.url}/executions/{execution}")
    return str(execution)


def _given(name: str) -> bool:
    """Whether the command line sets a parameter. Otherwise the default is that of the deployment."""
    return any(arg == f"--{name}" or arg.startswith(f"--{name}=") for arg in sys.argv)


def _value(server: Server, parameter: Any, value: Any) -> Any:
    from . import parameters as own

    if isinstance(parameter.kwargs.get("type"), FilePathClass):
        path = _path(value)
        if path is None:
            raise FlowForgeException(f"The value of *{parameter.name}* is not a file.")
        with open(path, "rb") as file:
            return server.upload(file, os.path.basename(path))
    if isinstance(value, parameters.DelayedEvaluationParameter):
        value = value(return_str=True)
    if parameter.kwargs.get("type") == JSONType:
        return json.loads(value) if isinstance(value, str) else value
    return own.value_of(parameter, value)


def _path(value: Any) -> Optional[str]:
    """Return the path of a file that Metaflow would upload."""
    if isinstance(value, parameters.DelayedEvaluationParameter):
        context = value._fun.keywords["ctx"]
        return str(context.path)
    return value if isinstance(value, str) else None


def _write(path: str, content: Dict[str, Any]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)


def _metadata(server: Server) -> str:
    return f"service@{server.url}/metaflow"


class _errors:
    """Shows errors of the client as errors of Metaflow."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, err: Any, trace: Any) -> None:
        if isinstance(err, FlowForgeError):
            raise FlowForgeException(str(err)) from None


@parameters.add_custom_parameters(deploy_mode=False)
@flowforge.command(help="Deploy the flow if it has changed, trigger it, and follow the run until it ends.")
@_create_options
@click.option("--run-id-file", default=None, type=str, help="Write the ID of the run to this file.")
@click.pass_obj
def run(obj: Any, run_id_file: Optional[str] = None, **values: Any) -> None:
    from flowforge._follow import follow
    from flowforge._run import Run

    _check(obj)
    options = {name: values.pop(name) for name in ("tags", "max_workers", "workflow_timeout", "requirements", "python")}
    with _errors():
        deployed = _deploy(obj, options)
        server = Server()
        code = follow(Run(_trigger(obj, values, run_id_file, None, deployed.version), server), server)
    if code:
        sys.exit(code)


def _execution(run_id: str) -> str:
    execution = names.execution_of(run_id)
    if not execution:
        raise FlowForgeException(f"The run *{run_id}* was not started by FlowForge: the IDs of FlowForge runs begin with {names.RUN}.")
    return execution


@flowforge.command(help="Print the status of a run: PENDING, RUNNING, PAUSED, SUCCEEDED, FAILED or CANCELLED.")
@click.argument("run-id")
@click.pass_obj
def status(obj: Any, run_id: str) -> None:
    with _errors():
        found = Server().get(f"/executions/{quoted(_execution(run_id))}")
    obj.echo_always(found["status"], err=False, no_bold=True)
    if found.get("error"):
        obj.echo(f"{found['error'].get('node', '')}: {found['error'].get('message', '')}", no_bold=True)


@flowforge.command(help="Print the log of a run.")
@click.argument("run-id")
@click.option("--step", "node", default="", help="Print only the log of this node, such as train or train[3].")
@click.pass_obj
def logs(obj: Any, run_id: str, node: str) -> None:
    from flowforge._run import Run

    with _errors():
        click.echo(Run(_execution(run_id)).logs(node=node), nl=False)


@flowforge.command(help="Cancel a run.")
@click.argument("run-id")
@click.pass_obj
def terminate(obj: Any, run_id: str) -> None:
    with _errors():
        Server().post(f"/executions/{quoted(_execution(run_id))}/cancel", {})
    obj.echo(f"The run *{run_id}* is being cancelled.")


@flowforge.command(help="List the runs of the workflow, newest first.")
@click.option("--state", default="", help="List only runs in this state, such as RUNNING or FAILED.")
@click.option("--limit", default=20, show_default=True)
@click.pass_obj
def list_runs(obj: Any, state: str, limit: int) -> None:
    from . import deploy

    with _errors():
        found = Server().pages("/executions", "executions", workflow=deploy.resolve_name(obj.flowforge_name), status=state)
        for _, one in zip(range(limit), found):
            obj.echo_always(f"{names.run_id(one['execution_id'])} {one['status']} {one['created_at']}", err=False, no_bold=True)


@flowforge.command(help="Run one task (internal command).", hidden=True)
@click.argument("step-name")
@click.pass_context
def task(ctx: Any, step_name: str) -> None:
    from . import task as own

    own.run(ctx, step_name, json.loads(os.environ["METAFLOW_FLOWFORGE"]))
