"""A definition as the server registers it, with the files of its code."""

from __future__ import annotations

import copy
import enum
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, FrozenSet, Iterator, List, Mapping, Optional, Tuple

from . import _custom, _git, _pack, _place, _sources, _versions, _yaml
from ._place import error
from ._schema import Type

if TYPE_CHECKING:
    from ._cells import Cells
    from ._workflow import Workflow


class Definition:
    """The document of a workflow. Its code packages are the folder of the author's files."""

    def __init__(
        self, workflow: Workflow[Any, Any], document: Dict[str, Any], types: Mapping[str, Type], metadata: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]
    ) -> None:
        self.workflow = workflow
        self._functions = functions  # of operators
        self.parts: FrozenSet[int] = frozenset()  # the IDs of the functions that are sub-workflows
        self._types = dict(types)  # of inputs by name, of outputs by output:name
        self._document = _reduced(document)
        self._metadata = _reduced(dict(metadata))
        self._cells = _cells_of(workflow.function, functions)

    @property
    def name(self) -> str:
        return str(self._document["name"])

    @property
    def schedules(self) -> List[Dict[str, Any]]:
        """The schedules that the workflow declares."""
        return list(self._document.get("schedules", ()))

    @property
    def code(self) -> _pack.Code:
        """The files that tasks import."""
        return _pack.collect(self.workflow.function, self._cells)

    def document(self, package: str = ".", version: str = "") -> Dict[str, Any]:
        """Return the document with a code package: a folder, or the hash of an upload."""
        found = copy.deepcopy(self._document)
        if version:
            found["version"] = version
        for operator in operators(found):
            if "package" in operator.get("code", {}):
                operator["code"]["package"] = package
        if self._metadata:
            found["metadata"] = self._metadata
        return found

    def registered(self, package: str, version: str, change: Mapping[str, Any]) -> Dict[str, Any]:
        """Return the document for registration, with the state of the author's files.

        change tells how the signature differs from that of an earlier version.
        """
        found = self.document(package, version)
        function = self.workflow.function
        root, module = _pack.root_of(function)
        name = f"{module}:{function.__qualname__}"
        python = {
            "content": self.content(),
            "signature": self.signature(),
            "file": os.path.relpath(_pack.file_of(function), root).replace(os.sep, "/"),
            "function": name,
            "functions": _sources.places({**self._functions, name: function}, root, self._cells),
            "written": _sources.written(function),
            "change": dict(change),
        }
        git = _git.state(root)
        found["metadata"] = {**self._metadata, "python": python, **({"git": git} if git else {})}
        return found

    def signature(self) -> Dict[str, Any]:
        """Return inputs and outputs as later versions are compared with them."""
        return _versions.signature(self._document, self._types)

    def content(self) -> str:
        """Return a hash of everything that determines what the version does."""
        document = self.document("sha256:" + self.code.digest())
        document.pop("version")
        document.pop("schedules", None)  # they are no part of a version
        types = _custom.documents(document)
        if types:
            document["types"] = types
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()

    def yaml(self, folder: Path = Path(".")) -> str:
        """Return the document as YAML for a file in folder."""
        root = _pack.root_of(self.workflow.function)[0]
        return _yaml.dump(self.document(os.path.relpath(root, folder.resolve())))


def _cells_of(function: Callable[..., Any], operators: Mapping[str, Callable[..., Any]]) -> Optional[Cells]:
    """Return the module of a workflow in a notebook, or None for one in a file."""
    if _place.shell() is None:
        return None
    from . import _cells

    return _cells.write(function, operators.values())


def _reduced(document: Dict[str, Any]) -> Dict[str, Any]:
    """Return a document of plain JSON values: members of an Enum are their values."""
    try:
        found: Dict[str, Any] = json.loads(json.dumps(_plain(document), allow_nan=False))
    except ValueError:
        raise error("the definition contains NaN or an infinite number, which JSON cannot represent; use None or a large number") from None
    except TypeError:
        path, value = next(_not_json(document, ""))
        raise error(f"{path}: {value!r} has the type `{type(value).__name__}`, which cannot be part of a definition; make it an input of the workflow, and set it at launch") from None
    return found


def _not_json(value: Any, path: str) -> Iterator[Tuple[str, Any]]:
    """Yield the values that JSON cannot represent, with their paths in the document."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _not_json(one, f"{path}.{key}" if path else str(key))
            if not isinstance(key, (str, int, float, bool, enum.Enum, type(None))):
                yield path, key
    elif isinstance(value, (list, tuple)):
        for index, one in enumerate(value):
            yield from _not_json(one, f"{path}[{one.get('name', index) if isinstance(one, dict) else index}]")
    elif not isinstance(value, (str, int, float, bool, enum.Enum, type(None))):
        yield path, value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {_plain(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return _plain(value.value) if isinstance(value, enum.Enum) else value


def operators(document: Mapping[str, Any]) -> Iterator[Dict[str, Any]]:
    """Iterate over the operators of a document and of its graphs."""
    for graph in [document, *document.get("graphs", {}).values()]:
        yield from graph.get("operators", ())
        yield from graph.get("on_exit", ())
