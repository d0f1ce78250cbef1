"""The types of the registry: their expressions, and which values fit where.

The server checks every definition completely. The checks here are those that a Python
author needs at the line of the error.
"""

from __future__ import annotations

import datetime
import enum
import json
import math
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

from ._place import error

# Kinds whose values are files or folders.
BLOBS = frozenset({"Dataset", "Model", "Table", "File", "Directory", "Image", "Report", "FeatureSet"})

_ALSO = {  # other kinds whose values fit
    "Dataset": {"Table"},
    "Table": {"Dataset"},
    "File": {"Dataset", "Model", "Image", "Table", "Report"},
    "Directory": {"Dataset", "Model"},
    "String": {"Text"},
    "Text": {"String"},
    "Float": {"Integer"},
    "Map": {"Metrics"},
    "Metrics": {"Map"},
}


class NotConstant(ValueError):
    """A value of the right type cannot be part of a definition."""


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Field:
    """One field of a Struct."""

    name: str
    type: "Type"
    default: Any = None  # as JSON
    has_default: bool = False
    description: str = ""
    hints: Dict[str, Any] = field(default_factory=dict)  # for the form
    rules: Mapping[str, Any] = field(default_factory=dict)  # its options


@dataclass(frozen=True)
class Type:
    """A type of the registry, with the conversions between JSON and Python values."""

    kind: str
    params: Dict[str, Any] = field(default_factory=dict)
    elem: Optional["Type"] = None
    fields: Tuple[Field, ...] = ()
    options: Tuple[Any, ...] = ()  # of an Enum, as JSON
    variants: Tuple[Tuple[str, "Type"], ...] = ()
    custom: str = ""  # name of a type that an administrator registered
    python: str = ""  # the annotation as the author wrote it
    decode: Callable[[Any], Any] = field(default=_same, compare=False, repr=False)
    encode: Callable[[Any], Any] = field(default=_same, compare=False, repr=False)
    build: Optional[Callable[[Dict[str, Any]], Any]] = field(default=None, compare=False, repr=False)  # of its fields
    stream: bool = False  # a file of JSON lines that is read item by item

    @property
    def blob(self) -> bool:
        """Whether a value is a file or a folder."""
        return self.kind in BLOBS

    @property
    def optional(self) -> bool:
        return self.kind == "Optional"

    @property
    def inner(self) -> "Type":
        """The type of a value that is there: T of Optional<T>, otherwise this type."""
        return self.elem if self.optional and self.elem is not None else self

    @property
    def shown(self) -> str:
        """The type as the author wrote it."""
        return self.python or self.text()

    @property
    def low(self) -> Tuple[Any, bool]:
        """The lower limit, or None, and whether it is exclusive."""
        found = self.params.get("exclusive_min")
        return (found, True) if found is not None else (self.params.get("min"), False)

    @property
    def high(self) -> Tuple[Any, bool]:
        """The upper limit, or None, and whether it is exclusive."""
        found = self.params.get("exclusive_max")
        return (found, True) if found is not None else (self.params.get("max"), False)

    @property
    def extra(self) -> bool:
        """Whether a Struct keeps fields that it does not declare."""
        return bool(self.params.get("extra"))

    @property
    def name(self) -> str:
        return self.custom or self.kind

    @property
    def holds_blob(self) -> bool:
        """Whether a value contains a file, at any depth."""
        inner = [t for t in (self.elem, *(f.type for f in self.fields), *(v for _, v in self.variants)) if t]
        return self.blob or any(t.holds_blob for t in inner)

    def text(self) -> str:
        """Return the expression, such as Integer(min=1, max=200)."""
        if self.custom:
            return self.custom
        return self.kind + self._parts() + self._arguments() + self._braces()

    def _parts(self) -> str:
        if self.variants:
            return "<" + " | ".join(f"{tag}: {t.text()}" for tag, t in self.variants) + ">"
        if self.elem is None:
            return ""
        return f"<{'String, ' if self.kind == 'Map' else ''}{self.elem.text()}>"

    def _arguments(self) -> str:
        given = [literal(o) for o in self.options]
        given += [f"{name}={literal(value)}" for name, value in self.params.items() if value is not None]
        return f"({', '.join(given)})" if given else ""

    def _braces(self) -> str:
        if not self.fields:
            return ""
        return "{" + ", ".join(map(_field_text, self.fields)) + "}"

    def with_params(self, **params: Any) -> "Type":
        return replace(self, params={**self.params, **params})

    def field_named(self, name: str) -> Optional[Field]:
        return next((f for f in self.fields if f.name == name), None)


