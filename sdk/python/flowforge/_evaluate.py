"""Evaluates annotations that are strings or contain some, as `from __future__ import annotations` leaves them."""

from __future__ import annotations

import ast
import sys
import typing
from typing import Any, Dict, Mapping, Tuple

UNIONS: Tuple[Any, ...] = (typing.Union,)
if sys.version_info >= (3, 10):
    import types

    UNIONS = (typing.Union, types.UnionType)


def evaluate(annotation: Any, names: Mapping[str, Any], more: Mapping[str, Any]) -> Any:
    """Return the object that an annotation means. Raises NameError for an unknown name."""
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        return _with_parts(annotation, names, more)
    tree = ast.parse(annotation.strip(), mode="eval")
    scope: Dict[str, Any] = {**names, **more}
    if sys.version_info < (3, 10):
        # Python 3.9 cannot evaluate int | None.
        tree = ast.fix_missing_locations(_Unions().visit(tree))
        scope["__union"] = typing.Union
    return _with_parts(eval(compile(tree, "<annotation>", "eval"), scope), names, more)


def _with_parts(annotation: Any, names: Mapping[str, Any], more: Mapping[str, Any]) -> Any:
    """Evaluate the strings in an annotation, such as List["Fit"]."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if not args or origin is typing.Literal:
        return annotation
    count = 1 if origin is typing.Annotated else len(args)
    found = tuple(evaluate(part, names, more) if position < count else part for position, part in enumerate(args))
    if all(new is old for new, old in zip(found, args)):
        return annotation
    make: Any = typing.Union if origin in UNIONS else origin
    plain = origin is typing.Annotated or origin in UNIONS or not hasattr(annotation, "copy_with")
    return make[found] if plain else annotation.copy_with(found)


class _Unions(ast.NodeTransformer):
    """Writes A | B as Union[A, B]."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.BitOr):
            return node
        pair = ast.Tuple(elts=[node.left, node.right], ctx=ast.Load())
        return ast.Subscript(value=ast.Name(id="__union", ctx=ast.Load()), slice=pair, ctx=ast.Load())

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return node
