"""Deployed flows and their runs in Metaflow's Deployer API."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Dict, Iterator, List, Mapping, Optional, Tuple

from metaflow.runner.deployer import DeployedFlow, TriggeredRun
from metaflow.runner.utils import get_lower_level_group, handle_timeout, temporary_fifo

from .errors import FlowForgeException


class FlowForgeTriggeredRun(TriggeredRun):  # type: ignore[misc]
    """A run that FlowForge started."""

    @property
    def execution_id(self) -> str:
        """The execution of the run."""
        from . import names

        return names.execution_of(str(self.pathspec))

    @property
    def url(self) -> str:
        """The page of the run."""
        return str(self._execution().url)

    @property
    def status(self) -> str:
        """PENDING, RUNNING, PAUSED, SUCCEEDED, FAILED or CANCELLED."""
        return str(self._execution().state)

    def _execution(self) -> Any:
        from flowforge._run import Run

        return Run(self.execution_id)

    def wait(self, timeout: Optional[float] = None) -> str:
        """Wait until the run ends and return its status. Raises TimeoutError after timeout seconds."""
        from flowforge.exceptions import ExecutionError

        try:
            return str(self._execution().wait(timeout).state)
        except ExecutionError:
            return self.status

    def logs(self, step: str = "") -> str:
        """Return the log as text."""
        return str(self._execution().logs(node=step))

    def terminate(self, **_: Any) -> bool:
        """Cancel the run."""
        self._execution().cancel()
        return True


class FlowForgeDeployedFlow(DeployedFlow):  # type: ignore[misc]
    """A flow that is a workflow of FlowForge."""

    TYPE: ClassVar[Optional[str]] = "flowforge"

    def trigger(self, **kwargs: Any) -> FlowForgeTriggeredRun:
        """Start a run. Arguments are values of parameters."""
        if isinstance(self.deployer, Known):
            return FlowForgeTriggeredRun(deployer=self.deployer, content=self.deployer.trigger(kwargs))
        content = _call(self.deployer, "trigger", kwargs)
        return FlowForgeTriggeredRun(deployer=self.deployer, content=content)

    def list_runs(self, states: Optional[List[str]] = None) -> List[FlowForgeTriggeredRun]:
        """Return the runs, newest first; states is a list of states of executions."""
        from flowforge._api import Server

        from . import names

        found = []
        for one in Server().pages("/executions", "executions", workflow=self.deployer.name):
            if not states or one["status"] in states:
                content = {"metadata": self.deployer.metadata, "pathspec": f"{self.deployer.flow_name}/{names.run_id(one['execution_id'])}", "name": self.deployer.name}
                found.append(FlowForgeTriggeredRun(deployer=self.deployer, content=json.dumps(content)))
        return found

    @classmethod
    def list_deployed_flows(cls, flow_name: Optional[str] = None) -> Iterator[FlowForgeDeployedFlow]:
        """Yield the deployed flows of the project, or those of one flow, such as of several branches."""
        from flowforge._api import Server

        for one in Server().pages("/workflows", "workflows"):
            known = _known(str(one["name"]))
            if known is not None and flow_name in (None, known.flow_name):
                yield cls(deployer=known)

    @classmethod
    def from_deployment(cls, identifier: str, metadata: Optional[str] = None) -> FlowForgeDeployedFlow:
        """Return a deployed flow by the name of its workflow."""
        known = _known(identifier)
        if known is None:
            raise FlowForgeException(f"There is no Metaflow flow *{identifier}* on FlowForge.")
        return cls(deployer=known if metadata is None else replace(known, metadata=metadata))

    @classmethod
    def get_triggered_run(cls, identifier: str, run_id: str, metadata: Optional[str] = None) -> FlowForgeTriggeredRun:
        """Return a run by its path, such as HelloFlow/flowforge-0198…."""
        return FlowForgeTriggeredRun(deployer=None, content=json.dumps({"metadata": metadata, "pathspec": run_id, "name": identifier}))


@dataclass(frozen=True)
class Known:
    """A flow that is deployed, without its file."""

    name: str
    flow_name: str
    metadata: str
    inputs: Tuple[Mapping[str, Any], ...]  # of the latest version
    TYPE: ClassVar[str] = "flowforge"

    def trigger(self, values: Mapping[str, Any]) -> str:
        """Launch the workflow, and return what the command `trigger` reports."""
        from flowforge._api import Server

        from . import names, parameters

        types = {i["name"]: str(i["type"]) for i in self.inputs}
        server, inputs = Server(), {}
        for option, value in values.items():
            name = parameters.input_name(option)
            if name not in types:
                raise FlowForgeException(f"The flow *{self.flow_name}* has no parameter *{option}*. It has: {', '.join(sorted(types)) or 'none'}.")
            inputs[name] = _sent(server, types[name], value)
        execution = server.post("/executions", {"workflow": self.name, "inputs": inputs})["execution_id"]
        return json.dumps({"name": self.name, "metadata": self.metadata, "pathspec": f"{self.flow_name}/{names.run_id(execution)}"})


def _sent(server: Any, kind: str, value: Any) -> Any:
    """Return a value of a parameter as its input; the value of an IncludeFile is a path."""
    if kind == "File" and isinstance(value, str):
        with open(value, "rb") as file:
            return server.upload(file, os.path.basename(value))
    if kind == "JSON" and isinstance(value, str):
        return json.loads(value)
    return value


def _known(name: str) -> Optional[Known]:
    """Return the flow of a workflow, or None if it is none."""
    from flowforge._api import Server, quoted

    server = Server()
    found = server.find(f"/workflows/{quoted(name)}") or {}
    version = str(found.get("latest_version") or "")
    if not version:
        return None
    definition = server.get(f"/workflows/{quoted(name)}/versions/{quoted(version)}")["definition"]
    flow = ((definition.get("metadata") or {}).get("metaflow") or {}).get("flow")
    if not flow:
        return None
    return Known(name, str(flow), f"service@{server.url}/metaflow", tuple(definition.get("inputs") or ()))


def _call(deployer: Any, command: str, kwargs: Dict[str, Any]) -> str:
    """Run a command of the flow's command line, and return what it reports."""
    with temporary_fifo() as (path, descriptor):
        group = get_lower_level_group(deployer.api, deployer.top_level_kwargs, deployer.TYPE, deployer.deployer_kwargs)
        args = getattr(group, command)(deployer_attribute_file=path, **kwargs)
        pid = deployer.spm.run_command([sys.executable, *args], env=deployer.env_vars, cwd=deployer.cwd, show_output=deployer.show_output)
        running = deployer.spm.get(pid)
        content = handle_timeout(descriptor, running, deployer.file_read_timeout)
        running.sync_wait()
        if running.process.returncode == 0:
            return str(content)
    raise RuntimeError(f"{deployer.flow_file}: flowforge {command} failed")