def _field_text(f: Field) -> str:
    text = f"{f.name}: {f.type.text()}"
    if f.has_default and not (f.default is None and f.type.optional):
        text += f" = {literal(f.default)}"
    attributes = {**({"description": f.description} if f.description else {}), **f.rules}
    return text + (" @" + literal(attributes) if attributes else "")


def literal(value: Any) -> str:
    """Write a JSON value as part of an expression."""
    if isinstance(value, Columns):
        return value.text()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k, ensure_ascii=False)}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, enum.Enum):
        return literal(value.value)
    if isinstance(value, float) and not math.isfinite(value):
        raise error(f"{value} cannot be part of a definition, because JSON has no such number; use None or a large number")
    try:
        return json.dumps(value, ensure_ascii=False)
    except TypeError:
        raise error(f"{value!r} cannot be part of a definition, because it is not a JSON value; pass its parts as separate arguments, or create it in an operator") from None


class Columns:
    """Columns that a Dataset or Table must have: Annotated[Dataset, Columns(label="Integer")].

    Positional names are columns of any type. The type of a column is a FlowForge data type,
    such as "Integer" or "Tensor[28, 28]", or one of the Python types bool, int, float, str,
    date, datetime, timedelta and Any. Raises DefinitionError for any other type.
    """

    def __init__(self, *names: str, **types: Any) -> None:
        self.types: Dict[str, str] = {**{name: "Any" for name in names}, **{name: _data_type(name, of) for name, of in types.items()}}

    def text(self) -> str:
        return "[" + ", ".join(f"{_column(name)}: {of}" for name, of in self.types.items()) + "]"

    def __repr__(self) -> str:
        return f"Columns({self.text()})"


_DATA_TYPES: Dict[Any, str] = {
    bool: "Boolean",
    int: "Integer",
    float: "Float",
    str: "String",
    datetime.date: "Date",
    datetime.datetime: "DateTime",
    datetime.timedelta: "Duration",
    Any: "Any",
}


def _data_type(column: str, of: Any) -> str:
    if isinstance(of, str):
        return of
    found = _DATA_TYPES.get(of) if isinstance(of, type) or of is Any else None
    if found is None:
        known = ", ".join(getattr(t, "__name__", "Any") for t in _DATA_TYPES)
        raise error(f'Columns({column}={of!r}): this has no data type; use {known}, or the name of a data type, such as {column}="Integer"')
    return found


def _column(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name)


JSON = Type("JSON", python="Any")


def list_of(elem: Type) -> Type:
    """Return the type of lists of elem."""
    return Type(
        "List",
        elem=elem,
        python=f"list[{elem.shown}]",
        decode=lambda v: [elem.decode(e) for e in v],
        encode=lambda v: [elem.encode(e) for e in entries(v)],
    )


def entries(value: Any) -> Any:
    """Return what a list is made of. Raises ValueError for strings and dicts, whose characters or keys would become its entries."""
    if isinstance(value, (str, bytes, Mapping)):
        raise ValueError("put it in brackets to make it the only entry" if isinstance(value, str) else f"a {type(value).__name__} is not a list")
    return value


def optional_of(elem: Type) -> Type:
    """Return the type of values that may be absent."""
    if elem.optional:
        return elem
    return Type(
        "Optional",
        elem=elem,
        python=f"Optional[{elem.shown}]",
        decode=lambda v: None if v is None else elem.decode(v),
        encode=lambda v: None if v is None else elem.encode(v),
    )


