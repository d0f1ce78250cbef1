"""Reads and writes inputs, outputs and checkpoints as files."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Union

from ._config import Config
from .exceptions import InputError, OutputError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")
_CHECKPOINT = "checkpoint.json"


def read_inputs(config: Config) -> Dict[str, Any]:
    """Return the typed inputs by name. Outside FlowForge there are none."""
    if config.inputs is None:
        return {}
    try:
        values = json.loads(config.inputs.read_text(encoding="utf-8"))
    except (OSError, ValueError) as err:
        raise InputError(f"the inputs in {config.inputs} cannot be read: {err}") from err
    if not isinstance(values, dict):
        raise InputError(f"{config.inputs} does not contain a JSON object")
    return values


def input_path(inputs: Dict[str, Any], name: str) -> Path:
    """Return the path of a file or folder input."""
    if name not in inputs:
        known = ", ".join(sorted(inputs)) or "none"
        raise InputError(f"there is no input {name!r}; the inputs are: {known}")
    value = inputs[name]
    if not isinstance(value, str) or not os.path.exists(value):
        raise InputError(f"the input {name!r} is not a file: {value!r}")
    return Path(value)


def is_pipe(path: str) -> bool:
    """Whether an input is still being written."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


def output_path(config: Config, name: str) -> Path:
    """Return the path for the file or folder of an output."""
    if not _NAME.match(name):
        raise OutputError(f"{name!r} is not a valid name of an output: use letters, digits, _, . and -")
    folder = config.outputs if config.outputs is not None else Path("flowforge-outputs")
    return folder / name


def write_output(config: Config, name: str, value: Any) -> None:
    """Write a value as JSON, or copy the file or folder at a path."""
    target = output_path(config, name)
    if isinstance(value, os.PathLike):
        source = Path(value)
        try:
            if source.resolve() == target.resolve():
                return
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True)
            else:
                shutil.copyfile(source, target)
        except OSError as err:
            raise OutputError(f"output {name!r}: {err}") from err
        return
    _check_text(value, f"output {name!r}")
    write_json(target, value, f"output {name!r}")


def write_metadata(config: Config, name: str, metadata: Mapping[str, Any]) -> None:
    """Write the metadata of an output to a file next to the outputs."""
    target = output_path(config, name).with_name(f".{name}.metadata")
    _check_text(dict(metadata), f"metadata of output {name!r}")
    write_json(target, dict(metadata), f"metadata of output {name!r}")


def save_checkpoint(config: Config, data: Any) -> str:
    """Save data for the next attempt and return it as JSON."""
    if config.checkpoints is None:
        return to_json(data, "checkpoint")
    return write_json(config.checkpoints / _CHECKPOINT, data, "checkpoint")


def load_checkpoint(config: Config) -> Optional[Any]:
    """Return the data of the last checkpoint on this machine."""
    if config.checkpoints is None:
        return None
    try:
        return json.loads((config.checkpoints / _CHECKPOINT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write_json(target: Path, value: Any, what: str) -> str:
    """Write value to target atomically."""
    text = to_json(value, what)
    folder, name = os.path.split(target)
    partial = os.path.join(folder, f".{name}.{os.getpid()}")
    try:
        try:
            _create(partial, text)
        except FileNotFoundError:
            os.makedirs(folder or ".", exist_ok=True)
            _create(partial, text)
        os.replace(partial, target)
    except OSError as err:
        raise OutputError(f"{what}: {err}") from err
    return text


def _create(path: str, text: str) -> None:
    with open(path, "wb", 0) as file:  # one call instead of a buffer and an encoder
        rest = text.encode()
        while rest:
            rest = rest[file.write(rest) :]


def to_json(value: Any, what: str) -> str:
    try:
        return json.dumps(value, allow_nan=False, default=scalar)
    except (TypeError, ValueError) as err:
        raise OutputError(f"{what} cannot be written as JSON: {not_json(value) or err}") from err


def _check_text(value: Any, what: str) -> None:
    why = not_text(value)
    if why:
        raise OutputError(f"{what}: {why}")


# Surrogates in a string of Python are lone ones: pairs are one character.
_NO_TEXT = re.compile("[\ud800-\udfff\\0]")


def not_text(value: Any, path: str = "") -> str:
    """Return which text in a value UTF-8 or the server's database cannot represent, or ""."""
    if isinstance(value, str):
        found = _NO_TEXT.search(value)
        if found is None:
            return ""
        where = path if path.startswith("the key ") else f"the text at {path}" if path else "the text"
        if found[0] == "\0":
            return f"{where} contains the character NUL (\\x00), which cannot be stored; remove it, or return bytes as a File"
        return (
            f"{where} contains the lone surrogate {found[0]!r}, which UTF-8 and JSON cannot represent. It often stands for bytes that were not UTF-8: "
            "decode them with their encoding or with errors='replace', or return bytes as a File"
        )
    if isinstance(value, dict):
        return next(filter(None, (not_text(key, f"the key {ascii(key)}") or not_text(part, f"{path}[{ascii(key)}]") for key, part in value.items())), "")
    if isinstance(value, (list, tuple)):
        return next(filter(None, (not_text(part, f"{path}[{index}]") for index, part in enumerate(value))), "")
    return ""


def _is_scalar(value: Any) -> bool:
    return type(value).__module__ == "numpy" and getattr(value, "shape", None) == ()


def scalar(value: Any) -> Any:
    """Return a scalar of numpy, which functions of other libraries often return, as a value of Python."""
    if not _is_scalar(value):
        raise TypeError(f"`{type(value).__name__}` is not a value of JSON")
    return value.item()


def not_json(value: Any, path: str = "") -> str:
    """Return which part of a value JSON cannot represent, or ""."""
    if value is None or isinstance(value, (str, int, float)):
        return ""
    if isinstance(value, dict):
        key = next((key for key in value if not (key is None or isinstance(key, (str, int, float)))), None)
        if key is not None:
            return f"the key {key!r}{f' of {path}' if path else ''} has the type `{type(key).__name__}`, but keys are strings"
        return next(filter(None, (not_json(part, f"{path}[{name!r}]") for name, part in value.items())), "")
    if isinstance(value, (list, tuple)):
        return next(filter(None, (not_json(part, f"{path}[{index}]") for index, part in enumerate(value))), "")
    return "" if _is_scalar(value) else f"{path or 'it'} has the type `{type(value).__name__}`"


def strings(given: Union[str, Iterable[str]]) -> List[str]:
    """Return names as a list. A string is a single name."""
    return [given] if isinstance(given, str) else [str(one) for one in given]
