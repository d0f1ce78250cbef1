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
import sys
import types
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from . import _formats, _place
from ._place import error
from ._run import Artifact, Run
from ._signature import Signed

LIMIT = 64 << 10  # characters of a value in the module
_MODULE = "notebook_cells"
_HEADER = '"""The cells of a notebook that its workflow uses."""'
_MAGIC = ("get_ipython", "display")  # IPython adds them to the builtins
_STORES = ("STORE_NAME", "STORE_GLOBAL")
_LOADS = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")
_AT_ONCE = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<generic parameters", "__annotate__")  # code that runs with its statement


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
class _Statement:
    """A statement of a cell, and the names that it binds and reads."""

    cell: int
    node: ast.stmt
    text: str
    binds: Set[str]
    now: Set[str]  # names that it reads when it runs
    later: Set[str]  # names that its functions read when they run
    changes: Set[str]  # names whose values it changes
    awaits: bool

    @property
    def place(self) -> str:
        return f"cell {self.cell}, line {self.node.lineno}"

    @property
    def replaces(self) -> bool:
        """Whether its names have no earlier values afterwards."""
        return isinstance(self.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)) and not self.star

    @property
    def star(self) -> bool:
        return isinstance(self.node, ast.ImportFrom) and self.node.names[0].name == "*"

    @property
    def imports(self) -> bool:
        return isinstance(self.node, (ast.Import, ast.ImportFrom))

    @property
    def defines(self) -> bool:
        return isinstance(self.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))


@dataclass
class _Chosen:
    """What the module contains: statements by position, and the values of variables after them."""

    statements: Set[int] = field(default_factory=set)
    values: Dict[int, Dict[str, str]] = field(default_factory=dict)  # -1 for those without a statement


