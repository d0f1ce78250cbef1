"""Packs the author's files as the code package of a definition."""

from __future__ import annotations

import gzip
import hashlib
import inspect
import io
import os
import re
import sys
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Tuple

from . import _git, _place
from ._place import error, of_code

if TYPE_CHECKING:
    from ._cells import Cells

LIMIT = 64 << 20  # bytes of all files, before compression


@dataclass(frozen=True)
class Code:
    """The files of a package, relative to root. Those in made exist only in the package."""

    root: Path
    files: Tuple[str, ...]
    made: Mapping[str, bytes] = field(default_factory=dict)

    def content(self, name: str) -> bytes:
        """Return the bytes of a file."""
        made = self.made.get(name)
        return (self.root / name).read_bytes() if made is None else made

    def size(self, name: str) -> int:
        """Return the number of bytes of a file."""
        made = self.made.get(name)
        return (self.root / name).stat().st_size if made is None else len(made)

    def executable(self, name: str) -> bool:
        """Return whether a file is a program."""
        return name not in self.made and os.access(self.root / name, os.X_OK)

    def archive(self) -> bytes:
        """Return a tar.gz whose bytes depend only on names, contents and executable bits."""
        inner = io.BytesIO()
        with tarfile.open(fileobj=inner, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name in self.files:
                data = self.content(name)
                info = tarfile.TarInfo(name)
                info.size = len(data)
                info.mode = 0o755 if self.executable(name) else 0o644
                tar.addfile(info, io.BytesIO(data))
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, compresslevel=6) as zipped:
            zipped.write(inner.getvalue())
        return packed.getvalue()

    def digest(self) -> str:
        """Return a hash of names, contents and executable bits."""
        found = hashlib.sha256()
        for name in self.files:
            content = hashlib.sha256(self.content(name)).hexdigest()
            found.update(f"{name}\0{self.executable(name)}\0{content}\n".encode("utf-8", "surrogateescape"))
        return found.hexdigest()


def in_cell(function: Callable[..., Any]) -> bool:
    """Return whether a function is defined in a cell of a notebook."""
    if _place.shell() is None:
        return False
    from . import _cells

    return _cells.holds(function)


def file_of(function: Callable[..., Any]) -> Path:
    """Return the file of a function. Raises DefinitionError without one.

    For a function in a cell, it is the file that the cells become in a code package.
    """
    if in_cell(function):
        from . import _cells

        return _cells.file_of()
    path = Path(written(function).__code__.co_filename)
    if not path.is_file():
        raise error(f"{function.__name__} is not in a file, so a task cannot import it. Write it to a file and import it", of_code(function.__code__))
    return path.resolve()


def source_of(function: Callable[..., Any]) -> str:
    """Return the path of the source of a function, which may not exist."""
    return str(file_of(function)) if in_cell(function) else str(function.__code__.co_filename)


def written(function: Callable[..., Any]) -> Any:
    """Return the original function, without decorators that use functools.wraps."""
    return inspect.unwrap(function)


def place_of(path: Path) -> Tuple[Path, str]:
    """Return the folder from which a file can be imported, and the name of its module."""
    root, parts = path.parent, [path.stem]
    while (root / "__init__.py").is_file():
        parts.insert(0, root.name)
        root = root.parent
    return root, ".".join(parts if parts[-1] != "__init__" else parts[:-1])


def root_of(function: Callable[..., Any]) -> Tuple[Path, str]:
    """Return the folder from which the function's module can be imported, and its name."""
    path, name = file_of(function), function.__module__
    if name == "__main__" or in_cell(function):
        return place_of(path)
    steps = name.split(".")
    module = path.with_suffix("") if path.stem != "__init__" else path.parent
    if list(module.parts[-len(steps) :]) == steps:
        return Path(*module.parts[: -len(steps)]), name
    return place_of(path)


def module_of(function: Callable[..., Any]) -> str:
    """Return the name by which a task imports the function's module."""
    return root_of(function)[1]


