"""Translates the parameters of a flow to the inputs of a workflow."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Dict, List, Mapping, Tuple

from metaflow import JSONType
from metaflow.includefile import FilePathClass
from metaflow.parameters import DeployTimeField, deploy_time_eval

from .errors import FlowForgeException

Upload = Callable[[str], Any]  # stores a file and returns the value that refers to it

_KINDS = {int: "Integer", float: "Float", bool: "Boolean", str: "String"}


def read(flow: Any, upload: Upload) -> Tuple[List[Dict[str, Any]], Dict[str, str]]:
    """Return the inputs, and the names of parameters by the names of their inputs."""
    inputs: List[Dict[str, Any]] = []
    names: Dict[str, str] = {}
    for _, parameter in flow._get_parameters():
        if parameter.IS_CONFIG_PARAMETER:  # its value is that of the deployment
            continue
        name = input_name(parameter.name)
        if name in names:
            raise FlowForgeException(f"The parameters *{names[name]}* and *{parameter.name}* have the same name {name} in FlowForge. Rename one of them.")
        names[name] = parameter.name
        inputs.append(_input(name, parameter, upload))
    return inputs, names


def input_name(name: str) -> str:
    """Return the name of the input of a parameter: - is not part of names in FlowForge."""
    return name.replace("-", "_")


def _input(name: str, parameter: Any, upload: Upload) -> Dict[str, Any]:
    kind = parameter.kwargs.get("type")
    entry: Dict[str, Any] = {"name": name, "type": kind_of(parameter)}
    if parameter.kwargs.get("help"):
        entry["description"] = parameter.kwargs["help"]
    default = None if parameter.kwargs.get("required") else parameter.kwargs.get("default")
    if isinstance(kind, FilePathClass):
        default = _file(parameter, default, upload)
    elif default is not None:
        default = value_of(parameter, deploy_time_eval(default))
    if default is not None:
        entry["default"] = default
    else:
        entry["required"] = bool(parameter.kwargs.get("required"))
    return entry


def kind_of(parameter: Any) -> str:
    """Return the type of the input of a parameter."""
    kind = parameter.kwargs.get("type")
    if isinstance(kind, FilePathClass):
        return "File"
    if kind == JSONType:
        return "JSON"
    if isinstance(kind, type) and kind in _KINDS:
        return _KINDS[kind]
    choices = getattr(kind, "choices", None)
    if choices:
        return "Enum(" + ", ".join(json.dumps(str(c)) for c in choices) + ")"
    name = getattr(kind, "__name__", None) or getattr(kind, "name", repr(kind))
    raise FlowForgeException(f"The parameter *{parameter.name}* has the type {name}. FlowForge supports int, float, bool, str, JSONType and IncludeFile.")


def value_of(parameter: Any, value: Any) -> Any:
    """Return a value of a parameter as the value of its input."""
    if parameter.kwargs.get("type") == JSONType and isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError as err:
            raise FlowForgeException(f"The value of the parameter *{parameter.name}* is not JSON: {err}") from None
    if isinstance(value, (list, tuple)) and parameter.kwargs.get("separator"):
        return parameter.kwargs["separator"].join(map(str, value))
    return value


def _file(parameter: Any, default: Any, upload: Upload) -> Any:
    """Upload the default of an IncludeFile, a path or a function that returns one."""
    if isinstance(default, DeployTimeField):
        default = default()  # the path; deploy_time_eval would store the file in Metaflow's datastore
    if default is None:
        return None
    path = os.path.expanduser(str(default))
    if not os.path.isfile(path):
        raise FlowForgeException(f"The default file {default} of the parameter *{parameter.name}* does not exist.")
    return upload(path)


def arguments(names: Mapping[str, str], values: Mapping[str, Any]) -> List[str]:
    """Return options of Metaflow's command line for values of inputs. None is no value."""
    found = []
    for name, option in names.items():
        value = values.get(name)
        if value is None:
            continue
        text = value if isinstance(value, str) else json.dumps(value)
        found.append(f"--{option}={text}")
    return found
