"""A workflow that finds out in which processes its operators run."""

from __future__ import annotations

import builtins
import os
from pathlib import Path
from typing import List, NamedTuple

from flowforge import operator, workflow


class Found(NamedTuple):
    forked: bool
    own: bool
    seen: List[str]


def is_fork() -> bool:
    return "flowforge._warm" in Path("/proc/self/cmdline").read_text()


@operator
def leave() -> bool:
    os.environ["LEFT"] = "1"
    setattr(builtins, "left", True)
    return is_fork()


@operator(fresh=True)
def own_interpreter() -> bool:
    return is_fork()


@operator
def find(forked: bool, own: bool) -> Found:
    seen = [name for name in ("LEFT",) if name in os.environ] + [name for name in ("left",) if hasattr(builtins, name)]
    return Found(forked, own, seen)


@workflow(name="sdk.forks")
def forks() -> Found:
    return find(leave(), own_interpreter())