def check_inside(function: Callable[..., Any], root: Path) -> None:
    """Raise DefinitionError if the package of a workflow, whose folder is root, cannot contain a function."""
    path = file_of(function)
    if root in path.parents or {"site-packages", "dist-packages"}.intersection(path.parts):
        return
    raise error(
        f"the operator {function.__name__} is in {path}, but tasks get only the files below {root}. Move its file there, beside the file of the "
        "workflow, or make it a package that tasks install with requirements",
        of_code(function.__code__),
    )


def collect(function: Callable[..., Any], cells: Optional[Cells] = None) -> Code:
    """Return the files of the package that contains the function.

    For a file outside a package, these are all files of its folder. Imported modules beside the
    package belong to it. Files that git ignores, names that begin with a dot, keys such as
    *.pem, and virtual environments do not. For a function in a notebook, these are the files of
    the notebook's folder, except notebooks, and the module of cells. Raises DefinitionError
    above the size limit.
    """
    root, module = root_of(function)
    top = root / module.split(".")[0]
    base = top if "." in module else root
    names = {os.path.relpath(path, root) for path in _files(base)}
    names |= {os.path.relpath(path, root) for path in _imported(root)}
    made: Dict[str, bytes] = {}
    if cells is not None:
        made = {cells.file: cells.text.encode()}
        names = {cells.file, *(name for name in names if not name.endswith(".ipynb"))}
    else:
        names.add(os.path.relpath(file_of(function), root))
    code = Code(root, tuple(sorted(name.replace(os.sep, "/") for name in names)), made)
    _check_names(code)
    _check_size(code)
    return code


def near(path: Path) -> List[Path]:
    """Return the files of the package of a file, and the modules beside it."""
    root, module = place_of(path)
    base = root / module.split(".")[0] if "." in module else root
    return sorted({path, *_files(base), *root.glob("*.py")})


def _files(base: Path) -> List[Path]:
    names = list(_git.files(base))
    environments = {(base / name).parent for name in names if os.path.basename(name) == "pyvenv.cfg"} - {base}
    environments |= {(base / name).parent.parent for name in names if name.endswith(os.path.join("conda-meta", "history"))} - {base}
    found = []
    for name in names:
        path = base / name
        if not _excluded(name) and path.is_file() and not environments.intersection(path.parents):
            found.append(path)
    return found


_SECRET = re.compile(r"admin\.token|.*\.(pem|key)|id_(rsa|dsa|ecdsa|ed25519).*", re.IGNORECASE)


def _excluded(name: str) -> bool:
    parts = Path(name).parts
    return bool(parts and _SECRET.fullmatch(parts[-1])) or any(p.startswith(".") or p in ("__pycache__", "node_modules") for p in parts) or name.endswith(".pyc")


def _imported(root: Path) -> List[Path]:
    found = []
    for name, module in list(sys.modules.items()):
        file: Optional[str] = getattr(module, "__file__", None)
        if not file or name == "__main__" or name.partition(".")[0] == "flowforge" or not file.endswith(".py"):
            continue
        path = Path(file).resolve()
        inside = root in path.parents and "site-packages" not in path.parts and "dist-packages" not in path.parts
        if inside and not Path(sys.base_prefix, "lib") in path.parents and not _excluded(os.path.relpath(path, root)):
            if root / Path(*name.split(".")) in (path.with_suffix(""), path.parent):
                found.append(path)
    return found


def _check_names(code: Code) -> None:
    for name in code.files:
        shown = os.fsencode(name).decode("utf-8", "backslashreplace")
        if shown.encode() != os.fsencode(name):
            raise error(f"the name of the file {shown} in {code.root} is not UTF-8, so tasks cannot get it: rename the file, or list it in .gitignore")


def _check_size(code: Code) -> None:
    sizes = sorted((code.size(name), name) for name in code.files)
    total = sum(size for size, _ in sizes)
    if total > LIMIT:
        largest = ", ".join(f"{name} ({size / (1 << 20):.1f} MiB)" for size, name in reversed(sizes[-3:]))
        raise error(f"the files of {code.root} take up {total / (1 << 20):.0f} MiB; the limit of a code package is {LIMIT >> 20} MiB. The largest are {largest}. List files that tasks do not need in .gitignore, and pass data as inputs")


