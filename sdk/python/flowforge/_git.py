"""Reads the commit of the user's files."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Optional, Set


def _git(folder: Path, *args: str) -> Optional[str]:
    try:
        done = subprocess.run(["git", "-C", str(folder), *args], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def state(folder: Path) -> Dict[str, Any]:
    """Return commit, branch and whether there are changes; empty outside a repository."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return {}
    found: Dict[str, Any] = {"commit": commit.strip()}
    branch = (_git(folder, "rev-parse", "--abbrev-ref", "HEAD") or "").strip()
    if branch and branch != "HEAD":
        found["branch"] = branch
    subject = (_git(folder, "log", "-1", "--format=%s") or "").strip()
    if subject:
        found["subject"] = subject
    found["dirty"] = bool((_git(folder, "status", "--porcelain", "--", ".") or "").strip())
    return found


def files(folder: Path) -> Optional[List[str]]:
    """Return the files below folder that git does not ignore; None outside a repository."""
    listed = _git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ".")
    return None if listed is None else _with_submodules(folder, listed)


def untracked(folder: Path) -> Optional[List[str]]:
    """Return the files that .gitignore files below folder do not exclude, without a repository.

    None if git is not installed.
    """
    with tempfile.TemporaryDirectory(prefix="flowforge-git-") as bare:
        if _git(folder, "init", "--quiet", "--bare", bare) is None:
            return None
        listed = _git(folder, f"--git-dir={bare}", f"--work-tree={folder}", "ls-files", "-z", "--others", "--exclude-standard", "--", ".")
    return None if listed is None else _with_submodules(folder, listed)


def _with_submodules(folder: Path, listed: str) -> List[str]:
    """Replace repositories in a list of git, which it names as one entry, by their files."""
    found: Set[str] = set()
    for name in filter(None, listed.split("\0")):
        inner = folder / name
        if inner.is_dir() and not inner.is_symlink():
            if (inner / ".git").exists():  # without it, git would list the outer repository
                found.update(f"{name.rstrip('/')}/{file}" for file in files(inner) or ())
        else:
            found.add(name)
    return sorted(found)
