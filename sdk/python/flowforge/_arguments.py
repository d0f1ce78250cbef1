"""Options of the command line for the inputs of a workflow."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Callable, Dict, Sequence

from ._schema import Field, Type, article
from ._signature import Parameter
from ._wire import constant_mismatch
from ._workflow import Workflow

_NULL = object()  # an input that was given as null


def read(workflow: Workflow[Any, Any], argv: Sequence[str], program: str) -> Dict[str, Any]:
    """Return inputs by name, and fields of structs by dotted name.

    Lists repeat their option, as in --kinds svc --kinds forest, or are JSON, as in --kinds '["svc", "forest"]'.
    """
    parser = argparse.ArgumentParser(prog=program, description=workflow.signature.description, allow_abbrev=False)
    for p in workflow.signature.parameters:
        _add(parser, p)
    found = vars(parser.parse_args(list(argv)))
    given = {name: None if value is _NULL or isinstance(value, list) and _NULL in value else value for name, value in found.items() if value is not None}
    missing = [p.name for p in workflow.signature.parameters if p.required and not any(name.partition(".")[0] == p.name for name in given)]
    if missing:
        parser.error(f"the following arguments are required: {', '.join(f'--{name}' for name in missing)}")
    return given


def _add(parser: argparse.ArgumentParser, p: Parameter) -> None:
    t = p.type
    default = "" if p.required or p.default is None else f"default: {_written(p.type, p.default)}"
    _option(parser, p.name, t, p.description, default, p.required and not t.inner.fields)
    for f in t.inner.fields:
        _field(parser, p.name, f)


def _field(parser: argparse.ArgumentParser, of: str, f: Field) -> None:
    """Add the option for one field of a struct, such as --config.rate."""
    name, t = f"{of}.{f.name}", f.type
    default = "" if not f.has_default or f.default is None else f"default: {_text(f.default)}"
    _option(parser, name, t, f.description, default, False)
    for inner in t.inner.fields:
        _field(parser, name, inner)


def _option(parser: argparse.ArgumentParser, name: str, declared: Type, description: str, default: str, required: bool) -> None:
    t = declared.inner
    kind = t.text() if len(t.text()) < 60 else t.kind
    repeats = "repeat the option for each value, or pass a JSON list" if t.kind == "List" else ""
    text = " ".join(filter(None, [description, f"({kind})", "; ".join(filter(None, [default, repeats]))]))
    option: Dict[str, Any] = {"dest": name, "help": text.replace("%", "%%"), "default": None, "required": required}
    flags = list(dict.fromkeys([f"--{name}", f"--{name.replace('_', '-')}"]))
    if t.kind == "Boolean":
        parser.add_argument(*flags, action=argparse.BooleanOptionalAction, **option)
    elif t.kind == "List" and t.elem is not None:
        parser.add_argument(*flags, action="extend", type=_nullable(declared, _items(t), [_NULL]), metavar="VALUE", **option)
    else:
        parser.add_argument(*flags, type=_nullable(declared, _reader(t), _NULL), metavar="VALUE", **option)


def _written(t: Type, value: Any) -> str:
    """Return a default as it is entered, such as mean for Aggregation.MEAN."""
    try:
        return _text(t.encode(value))
    except Exception:  # the definition names the problem
        return repr(value)


def _text(found: Any) -> str:
    """Return a JSON value as it is entered."""
    if isinstance(found, list) and found and not any(isinstance(one, (list, dict)) for one in found):
        return ", ".join(map(_text, found))
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


def _nullable(t: Type, read: Callable[[str], Any], null: Any) -> Callable[[str], Any]:
    """Return a function that also reads null if t may be None. A string can be the text null."""
    return (lambda text: null if text == "null" else read(text)) if t.optional and t.inner.kind != "String" else read


def _items(t: Type) -> Callable[[str], Any]:
    """Return a function that reads entries of a list: one of them, or all as JSON."""
    assert t.elem is not None
    elem = t.elem
    one = _reader(elem)

    def read(text: str) -> Any:
        try:
            found = json.loads(text)
        except ValueError:
            return [one(text)]
        why = constant_mismatch(found, t.with_params(min_items=None, max_items=None))  # other options may add entries
        if not why:
            return [_value(elem, item) for item in found]
        try:
            return [one(text)]
        except argparse.ArgumentTypeError:
            if isinstance(found, list):
                raise argparse.ArgumentTypeError(why) from None
            raise

    return read


def _reader(t: Type) -> Callable[[str], Any]:
    """Return a function that reads a text as a Python value of type t."""
    return lambda text: _value(t, _json(t.inner, text))


def _value(t: Type, value: Any) -> Any:
    """Return a JSON value as a Python value of type t."""
    why = constant_mismatch(value, t)
    if why:
        raise argparse.ArgumentTypeError(why)
    if t.blob:
        return Path(value) if isinstance(value, str) and Path(value).exists() else value
    try:
        return t.decode(value)
    except Exception as err:
        raise argparse.ArgumentTypeError(f"{value!r} is not {article(t)}: {err}") from None


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