def mismatch(given: Type, expected: Type) -> str:
    """Return why a value of type given cannot be used as expected, or "" if it can."""
    if expected.custom:
        return "" if given.custom == expected.custom else f"{_shown(given)} is not {_shown(expected)}"
    if expected.kind == "JSON":
        return f"{_shown(given)} is a file, not a value" if given.blob else ""
    if expected.optional:
        assert expected.elem is not None
        return mismatch(given.inner, expected.elem)
    if given.optional:
        return f"the value may be absent ({_shown(given)}), but {_shown(expected)} is required"
    if expected.kind == "Union":
        if given.kind == "Union":
            return next((why for _, t in given.variants for why in [mismatch(t, expected)] if why), "")
        fits = any(not mismatch(given, t) for _, t in expected.variants)
        return "" if fits else f"{_shown(given)} is none of the types of {_shown(expected)}"
    if given.kind == "Enum":
        return _enum_mismatch(given, expected)
    if given.kind != expected.kind and given.kind not in _ALSO.get(expected.kind, ()):
        return "" if given.kind == "JSON" and given.python == "Any" else f"{_shown(given)} is not {article(expected)}"
    return _inner_mismatch(given, expected)


def _enum_mismatch(given: Type, expected: Type) -> str:
    accepts: Dict[str, Tuple[type, ...]] = {"String": (str,), "Text": (str,), "Integer": (int,), "Float": (int, float)}
    for option in given.options:
        if expected.kind == "Enum":
            fits = option in expected.options
        else:
            fits = isinstance(option, accepts.get(expected.kind, ()))
        if not fits:
            return f"the option {literal(option)} does not fit {_shown(expected)}"
    return ""


def _inner_mismatch(given: Type, expected: Type) -> str:
    if given.elem and expected.elem:
        why = mismatch(given.elem, expected.elem)
        return f"its {'entries' if expected.kind == 'List' else 'values'}: {why}" if why else ""
    if expected.fields or expected.extra:
        return _fields_mismatch(given, expected)
    low, above = expected.low
    high, below = expected.high
    (least, more), (most, less) = given.low, given.high
    if isinstance(low, (int, float)) and isinstance(most, (int, float)) and (most < low or most == low and (above or less)):
        return f"it is {'less than' if less else 'at most'} {most}, but {'more than' if above else 'at least'} {low} is required"
    if isinstance(high, (int, float)) and isinstance(least, (int, float)) and (least > high or least == high and (below or more)):
        return f"it is {'more than' if more else 'at least'} {least}, but {'only less than' if below else 'at most'} {high} is allowed"
    a, b = expected.params.get("format"), given.params.get("format")
    if a and b and a != b:
        return f"its format is {b}, but {a} is required"
    return ""


def _fields_mismatch(given: Type, expected: Type) -> str:
    if given.extra and not expected.extra:
        return f"{_shown(given)} keeps extra fields, which {_shown(expected)} does not have"
    for f in given.fields:
        if expected.field_named(f.name) is None:
            if expected.extra:
                why = mismatch(f.type, JSON)
                if why:
                    return f"its field {f.name}: {why}"
                continue
            return f"{_shown(expected)} has no field {f.name}"
    for f in expected.fields:
        mine = given.field_named(f.name)
        if mine is None:
            if not f.has_default and not f.type.optional:
                return f"its field {f.name} is missing"
            continue
        why = mismatch(mine.type, f.type)
        if why:
            return f"its field {f.name}: {why}"
    return ""


def _shown(t: Type) -> str:
    return f"`{t.shown}`"


def article(t: Type) -> str:
    """Return a type with its article, such as "an `int`"."""
    name = t.shown
    return f"{'an' if name[:1] in 'AEIOUaeio' and not name.startswith('Un') or name == 'ndarray' else 'a'} `{name}`"
