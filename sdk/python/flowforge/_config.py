"""The configuration that the runner passes to a task in environment variables."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Mapping, Optional


@dataclass(frozen=True)
class Config:
    """The server that a task reports to, and the paths of its files."""

    task_id: str = ""  # empty outside FlowForge
    workflow_id: str = ""  # ID of the execution
    attempt: int = 1  # of the task, counted from 1
    endpoint: str = ""  # http://host:port
    token: str = field(default="", repr=False)
    inputs: Optional[Path] = None  # JSON file
    outputs: Optional[Path] = None  # directory
    checkpoints: Optional[Path] = None  # directory that is kept between attempts
    spool: Optional[Path] = None  # directory for unsent messages
    preempted: Optional[Path] = None  # file that exists when the task is being preempted
    pod: str = ""  # pod of the task; empty without one
    machine: str = ""
    rank: Optional[int] = None  # rank of this process among the pods of the task
    ca: str = ""  # CA file that verifies the server; empty for the system's CAs
    cert: str = ""  # client certificate and key files
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

        attempt, rank = env.get("FLOWFORGE_ATTEMPT", ""), env.get("FLOWFORGE_RANK", "")
        return cls(
            task_id=env.get("FLOWFORGE_TASK_ID", ""),
            workflow_id=env.get("FLOWFORGE_WORKFLOW_ID", ""),
            attempt=int(attempt) if attempt.isdigit() else 1,
            endpoint=env.get("FLOWFORGE_API_ENDPOINT", "").rstrip("/"),
            token=env.get("FLOWFORGE_AUTH_TOKEN", ""),
            inputs=path("FLOWFORGE_INPUTS"),
            outputs=path("FLOWFORGE_OUTPUTS"),
            checkpoints=path("FLOWFORGE_CHECKPOINTS"),
            spool=path("FLOWFORGE_SPOOL"),
            preempted=path("FLOWFORGE_PREEMPTED"),
            pod=env.get("FLOWFORGE_POD", ""),
            machine=env.get("FLOWFORGE_MACHINE", ""),
            rank=int(rank) if rank.isdigit() else None,
            ca=env.get("FLOWFORGE_TASK_CA", ""),
            cert=env.get("FLOWFORGE_TASK_CERT", ""),
            key=env.get("FLOWFORGE_TASK_KEY", ""),
        )
