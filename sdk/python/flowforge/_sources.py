"""Records where the functions of a workflow are in its code package, and how its signature is written."""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional

from . import _pack

if TYPE_CHECKING:
    from ._cells import Cells


def places(functions: Mapping[str, Callable[..., Any]], root: Path, cells: Optional[Cells] = None) -> Dict[str, Any]:
    """Return file, first and last line of functions in files below root, by their names. cells is the module of those in a notebook."""
    found = {name: _place(function, root, cells) for name, function in functions.items()}
    return {name: place for name, place in sorted(found.items()) if place is not None}


def _place(function: Callable[..., Any], root: Path, cells: Optional[Cells]) -> Optional[Dict[str, Any]]:
    if cells is not None and _pack.in_cell(function):
        place = cells.places.get(function.__qualname__)
        return {"file": cells.file, "first": place[0], "last": place[1]} if place else None
    path = _pack.file_of(function)
    if root not in path.parents:  # an operator of an installed package
        return None
    try:
        lines, first = inspect.getsourcelines(_pack.written(function))
    except (OSError, TypeError):  # the file has changed since it was imported
        return None
    return {"file": os.path.relpath(path, root).replace(os.sep, "/"), "first": first, "last": first + len(lines) - 1}


def written(function: Callable[..., Any]) -> Dict[str, Any]:
    """Return the annotations of a function as its author wrote them."""
    try:
        source = textwrap.dedent("".join(inspect.getsourcelines(_pack.written(function))[0]))
        made = ast.parse(source).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):  # the file has changed since it was imported
        return {}
    if not isinstance(made, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return {}
    named = [*made.args.posonlyargs, *made.args.args, *made.args.kwonlyargs]
    found: Dict[str, Any] = {"parameters": {a.arg: _text(source, a.annotation) for a in named if a.annotation is not None}}
    if made.returns is not None:
        found["returns"] = _text(source, made.returns)
    return found


def _text(source: str, node: ast.expr) -> str:
    return " ".join((ast.get_source_segment(source, node) or "").split())
