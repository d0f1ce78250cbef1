"""Deployed flows and their runs in Metaflow's Deployer API."""

from __future__ import annotations

import json
import sys
from typing import Any, ClassVar, Dict, List, Optional

from metaflow.runner.deployer import DeployedFlow, TriggeredRun
from metaflow.runner.utils import get_lower_level_group, handle_timeout, temporary_fifo


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
    def list_deployed_flows(cls, flow_name: Optional[str] = None) -> Any:
        raise NotImplementedError("The page Workflows of FlowForge lists deployed flows; the Deployer API does not yet.")

    @classmethod
    def from_deployment(cls, identifier: str, metadata: Optional[str] = None) -> Any:
        raise NotImplementedError('Use Deployer("flow.py").flowforge().create(), which registers nothing if the workflow is up to date.')

    @classmethod
    def get_triggered_run(cls, identifier: str, run_id: str, metadata: Optional[str] = None) -> FlowForgeTriggeredRun:
        """Return a run by its path, such as HelloFlow/flowforge-0198…."""
        return FlowForgeTriggeredRun(deployer=None, content=json.dumps({"metadata": metadata, "pathspec": run_id, "name": identifier}))


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
