"""Reads the packages that operators need."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, List, Sequence

from ._options import beside
from ._place import error


def read(packages: Sequence[str], file: str, source: str) -> List[str]:
    """Return requirements for pip, from a list and from a file beside the user's source.

    file is a requirements file, a pyproject.toml, or a uv.lock. Raises DefinitionError.
    """
    if isinstance(packages, str):
        raise error(f"packages must be a list, such as packages=[{packages!r}]")
    found = [p.strip() for p in packages]
    if file:
        path = Path(beside(file, source))
        if not path.is_file():
            raise error(f"requirements={file!r}: the file {path} does not exist")
        found += _file(path)
    return list(dict.fromkeys(found))


def _file(path: Path) -> List[str]:
    if path.name == "uv.lock":
        return _lock(path)
    if path.name == "pyproject.toml":
        return _project(path)
    return _lines(path)


def _lines(path: Path) -> List[str]:
    found: List[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = line.split(" #")[0].strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith(("-r ", "--requirement ")):
            found += _file(path.parent / line.split(None, 1)[1])
        elif line.startswith("-"):
            raise error(f"{path}:{number}: {line.split()[0]} is a pip option; list only packages")
        else:
            found.append(line.rstrip("\\").split(" --hash")[0].strip())
    return found


def _project(path: Path) -> List[str]:
    if sys.version_info < (3, 11):
        raise error(f"{path}: reading pyproject.toml requires Python 3.11 or later; list the packages in a requirements file instead")
    import tomllib

    project: Any = tomllib.loads(path.read_text(encoding="utf-8")).get("project", {})
    if "dependencies" in project.get("dynamic", ()):
        raise error(f"{path}: its dependencies are dynamic; list them in [project] or in a requirements file")
    return [str(d) for d in project.get("dependencies", ())]


def _lock(path: Path) -> List[str]:
    uv = shutil.which("uv")
    if uv is None:
        raise error(f"{path}: the command uv, which reads this file, is not installed; run `uv export` and use its requirements file")
    command = [uv, "export", "--frozen", "--no-emit-project", "--no-hashes", "--no-annotate", "--no-header", "--no-dev"]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"})
    if done.returncode != 0:
        raise error(f"{path}: uv export failed: {done.stderr.strip()}")
    return [line.strip() for line in done.stdout.splitlines() if line.strip() and not line.startswith(("#", "-"))]
