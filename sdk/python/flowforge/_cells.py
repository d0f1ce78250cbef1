"""Writes what a workflow uses of the cells of a notebook as a module, which tasks import.

The module contains the statements of the executed cells that make the functions of the workflow
and everything that these use. Variables with plain values, such as numbers and lists, have the
values of the notebook. All other statements run again when a task imports the module.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import logging
import math
import os
import types
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from . import _formats, _place
from ._place import error
from ._run import Artifact, Run
from ._signature import Signed
from ._statements import Statement, executed

LIMIT = 64 << 10  # characters of a value in the module
_MODULE = "notebook_cells"
_HEADER = '"""The cells of a notebook that its workflow uses."""'
_MAGIC = ("get_ipython", "display")  # IPython adds them to the builtins


@dataclass(frozen=True)
class Cells:
    """A module of cells."""

    file: str
    text: str
    places: Mapping[str, Tuple[int, int]]  # first and last line of functions, by their names


def holds(function: Callable[..., Any]) -> bool:
    """Whether a function is defined in a cell."""
    shell = _place.shell()
    return shell is not None and getattr(inspect.unwrap(function), "__globals__", None) is shell.user_module.__dict__


def file_of() -> Path:
    """Return the path that the module would have: beside the notebook, with a name that no file has."""
    folder = Path(os.getcwd()).resolve()
    names = (f"{_MODULE}{number}" for number in ("", *range(2, 1000)))
    return next(folder / f"{name}.py" for name in names if not (folder / f"{name}.py").exists())


def write(function: Callable[..., Any], others: Iterable[Callable[..., Any]]) -> Optional[Cells]:
    """Return the module of a workflow function and of operators, or None if the workflow is not in a cell.

    Raises DefinitionError for what a task cannot run.
    """
    if not holds(function):
        return None
    found = list(dict.fromkeys(_name(one) for one in (function, *others) if holds(one)))
    return _Module(_place.shell(), _place.of_code(function.__code__)).write(found)


def _name(function: Callable[..., Any]) -> str:
    return function.__qualname__.partition(".")[0]


@dataclass
class _Chosen:
    """What the module contains: statements by position, and the values of variables after them."""

    statements: Set[int] = field(default_factory=set)
    values: Dict[int, Dict[str, str]] = field(default_factory=dict)  # -1 for those without a statement


class _Module:
    def __init__(self, shell: Any, place: str) -> None:
        self._shell, self._place = shell, place
        self._values: Dict[str, Any] = shell.user_module.__dict__
        self._statements = list(executed(shell, self._values))
        self._last: Dict[str, int] = {}
        for position, statement in enumerate(self._statements):
            self._last.update(dict.fromkeys(statement.binds, position))

    def write(self, functions: Sequence[str]) -> Cells:
        names = set(functions)
        while True:  # functions of the chosen statements use further names
            chosen = self._choose(names)
            more = names.union(*(self._statements[position].later for position in chosen.statements))
            if more == names:
                break
            names = more
        for position in sorted(chosen.statements):
            self._check(self._statements[position])
        return self._written(chosen, functions)

    def _choose(self, names: Set[str]) -> _Chosen:
        """Choose what makes the final values of names, from the last statement to the first."""
        chosen = _Chosen()
        needed = {name for name in names if self._known(name)}
        for position in reversed(range(len(self._statements))):
            statement = self._statements[position]
            hits = statement.binds & needed
            texts = {name: text for name in sorted(hits) for text in [self._text(name, position)] if text}
            if texts:
                chosen.values[position] = texts
                needed -= set(texts)
            if hits - set(texts):
                chosen.statements.add(position)
                needed -= statement.binds if statement.replaces else set()
                at_once = statement.now if statement.defines else statement.now | statement.later  # it may call its functions
                needed |= {name for name in self._used(at_once) if self._known(name)}
                for name in hits - set(texts):
                    self._check_value(name, position)
        for name in sorted(needed - set(self._last)):
            chosen.values.setdefault(-1, {})[name] = self._without_statement(name)
        return chosen

    def _known(self, name: str) -> bool:
        """Whether a name is a variable of the notebook, and not one of Python or of IPython."""
        hidden = name.startswith("__") and name.endswith("__") or name in _MAGIC
        return name in self._last or name in self._values and not hidden and not hasattr(builtins, name)

    def _used(self, names: Set[str]) -> Set[str]:
        """Return names with those that the functions of these names read."""
        found: Set[str] = set()
        waiting = set(names)
        while waiting:
            name = waiting.pop()
            found.add(name)
            for statement in self._statements:
                if name in statement.binds:
                    waiting |= statement.later - found
        return found

    def _text(self, name: str, position: int) -> str:
        """Return the final value of a variable as Python, "" if its statement must run instead."""
        statement = self._statements[position]
        if position != self._last[name] or statement.imports or statement.defines or name not in self._values:
            return ""
        return self._literal(name)

    def _literal(self, name: str) -> str:
        text = literal(self._values[name]) or ""
        if len(text) > LIMIT:
            raise error(f"{name} has {len(text):,} characters as a Python literal; values from notebook cells can have at most {LIMIT:,}: pass {name} as an argument", self._place)
        return text

    def _without_statement(self, name: str) -> str:
        text = self._literal(name)
        if not text:
            raise self._no_source(name)
        return text

    def _no_source(self, name: str) -> Exception:
        return error(
            f"{name} has no source in the executed cells, so tasks cannot use it: define it in a cell without a magic such as %%time, or in a file that the notebook imports",
            self._place,
        )

    def _check_value(self, name: str, position: int) -> None:
        """Raise DefinitionError for a value that its statement may not make again."""
        statement, value = self._statements[position], self._values.get(name)
        if statement.imports or name not in self._values or position != self._last[name]:
            return
        if statement.defines:
            self._check_function(name, statement, value)
            return
        if isinstance(value, (Run, Artifact)) or _is_data(type(value)):
            raise error(f"an operator or a function that it calls uses {name}, which is a {type(value).__name__}: pass it as an argument, because tasks cannot access the notebook's values", statement.place)
        if _is_code(value):
            return
        changed = next((s for s in self._statements[position + 1 :] if name in s.changes), None)
        if changed is not None:
            raise error(f"this changes {name}, and a task runs only the statement that creates it ({statement.place}): create {name} in one statement or in a function, or pass it as an argument", changed.place)

    def _check_function(self, name: str, statement: Statement, value: Any) -> None:
        function = inspect.unwrap(getattr(value, "function") if isinstance(value, Signed) else value) if callable(value) else None
        if not isinstance(function, types.FunctionType) or function.__globals__ is not self._values or "<locals>" in function.__qualname__:
            return  # a class, or what a decorator returned
        cell = _place.cell(function.__code__.co_filename)
        if not cell or function.__name__ != name:
            raise self._no_source(name)
        if cell != statement.cell:
            raise error(f"{name} is from cell {cell}, and the later cell {statement.cell} did not redefine it: run that cell so that it succeeds", self._place)

    def _check(self, statement: Statement) -> None:
        if statement.awaits:
            raise error("tasks cannot run this statement, because it uses await outside a function: await in an async operator, or pass the value as an argument", statement.place)
        for node in ast.walk(statement.node):
            if isinstance(node, ast.Name) and node.id in _MAGIC and node.id not in self._last:
                what = "display" if node.id == "display" else "an IPython command (% or !)"
                raise error(f"this is {what}, which is not available in tasks: move it to a separate cell, or replace it with Python code", f"cell {statement.cell}, line {node.lineno}")

    def _written(self, chosen: _Chosen, functions: Sequence[str]) -> Cells:
        lines = [_HEADER, ""]
        futures = {s.text: None for s in self._statements if isinstance(s.node, ast.ImportFrom) and s.node.module == "__future__"}
        lines += [*futures, ""] if futures else []
        places: Dict[str, Tuple[int, int]] = {}
        for position in sorted({*chosen.statements, *chosen.values}):
            if position in chosen.statements and self._statements[position].text not in futures:
                statement = self._statements[position]
                text = statement.text.split("\n")
                for name in statement.binds.intersection(functions) if statement.defines else ():
                    places[name] = (len(lines) + 1, len(lines) + len(text))
                lines += [*text, ""]
            lines += [f"{name} = {text}" for name, text in chosen.values.get(position, {}).items()]
            lines += [""] if position in chosen.values else []
        return Cells(file_of().name, "\n".join(lines).rstrip("\n") + "\n", places)


def literal(value: Any) -> Optional[str]:
    """Return a plain value as Python, or None if it is not plain."""
    kind = type(value)
    if kind in (bool, int, str, bytes, type(None)):
        return repr(value)
    if kind is float:
        return repr(value) if math.isfinite(value) else None
    if _formats.library(kind) == "numpy" and getattr(value, "shape", None) == () and hasattr(value, "item"):
        return literal(value.item())
    if kind not in (list, tuple, dict, set, frozenset):
        return None
    parts: List[Optional[str]] = [literal(one) for one in (value.items() if kind is dict else value)]
    texts = [part for part in parts if part is not None]
    if len(texts) < len(parts):
        return None
    if kind is dict:
        return "{" + ", ".join(f"{literal(key)}: {literal(one)}" for key, one in value.items()) + "}"
    if kind is list:
        return "[" + ", ".join(texts) + "]"
    if kind is tuple:
        return "(" + ", ".join(texts) + ("," if len(texts) == 1 else "") + ")"
    inner = ", ".join(sorted(texts))  # the same for every order of hashes
    return f"{kind.__name__}([{inner}])"


def _is_data(cls: type) -> bool:
    """Whether values of a class hold data, such as frames, arrays, tensors and models of torch."""
    return hasattr(cls, "__array__") or _formats.is_torch(cls) and hasattr(cls, "parameters")


def _is_code(value: Any) -> bool:
    kinds = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, Signed, logging.Logger)
    return isinstance(value, kinds) or typing.get_origin(value) is not None
