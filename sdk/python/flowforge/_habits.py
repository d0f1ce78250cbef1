"""Answers for names that other systems have, and FlowForge does not need."""

from __future__ import annotations

import sys
from typing import Any

from . import _place
from .exceptions import DefinitionError

_CALL = "call {name}(…): in a workflow, a call returns at once, and calls that do not depend on each other run in parallel"
_MAP = "write foreach(items, lambda item: {name}(item))"
_DEPLOY = "run `flowforge deploy` with the file"
_OPERATOR = {
    "submit": _CALL, "delay": _CALL, "remote": _CALL, "apply_async": _CALL, "fn": "call {name}(…) outside of a workflow: it is the function",
    "map": _MAP, "expand": _MAP, "starmap": _MAP, "with_options": "write {name}.options(…)", "override": "write {name}.options(…)",
}  # fmt: skip
_WORKFLOW = {
    "submit": "call {name}(…) in a workflow, or {name}.launch(…) to run it on the server", "serve": _DEPLOY, "deploy": _DEPLOY,
    "map": _MAP, "with_options": "write {name}.options(…)", "run": "call {name}(…) to run it here, or {name}.launch(…) to run it on the server",
}  # fmt: skip
_RESULT = ("result", "wait", "get", "output", "outputs")
_MODULE = {
    "task": "operator", "step": "operator", "asset": "operator", "op": "operator", "flow": "workflow", "dag": "workflow", "job": "workflow",
    "FlowSpec": "workflow", "get_run_logger": "client.log(…) or print(…)", "unmapped": "foreach: values from outside of its lambda are the same for all items",
}  # fmt: skip


class Missing(DefinitionError, AttributeError):
    """There is no such attribute, but a way to do the same."""


def missing(owner: Any, attribute: str, operator: bool) -> AttributeError:
    """Return the error for an attribute that an operator or a workflow does not have."""
    name = str(owner.__dict__.get("__name__", "it"))
    answer = (_OPERATOR if operator else _WORKFLOW).get(attribute)
    if answer is None:
        return AttributeError(f"{type(owner).__name__} {name} has no attribute {attribute!r}")
    return Missing(str(_place.error(f"{name} has no {attribute}: {answer.format(name=name)}")))


def of_result(label: str, attribute: str) -> str:
    """Return what to do instead of asking a future for its value; "" if it was not asked."""
    if attribute not in _RESULT:
        return ""
    return f"{label} is a future, which has no {attribute}(): pass it to other operators as it is; they run when its value exists"


def of_import(err: ImportError) -> str:
    """Return what to import instead of a name of another system; "" if there is nothing."""
    missing = str(err).partition("cannot import name '")[2].partition("'")[0]
    instead = _MODULE.get(missing) if err.name == "flowforge" else None
    return f"; use {instead}" if instead else ""


def of_version(err: Exception) -> str:
    """Return which Python read the file, if a later version may accept it; otherwise ""."""
    python = f"Python {sys.version.split()[0]} ({sys.executable})"
    if isinstance(err, SyntaxError):
        return f". This command uses {python}"
    if isinstance(err, TypeError) and "unsupported operand type(s) for |" in str(err) and sys.version_info < (3, 10):
        return f". This command uses {python}, and X | Y in annotations needs Python 3.10: write Optional[X] or Union[X, Y]"
    return ""
