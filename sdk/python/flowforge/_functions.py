"""Refuses functions that cannot be operators or workflows, before anything runs."""

from __future__ import annotations

import ast
import dis
import inspect
import textwrap
import types
from typing import Any, Callable

from . import _place


def check(function: Any, decorator: str) -> None:
    """Raise DefinitionError for what is not a function, and for an async function that cannot run."""
    code = getattr(function, "__code__", None) if not hasattr(type(function), "signature") else None
    if not isinstance(code, types.CodeType):
        raise _place.error(f"@{decorator}: {_no_function(function, decorator)}")
    name, place = function.__name__, _place.of_code(code)
    if code.co_flags & inspect.CO_ASYNC_GENERATOR:
        raise _place.error(f"{name} is an async generator, and its items cannot be read outside of an event loop: write def and yield, or return a list", place)
    first = code.co_varnames[0] if code.co_argcount else ""
    if first in ("self", "cls") and function.__qualname__.rpartition(".")[0] and first not in function.__annotations__:
        raise _place.error(
            f"{name} is a method, and a task has no {'object' if first == 'self' else 'class'} to call it on: write a function, or @staticmethod above @{decorator} and no {first}; "
            "pass what it needs as parameters",
            place,
        )
    if code.co_flags & inspect.CO_COROUTINE and decorator != "operator":
        raise _place.error(f"{name} is async, and only functions with @operator can be: write def without await, because a workflow only connects operators", place)


def _no_function(value: Any, decorator: str) -> str:
    name = getattr(value, "__name__", repr(value))
    if hasattr(type(value), "signature"):
        kind = type(value).__name__.lower()
        return f"{name} is already {'an' if kind == 'operator' else 'a'} {kind}; a function has one of @operator and @workflow, once"
    if isinstance(value, (str, int, float)) or value is None:
        return f"{value!r} is not a function; options have names, such as @{decorator}(name={str(value)!r})"
    if isinstance(value, type):
        return f"{name} is a class; write a function that creates and uses it"
    if hasattr(value, "__wrapped__"):
        return f"{name} is a {type(value).__name__} of another decorator, not a function; remove that decorator, or use it inside the function"
    return f"{name} is not a Python function; write a def that calls it, with annotations for its inputs and its result"


def check_result(function: Callable[..., Any], annotated: bool) -> None:
    """Raise DefinitionError for a function without declared results that returns or yields values, because they would be lost."""
    inner: Any = inspect.unwrap(function)
    code = getattr(inner, "__code__", None)
    if not isinstance(code, types.CodeType):
        return
    name, place = function.__name__, _place.of_code(code)
    if code.co_flags & inspect.CO_GENERATOR:
        raise _place.error(f"{name} yields items, but declares no result, so it would never run: annotate the result, such as -> Iterator[int], or collect the items in a list", place)
    line = 0 if annotated else _line_of_value(code)
    if line:
        raise _place.error(f"{name} returns a value (line {line}), but its result has no type: annotate it, such as -> float, or -> None if no operator needs the value", place)


def check_handlers(function: Any, is_call: Callable[[Any], bool]) -> None:
    """Raise DefinitionError for try … except around a call of an operator, which would catch nothing on the server."""
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):  # such as text that is not in a file
        return
    names = {**getattr(function, "__globals__", {}), **inspect.getclosurevars(function).nonlocals}
    for handled in ast.walk(tree):
        if not isinstance(handled, ast.Try) or not handled.handlers:
            continue
        for call in (c for statement in handled.body for c in ast.walk(statement) if isinstance(c, ast.Call)):
            inner = call.func.func.value if isinstance(call.func, ast.Call) and isinstance(call.func.func, ast.Attribute) else call.func  # train.options(…)(…)
            if isinstance(inner, ast.Name) and is_call(names.get(inner.id)):
                name, place = inner.id, _place.line(function.__code__.co_filename, first + handled.lineno - 1)
                raise _place.error(
                    f"except cannot catch a failure of {name}, because {name} runs after the workflow is defined. Handle the exception in the operator, or use "
                    f"{name}.options(allow_failure=True), or another operator with .options(after=failed(…))",
                    place,
                )


def _line_of_value(code: types.CodeType) -> int:
    """Return the line of the first return statement with a value, or 0."""
    line, before = code.co_firstlineno, ""
    step: Any
    for step in dis.get_instructions(code):
        line = getattr(step, "line_number", step.starts_line) or line  # line_number since Python 3.13
        if step.opname == "RETURN_VALUE" and before != "LOAD_CONST None" or step.opname == "RETURN_CONST" and step.argval is not None:
            return int(line)
        before = f"{step.opname} {step.argval}"
    return 0
