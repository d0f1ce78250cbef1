"""Options of the command line for the inputs of a workflow."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Callable, Dict, Sequence

from ._schema import Type, article
from ._signature import Parameter
from ._wire import constant_mismatch
from ._workflow import Workflow


def read(workflow: Workflow[Any, Any], argv: Sequence[str], program: str) -> Dict[str, Any]:
    """Return inputs by name. Lists repeat their option: --kinds svc --kinds forest."""
    parser = argparse.ArgumentParser(prog=program, description=workflow.signature.description, allow_abbrev=False)
    for p in workflow.signature.parameters:
        _add(parser, p)
    given = vars(parser.parse_args(list(argv)))
    return {name: value for name, value in given.items() if value is not None}


def _add(parser: argparse.ArgumentParser, p: Parameter) -> None:
    t = p.type.inner
    kind = p.type.text() if len(p.type.text()) < 60 else t.kind
    default = "" if p.required or p.default is None else f"default: {_written(p.type, p.default)}"
    repeats = "repeat the option for each value" if t.kind == "List" else ""
    text = " ".join(filter(None, [p.description, f"({kind})", "; ".join(filter(None, [default, repeats]))]))
    option: Dict[str, Any] = {"dest": p.name, "help": text.replace("%", "%%"), "default": None, "required": p.required}
    flags = list(dict.fromkeys([f"--{p.name}", f"--{p.name.replace('_', '-')}"]))
    if t.kind == "Boolean":
        parser.add_argument(*flags, action=argparse.BooleanOptionalAction, **option)
    elif t.kind == "List" and t.elem is not None:
        parser.add_argument(*flags, action="append", type=_reader(t.elem), metavar="VALUE", **option)
    else:
        parser.add_argument(*flags, type=_reader(t), metavar="VALUE", **option)


def _written(t: Type, value: Any) -> str:
    """Return a default as it is entered, such as mean for Aggregation.MEAN."""
    try:
        found = t.encode(value)
    except Exception:  # the definition names the problem
        return repr(value)
    return found if isinstance(found, str) else ", ".join(map(str, found)) if isinstance(found, list) else json.dumps(found, ensure_ascii=False)


def _reader(t: Type) -> Callable[[str], Any]:
    """Return a function that reads a text as a Python value of type t."""

    def read(text: str) -> Any:
        value = _json(t, text)
        why = constant_mismatch(value, t)
        if why:
            raise argparse.ArgumentTypeError(why)
        if t.blob:
            return Path(value) if isinstance(value, str) and Path(value).exists() else value
        try:
            return t.decode(value)
        except Exception as err:
            raise argparse.ArgumentTypeError(f"{text!r} is not {article(t)}: {err}") from None

    return read


def _json(t: Type, text: str) -> Any:
    if t.kind in ("Integer", "Float", "Boolean", "Enum", "Struct", "HyperparameterSet", "Map", "JSON", "Union", "List"):
        try:
            found = json.loads(text)
        except ValueError:
            found = text
        if t.kind == "Enum" and found not in t.options:
            return text
        return found
    return text