class _Module:
    def __init__(self, shell: Any, place: str) -> None:
        self._shell, self._place = shell, place
        self._values: Dict[str, Any] = shell.user_module.__dict__
        self._statements = list(_executed(shell, self._values))
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
            raise error(f"{name} has {len(text):,} characters as Python, and the cells of a task can have values of at most {LIMIT:,}: pass {name} as an argument", self._place)
        return text

    def _without_statement(self, name: str) -> str:
        text = self._literal(name)
        if not text:
            raise self._no_source(name)
        return text

    def _no_source(self, name: str) -> Exception:
        return error(
            f"{name} has no source in the executed cells, so tasks cannot have it: define it in a cell without a magic such as %%time, or in a file that the notebook imports",
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
            raise error(f"an operator or a function that it calls uses {name}, which is a {type(value).__name__}: pass it as an argument, because tasks do not have the values of the notebook", statement.place)
        if _is_code(value):
            return
        changed = next((s for s in self._statements[position + 1 :] if name in s.changes), None)
        if changed is not None:
            raise error(f"this changes {name}, and a task runs only the statement that creates it ({statement.place}): create {name} in one statement or in a function, or pass it as an argument", changed.place)

    def _check_function(self, name: str, statement: _Statement, value: Any) -> None:
        function = inspect.unwrap(getattr(value, "function") if isinstance(value, Signed) else value) if callable(value) else None
        if not isinstance(function, types.FunctionType) or function.__globals__ is not self._values or "<locals>" in function.__qualname__:
            return  # a class, or what a decorator returned
        cell = _place.cell(function.__code__.co_filename)
        if not cell or function.__name__ != name:
            raise self._no_source(name)
        if cell != statement.cell:
            raise error(f"{name} is from cell {cell}, and the later cell {statement.cell} did not define it again: run that cell without an error", self._place)

    def _check(self, statement: _Statement) -> None:
        if statement.awaits:
            raise error("tasks cannot run this statement, because it uses await outside a function: await in an async operator, or pass the value as an argument", statement.place)
        for node in ast.walk(statement.node):
            if isinstance(node, ast.Name) and node.id in _MAGIC and node.id not in self._last:
                what = "display" if node.id == "display" else "a command of IPython (% or !)"
                raise error(f"this is {what}, which tasks do not have: move it to a cell of its own, or replace it by Python", f"cell {statement.cell}, line {node.lineno}")

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


def _executed(shell: Any, values: Mapping[str, Any]) -> Iterator[_Statement]:
    """Iterate over the statements that ran, in their order."""
    cells = list(enumerate(shell.history_manager.input_hist_parsed))[1:]
    line = _current_line(values, shell.execution_count)
    for number, source in cells:
        try:
            body = ast.parse(source).body
        except (SyntaxError, ValueError):  # it did not run
            continue
        for node in body:
            if number == shell.execution_count and line and (node.end_lineno or 0) >= line:
                return
            statement = _statement(number, source, node, values)
            if statement is not None:
                yield statement


def _current_line(values: Mapping[str, Any], cell: int) -> int:
    """Return the line of the current cell that is running, or 0."""
    frame: Optional[types.FrameType] = sys._getframe(1)
    found = 0
    while frame is not None:
        code = frame.f_code
        if frame.f_globals is values and code.co_name.startswith("<") and _place.cell(code.co_filename) == cell:
            found = frame.f_lineno
        frame = frame.f_back
    return found


def _statement(cell: int, source: str, node: ast.stmt, values: Mapping[str, Any]) -> Optional[_Statement]:
    try:
        code = compile(ast.Module([node], []), "<cell>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    binds, now, later = _names(code)
    if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
        binds = _of_star(node, values)
    now |= _of_texts(node, values)
    return _Statement(cell, node, _source(source, node), binds, now, later, set(_changes(node)), bool(code.co_flags & inspect.CO_COROUTINE))


def _source(source: str, node: ast.stmt) -> str:
    decorators = getattr(node, "decorator_list", None)
    if not decorators:
        return ast.get_source_segment(source, node) or ""
    return "\n".join(source.split("\n")[min(d.lineno for d in decorators) - 1 : node.end_lineno])


def _names(code: types.CodeType) -> Tuple[Set[str], Set[str], Set[str]]:
    """Return the names that code binds, those that it reads, and those that its functions read."""
    import dis

    binds: Set[str] = set()
    now: Set[str] = set()
    later: Set[str] = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in _STORES:
            binds.add(instruction.argval)
        elif instruction.opname in _LOADS:
            now.add(instruction.argval)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            own, read, deep = _names(inner)
            if not inner.co_flags & inspect.CO_OPTIMIZED:  # the body of a class
                now |= read - own
            elif inner.co_name.startswith(_AT_ONCE):
                now |= read
            else:
                later |= read
            later |= deep
    return binds, now, later


def _of_star(node: ast.ImportFrom, values: Mapping[str, Any]) -> Set[str]:
    """Return the names that `from module import *` binds."""
    module = sys.modules.get(node.module or "")
    if module is None:
        return set()
    public = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    return {name for name in public if name in values and values[name] is getattr(module, name, None)}


def _of_texts(node: ast.stmt, values: Mapping[str, Any]) -> Set[str]:
    """Return the types that annotations name in strings, such as "Point" in List["Point"]."""
    found: Set[str] = set()
    for one in ast.walk(node):
        for annotation in (getattr(one, "annotation", None), getattr(one, "returns", None)):
            for part in ast.walk(annotation) if isinstance(annotation, ast.expr) else ():
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    found |= _types_in(part.value, values)
    return found


def _types_in(text: str, values: Mapping[str, Any]) -> Set[str]:
    try:
        names = {one.id for one in ast.walk(ast.parse(text.strip(), mode="eval")) if isinstance(one, ast.Name)}
    except (SyntaxError, ValueError):  # an option of Literal
        return set()
    return {name for name in names if isinstance(values.get(name), (type, types.ModuleType)) or typing.get_origin(values.get(name)) is not None}


def _changes(node: ast.AST) -> Iterator[str]:
    """Yield the names whose values a statement changes: x[…] = …, x.y = … and x.method(…)."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        return
    targets: List[Any] = []
    if isinstance(node, (ast.Assign, ast.Delete)):
        targets = list(node.targets)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets = [node.target]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        targets = [node.value.func]
    for target in targets:
        if isinstance(target, (ast.Subscript, ast.Attribute)):
            yield from _root(target)
    for child in ast.iter_child_nodes(node):
        yield from _changes(child)


def _root(node: ast.expr) -> Iterator[str]:
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Name):
        yield node.id
