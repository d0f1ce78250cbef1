"""Expressions over operands: values that exist when the workflow runs, and constants.

The type of a result follows from those of the operands. Operands that the server could not
compute with are errors that name both.
"""

from __future__ import annotations

import enum
from typing import Any, Tuple, Union

from ._graph import Value, constant_text, expression
from ._place import error
from ._schema import JSON, Type, article

BOOL = Type("Boolean", python="bool")
INT = Type("Integer", python="int")
FLOAT = Type("Float", python="float")
STR = Type("String", python="str")


def compared(operator: str, left: Any, right: Any) -> Value:
    """Return the condition that compares or combines two operands."""
    return expression(BOOL, "(", _written(left), f" {operator} ", _written(right), ")")


def combined(operator: str, left: Any, right: Any) -> Value:
    """Return whether both conditions hold, or one of them."""
    for operand in (left, right):
        check_condition(operand)
    return compared(operator, left, right)


def computed(operator: str, left: Any, right: Any) -> Value:
    """Return the result of + - * / or **."""
    kinds = _kind(left), _kind(right)
    if "JSON" in kinds and "" not in kinds:
        result = JSON
    elif kinds == ("String", "String") and operator == "+":
        result = STR
    elif kinds == ("Integer", "Integer") and operator not in ("/", "**"):
        result = INT
    elif set(kinds) <= {"Integer", "Float"}:
        result = FLOAT
    else:
        raise error(f"cannot combine {_described(left)} and {_described(right)} with {operator} while the workflow is defined; compute the value in an operator")
    return expression(result, "(", _written(left), f" {operator} ", _written(right), ")")


def modulo(left: Any, right: Any) -> Value:
    """Return left % right with the sign of right, as in Python; the server's % has the sign of left."""
    for operand in (left, right):
        if _kind(operand) not in ("Integer", "JSON"):
            raise error(f"% works with integers while the workflow is defined, and {_label(operand)} is {article(type_of(operand))}; compute it in an operator")
    result = JSON if "JSON" in (_kind(left), _kind(right)) else INT
    a, b = _written(left), _written(right)
    return expression(result, "(", "(", a, " % ", b, " + ", b, ") % ", b, ")")


def negative(value: Value) -> Value:
    """Return -value."""
    results = {"Integer": INT, "Float": FLOAT, "JSON": JSON}
    kind = _kind(value)
    if kind not in results:
        raise error(f"- works with numbers while the workflow is defined, and {value.label} is {article(value.type)}; compute the value in an operator")
    return expression(results[kind], "(", "-", value, ")")


def negation(value: Value) -> Value:
    """Return the opposite of a condition."""
    if value.parts and value.parts[0] == "(":
        return expression(BOOL, "!", value)
    return expression(BOOL, "!(", value, ")")


def check_condition(operand: Any) -> None:
    """Raise DefinitionError for an operand that is neither true nor false."""
    t = type_of(operand)
    if t.kind not in ("Boolean", "JSON"):
        shown = _label(operand)
        raise error(f"& and | combine conditions, and {shown} is {article(t)}, not true or false; compare it first, such as {shown} > 0")


def type_of(operand: Any) -> Type:
    """Return the type of an operand. Constants without a type of the registry have only a Python name."""
    if isinstance(operand, Value):
        return operand.type
    value = operand.value if isinstance(operand, enum.Enum) else operand
    known: Tuple[Tuple[type, Type], ...] = ((bool, BOOL), (int, INT), (float, FLOAT), (str, STR))
    found = next((t for of, t in known if isinstance(value, of)), None)
    return found or Type("None", python=type(value).__name__ if value is not None else "None")


def _kind(operand: Any) -> str:
    """Return with what kind the server computes: String, Integer, Float or JSON; "" if it cannot."""
    t = type_of(operand)
    if t.kind == "Enum":
        kinds = {type_of(option).kind for option in t.options}
        return "Float" if kinds == {"Integer", "Float"} else _computable(kinds.pop()) if len(kinds) == 1 else ""
    if t.kind == "JSON" and t.python not in ("", "Any", "object"):
        return ""  # a dict or a list of unknown values
    return _computable(t.kind)


def _computable(kind: str) -> str:
    return "String" if kind == "Text" else kind if kind in ("String", "Integer", "Float", "JSON") else ""


def _written(operand: Any) -> Union[str, Value]:
    return operand if isinstance(operand, Value) else constant_text(operand)


def _label(operand: Any) -> str:
    return operand.label if isinstance(operand, Value) else repr(operand)


def _described(operand: Any) -> str:
    return f"{_label(operand)} (`{type_of(operand).shown}`)"
