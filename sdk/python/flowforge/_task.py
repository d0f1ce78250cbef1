"""Runs an operator in a task: reads its inputs, calls the function, and writes its outputs.

The code of a generated operator is one call of run.
"""

from __future__ import annotations

import importlib
import logging
import os
import shutil
import sys
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional

from . import _contained, _coroutines, _handles, _results, _traceback, client
from ._files import is_pipe
from ._operator import Operator
from ._schema import JSON, Type
from ._signature import Result
from .exceptions import FlowForgeError, InputError, OutputError


def run(target: str, assemblies: Optional[Mapping[str, Any]] = None) -> None:
    """Run the operator "module:name". assemblies describes how inputs form arguments."""
    _traceback.guard(lambda: _run(target, assemblies or {}))


def _run(target: str, assemblies: Mapping[str, Any]) -> None:
    _show_messages()
    operator = _find(target)
    arguments = {}
    for p in operator.signature.parameters:
        assembly = assemblies.get(p.name, p.name)
        if isinstance(assembly, str) and assembly not in client.inputs:
            continue  # the function's own default
        arguments[p.name] = _argument(p.type, assembly, operator.pickle)
    function: Any = operator.function
    try:
        returned = _coroutines.finished(function(**arguments))
    except SystemExit as err:
        if err.code in (None, 0) and operator.signature.results:
            raise OutputError(f"operator {operator.name} called sys.exit() before it returned its result; use return") from None
        raise
    values = _results.split(operator.name, operator.signature, returned)
    for result, value in zip(operator.signature.results, values):
        _write(operator, result, value)


def _show_messages() -> None:
    """Let the module logging write messages from INFO on to the log of the task, in its usual format, unless the program configures it."""
    root, last = logging.getLogger(), logging.lastResort
    if last is not None and not root.handlers and root.level == logging.WARNING:
        root.setLevel(logging.INFO)
        last.setLevel(logging.INFO)
        last.setFormatter(logging.Formatter(logging.BASIC_FORMAT))


def _find(target: str) -> Operator[Any, Any]:
    module, _, name = target.partition(":")
    sys.path.insert(0, os.getcwd())
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    if not isinstance(found, Operator):
        raise FlowForgeError(f"{target} is not an operator")
    return found


def _argument(t: Type, assembly: Any, pickle: bool) -> Any:
    if isinstance(assembly, str):
        return _decode(t, client.inputs[assembly], assembly, pickle)
    inner = t.inner
    kind, parts = next(iter(assembly.items()))
    if kind == "list":
        return [_argument(_elem(inner), part, pickle) for part in parts]
    if kind == "map":
        return {key: _argument(_elem(inner), part, pickle) for key, part in parts.items()}
    if kind == "zip":
        return _zipped(_elem(inner), parts, pickle)
    values = {name: _argument(_field(inner, name), part, pickle) for name, part in parts.items()}
    return _built(inner, values)


def _zipped(t: Type, parts: Mapping[str, str], pickle: bool) -> Any:
    """Return a list of values whose fields come from lists."""
    requested = t.inner
    columns = {name: client.inputs[port] for name, port in parts.items()}
    rows: List[Any] = []
    for row in zip(*columns.values()):
        if t.optional and all(value is None for value in row):
            rows.append(None)
            continue
        fields = dict(zip(columns, row))
        rows.append(_built(requested, {n: _decode(_field(requested, n), v, n, pickle) for n, v in fields.items()}))
    return rows


def _built(t: Type, values: Dict[str, Any]) -> Any:
    """Return the Python value of a Struct whose fields are Python values already."""
    if t.build is None:
        return values
    return t.build(values)


def _elem(t: Type) -> Type:
    assert t.elem is not None
    return t.elem


def _field(t: Type, name: str) -> Type:
    found = t.field_named(name)
    assert found is not None or t.extra
    return found.type if found else JSON


def _decode(t: Type, value: Any, name: str, pickle: bool) -> Any:
    if t.stream and isinstance(value, str):
        return client.items(name)
    if value is None:
        return None
    try:
        found = t.decode(value)
    except FlowForgeError:
        raise
    except Exception as err:  # the author's classes run
        raise InputError(f"input {name!r} cannot be read as `{t.shown}`: {type(err).__name__}: {err}") from err
    return _contained.changed(t, found, lambda of, file: _allowed(file, pickle))


