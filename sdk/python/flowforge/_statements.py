"""The statements of the executed cells of a notebook, and the names that they bind, read and change."""

from __future__ import annotations

import ast
import inspect
import sys
import types
import typing
from dataclasses import dataclass
from typing import Any, Iterator, List, Mapping, Optional, Set, Tuple

from . import _place

_STORES = ("STORE_NAME", "STORE_GLOBAL")
_LOADS = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")
_AT_ONCE = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<generic parameters", "__annotate__")  # code that runs with its statement


@dataclass
class Statement:
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


def executed(shell: Any, values: Mapping[str, Any]) -> Iterator[Statement]:
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


def _statement(cell: int, source: str, node: ast.stmt, values: Mapping[str, Any]) -> Optional[Statement]:
    try:
        code = compile(ast.Module([node], []), "<cell>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    binds, now, later = _names(code)
    if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
        binds = _of_star(node, values)
    now |= _of_texts(node, values)
    return Statement(cell, node, _source(source, node), binds, now, later, set(_changes(node)), bool(code.co_flags & inspect.CO_COROUTINE))


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
