"""Reads the commit of the user's files, and which of them git ignores."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any, Dict, List, Set

from ._place import error


class _Failed(Exception):
    """A command of git failed. The message is the first line of its error."""


# A hook of git sets these for the repository that it belongs to.
_HOOK = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_IMPLICIT_WORK_TREE"}


def _git(folder: Path, *args: str) -> str:
    """Return the output of a command. Names of files are decoded as those of os."""
    environment = {name: value for name, value in os.environ.items() if name not in _HOOK}
    try:
        done = subprocess.run(["git", "-C", str(folder), *args], capture_output=True, env=environment, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as err:
        raise _Failed(str(err)) from None
    if done.returncode:
        message = done.stderr.decode("utf-8", "replace").strip()
        raise _Failed((message or f"exit code {done.returncode}").splitlines()[0])
    return os.fsdecode(done.stdout)


def _installed() -> bool:
    return shutil.which("git") is not None


def _in_repository(folder: Path) -> bool:
    return any((above / ".git").exists() for above in (folder, *folder.parents))


def state(folder: Path) -> Dict[str, Any]:
    """Return commit, branch and whether there are changes; empty without a commit.

    If git cannot tell whether there are changes, the answer has no "dirty".
    """
    try:
        found: Dict[str, Any] = {"commit": _git(folder, "rev-parse", "HEAD").strip()}
        branch = _git(folder, "rev-parse", "--abbrev-ref", "HEAD").strip()
        subject = _git(folder, "log", "-1", "--format=%s").strip().encode("utf-8", "replace").decode()
    except _Failed:
        return {}
    if branch and branch != "HEAD":
        found["branch"] = branch
    if subject:
        found["subject"] = subject
    try:
        found["dirty"] = bool(_git(folder, "status", "--porcelain", "--", ".").strip())
    except _Failed as err:
        warnings.warn(f"the version's metadata does not state whether the files differ from the commit, because git status failed in {folder}: {err}", stacklevel=2)
    return found


def files(folder: Path) -> List[str]:
    """Return the files below folder that git does not ignore, in a repository or not.

    Raises DefinitionError if git fails, or if a .gitignore file cannot be read without git.
    """
    if not _installed():
        return _every_file(folder)
    try:
        if _in_repository(folder):
            listed = _git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ".")
        else:
            listed = _outside(folder)
    except _Failed as err:
        raise error(f"git cannot list the files of {folder}, which belong to the code package: {err}") from None
    return _with_submodules(folder, listed)


def _outside(folder: Path) -> str:
    """List the files that .gitignore files below folder do not exclude, without a repository."""
    with tempfile.TemporaryDirectory(prefix="flowforge-git-") as bare:
        _git(folder, "init", "--quiet", "--bare", bare)
        return _git(folder, f"--git-dir={bare}", f"--work-tree={folder}", "ls-files", "-z", "--others", "--exclude-standard", "--", ".")


def _every_file(folder: Path) -> List[str]:
    found = [os.path.relpath(os.path.join(inner, name), folder) for inner, _, names in os.walk(folder) for name in names]
    above = (path / ".gitignore" for path in folder.parents if _in_repository(path))
    rules = [path for path in above if path.exists()] + [folder / name for name in found if os.path.basename(name) == ".gitignore"]
    if rules:
        raise error(f"git is not installed, so the files in {rules[0]} cannot be left out of the code package: install git, or remove this file")
    return found


def _with_submodules(folder: Path, listed: str) -> List[str]:
    """Replace repositories in a list of git, which it names as one entry, by their files."""
    found: Set[str] = set()
    for name in filter(None, listed.split("\0")):
        inner = folder / name
        if not inner.is_dir() or inner.is_symlink():
            found.add(name)
        elif (inner / ".git").exists():
            found.update(f"{name.rstrip('/')}/{file}" for file in files(inner))
        else:  # git would list the outer repository
            warnings.warn(f"the code package has no files of the submodule {name}, because it is not checked out: run git submodule update --init", stacklevel=2)
    return sorted(found)