def _allowed(file: Any, pickle: bool) -> Any:
    """Let a handle read pickles if the operator may."""
    if isinstance(file, _handles.File):
        file.allow_pickle = pickle
    return file


def _write(operator: Operator[Any, Any], result: Result, value: Any) -> None:
    if not _results.present(operator.name, result.name, result.type, value):
        return
    t = result.type.inner
    folder = client.output_path(result.name).parent
    if t.blob:
        _write_checked(operator, result.name, t, value, folder, result.name)
        return
    if t.holds_blob:
        value = _write_files(operator, result.name, t, value, folder)
    client.output(result.name, _results.encode(operator.name, result.name, t, value))


def _write_checked(operator: Operator[Any, Any], place: str, t: Type, value: Any, folder: Path, name: str) -> None:
    if not operator.pickle:
        _results.check_file(operator.name, place, t, value)
    try:
        _write_file(t, folder, name, value, operator.pickle)
    except OutputError as err:
        raise OutputError(f"operator {operator.name}, {err}") from None


def _write_files(operator: Operator[Any, Any], name: str, t: Type, value: Any, folder: Path) -> Any:
    """Write the files in a value, and return it with their paths in the folder of the outputs, as the runner reads them."""
    inside = folder / f".{name}.files"

    def write(place: str, of: Type, file: Any) -> Any:
        own = inside / place.rpartition(" ")[2]
        own.mkdir(parents=True)
        path = file.path if isinstance(file, _handles.File) and not file.has_value else file
        _write_checked(operator, place, of, file, own, Path(path).stem if isinstance(path, os.PathLike) and not isinstance(path, _handles.File) else name)
        return {"$path": str(next(own.iterdir()).relative_to(folder))}

    return _results.with_files(operator.name, name, t, value, write)


def _write_file(t: Type, folder: Path, name: str, value: Any, pickle: bool) -> None:
    if t.stream:
        client.write_items(name, value)
        return
    if isinstance(value, _handles.File) and not value.has_value:
        value = value.path  # of a file, or of a reference
    if isinstance(value, _handles.File):
        value.write(folder, name, pickle)
    elif isinstance(value, os.PathLike):
        _copy(Path(value), folder, name)
    elif t.kind in ("Report", "Image"):
        getattr(_handles, t.kind)(value).write(folder, name, pickle)
    else:
        _handles.write(value, folder, name, t.params.get("format") if t.params.get("format") in ("npz", "torch") else None, pickle)


def _copy(source: Path, folder: Path, name: str) -> None:
    if not source.exists() or is_pipe(str(source)):
        raise OutputError(f"output {name!r}: the file {source} does not exist")
    if source.is_dir():
        shutil.copytree(source, folder / name, dirs_exist_ok=True)
    else:
        shutil.copyfile(source, folder / (name + "".join(source.suffixes[-1:])))


def pass_on(names: Mapping[str, Any]) -> None:
    """Write inputs of a generated operator as outputs of the same names.

    names says for each where it has files, as _contained.places does. Other strings are never read as
    paths.
    """
    for name, places in names.items():
        value = client.inputs.get(name)
        folder = client.output_path(name).parent
        if places is True and isinstance(value, str):
            _copy(Path(value), folder, name)
        elif value is not None:
            client.output(name, _passed_on(value, places, folder, folder / f".{name}.files"))


def _passed_on(value: Any, places: Any, folder: Path, inside: Path) -> Any:
    """Return a JSON value with its files copied and replaced by their paths in the folder of the outputs."""
    if places is True and isinstance(value, str):
        inside.mkdir(parents=True)
        _copy(Path(value), inside, Path(value).stem)
        return {"$path": str(next(inside.iterdir()).relative_to(folder))}
    if isinstance(places, list) and isinstance(value, list):
        return [_passed_on(part, places[0], folder, inside / str(index)) for index, part in enumerate(value)]
    if isinstance(places, dict) and isinstance(value, dict):
        return {key: _passed_on(part, places.get(key, places.get("*")), folder, inside / str(index)) for index, (key, part) in enumerate(value.items())}
    return value
