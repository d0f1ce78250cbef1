"""What the runner tells a task by its environment."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Mapping, Optional


@dataclass(frozen=True)
class Config:
    """Where a task reports to, and where its files are."""

    task_id: str = ""  # empty outside FlowForge
    workflow_id: str = ""  # the execution
    endpoint: str = ""  # http://host:port
    token: str = field(default="", repr=False)
    inputs: Optional[Path] = None  # JSON file
    outputs: Optional[Path] = None  # directory
    checkpoints: Optional[Path] = None  # directory that survives retries
    spool: Optional[Path] = None  # directory for what could not be sent
    preempted: Optional[Path] = None  # exists once the task has to make room for others
    rank: Optional[int] = None  # of this process among the pods of the task
    ca: str = ""  # file that verifies the server; empty: the system's
    cert: str = ""  # files that show the server who calls
    key: str = ""

    @property
    def inside(self) -> bool:
        """Whether the task runs in FlowForge."""
        return bool(self.task_id)

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> Config:
        def path(name: str) -> Optional[Path]:
            value = env.get(name)
            return Path(value) if value else None

        rank = env.get("FLOWFORGE_RANK", "")
        return cls(
            task_id=env.get("FLOWFORGE_TASK_ID", ""),
            workflow_id=env.get("FLOWFORGE_WORKFLOW_ID", ""),
            endpoint=env.get("FLOWFORGE_API_ENDPOINT", "").rstrip("/"),
            token=env.get("FLOWFORGE_AUTH_TOKEN", ""),
            inputs=path("FLOWFORGE_INPUTS"),
            outputs=path("FLOWFORGE_OUTPUTS"),
            checkpoints=path("FLOWFORGE_CHECKPOINTS"),
            spool=path("FLOWFORGE_SPOOL"),
            preempted=path("FLOWFORGE_PREEMPTED"),
            rank=int(rank) if rank.isdigit() else None,
            ca=env.get("FLOWFORGE_TASK_CA", ""),
            cert=env.get("FLOWFORGE_TASK_CERT", ""),
            key=env.get("FLOWFORGE_TASK_KEY", ""),
        )
