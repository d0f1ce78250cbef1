"""Evaluates annotations that are strings, as `from __future__ import annotations` leaves them."""

from __future__ import annotations

import ast
import sys
import typing
from typing import Any, Dict, Mapping


def evaluate(annotation: Any, names: Mapping[str, Any], more: Mapping[str, Any]) -> Any:
    """Return the object that an annotation means. Raises NameError for an unknown name."""
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        return annotation
    tree = ast.parse(annotation.strip(), mode="eval")
    scope: Dict[str, Any] = {**names, **more}
    if sys.version_info < (3, 10):
        # Python 3.9 cannot evaluate int | None.
        tree = ast.fix_missing_locations(_Unions().visit(tree))
        scope["__union"] = typing.Union
    return eval(compile(tree, "<annotation>", "eval"), scope)


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
