"""FlowForge in Metaflow's Deployer API: Deployer("flow.py").flowforge().create().trigger()."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Dict, Optional, Type

from metaflow.runner.deployer_impl import DeployerImpl

if TYPE_CHECKING:
    from .deployed import FlowForgeDeployedFlow


class FlowForgeDeployer(DeployerImpl):  # type: ignore[misc]
    """
    Deployer implementation for FlowForge.

    Parameters
    ----------
    name : str, optional, default None
        Name of the workflow. The flow name in lower case is used if this option is not specified.
    """

    TYPE: ClassVar[Optional[str]] = "flowforge"

    def __init__(self, deployer_kwargs: Dict[str, str], **kwargs: Any) -> None:
        self._deployer_kwargs = deployer_kwargs
        super().__init__(**kwargs)

    @property
    def deployer_kwargs(self) -> Dict[str, Any]:
        return self._deployer_kwargs

    @staticmethod
    def deployed_flow_type() -> Type[FlowForgeDeployedFlow]:
        from .deployed import FlowForgeDeployedFlow

        return FlowForgeDeployedFlow

    def create(self, **kwargs: Any) -> FlowForgeDeployedFlow:
        """Deploy the flow. Arguments are options of `flowforge create`, such as tags and max_workers."""
        from .deployed import FlowForgeDeployedFlow

        deployed: FlowForgeDeployedFlow = self._create(FlowForgeDeployedFlow, **kwargs)
        return deployed
