"""Reads Python annotations as types of the registry."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import enum
import inspect
import json
import os
import typing
import uuid
from typing import Annotated, Any, Callable, Dict, FrozenSet, List, Literal, Mapping, Optional, Tuple, Union

from . import _connection, _constraints, _custom, _foreign, _handles, _times
from ._evaluate import UNIONS
from ._hints import class_hints, is_instance, is_json, may_be_absent, required, spelled
from ._limits import constrain
from ._schema import JSON, Columns, Field, NotConstant, Type, entries, list_of, optional_of
from ._structs import Struct
from ._unmapped import Unmapped, of_field, reading

_LISTS = (list, collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Collection)
_SETS = (set, frozenset, collections.abc.Set)
_MAPS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_STREAMS = (collections.abc.Iterator, collections.abc.Iterable, collections.abc.Generator)


@dataclasses.dataclass(frozen=True)
class Read:
    """An annotation as a type, with its other properties."""

    type: Type
    hints: Dict[str, Any]
    storage: str = ""
    outputs: Tuple[str, ...] = ()
    description: str = ""
    rules: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def read(annotation: Any, pickle: bool = False) -> Read:
    """Return the type of an annotation and the hints in its Annotated. Raises Unmapped.

    With pickle, classes without a type become files of pickles.
    """
    metadata: List[Any] = []
    while typing.get_origin(annotation) is Annotated:
        annotation, *more = typing.get_args(annotation)
        metadata = more + metadata
    t = _plain(annotation, pickle)
    found = Read(t, {})
    for word in metadata:
        found = _apply(found, word)
    for word in metadata:
        if isinstance(word, _constraints.CustomType):  # after the limits, which belong to its base
            found = dataclasses.replace(found, type=_custom.declare(found.type, word))
    return found


def _apply(found: Read, word: Any) -> Read:
    if isinstance(word, _constraints.Hint):
        return dataclasses.replace(found, hints={**found.hints, **word.hints()})
    if isinstance(word, _constraints.Rule):
        return dataclasses.replace(found, rules={**found.rules, **word.rules()})
    if isinstance(word, _constraints.Storage):
        return dataclasses.replace(found, storage=word.name)
    if isinstance(word, _constraints.Outputs):
        return dataclasses.replace(found, outputs=word.names)
    if isinstance(word, Columns):
        return dataclasses.replace(found, type=found.type.with_params(columns=word))
    if isinstance(word, _constraints.Constraint):
        return dataclasses.replace(found, type=constrain(found.type, word.params()))
    if isinstance(word, str):
        return dataclasses.replace(found, description=word)
    params, description, hints = _foreign.params(word)
    return dataclasses.replace(
        found,
        type=constrain(found.type, params),
        description=description or found.description,
        hints={**found.hints, **hints},
    )


def _plain(annotation: Any, pickle: bool) -> Type:
    simple = _simple(annotation)
    if simple is not None:
        return simple
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return read(annotation, pickle).type
    if origin in UNIONS:
        return _union(args, pickle, annotation)
    if origin is Literal:
        return _literal(args)
    generic = _generic(annotation, origin or annotation, args, pickle)
    if generic is not None:
        return generic
    if isinstance(annotation, type):
        return _class(annotation, pickle)
    raise Unmapped(f"`{spelled(annotation)}` has no type. {_WAY_OUT}")


_WAY_OUT = (
    "Use a type such as int, str, list[float], a dataclass, Dataset, Model, Table or File, "
    "or Any for any JSON value"
)


# They exist before a warm process forks, so that tasks do not create them.
_SIMPLE: Dict[Any, Type] = {
    bool: Type("Boolean", python="bool"),
    int: Type("Integer", python="int"),
    float: Type("Float", python="float", decode=float),
    str: Type("String", python="str"),
    datetime.datetime: Type("DateTime", python="datetime", decode=_times.moment, encode=_times.moment_text),
    datetime.date: Type("Date", python="date", decode=datetime.date.fromisoformat, encode=_times.date_text),
    datetime.timedelta: Type("Duration", python="timedelta", decode=_times.duration, encode=_times.duration_text),
    uuid.UUID: Type("String", {"format": "uuid"}, python="UUID", decode=uuid.UUID, encode=str),
    _handles.Secret: Type("Secret", python="Secret", decode=_handles.Secret, encode=str),
    _connection.Connection: Type("Connection", python="Connection", decode=_connection.decode, encode=_connection.encode),
    bytes: Type("File", python="bytes", decode=lambda path: open(path, "rb").read(), encode=lambda value: _reference(value, "a bytes value")),
}


def _simple(annotation: Any) -> Optional[Type]:
    if annotation is None or annotation is type(None):
        return None
    if annotation is Any or annotation is object:
        return JSON
    try:
        return _SIMPLE.get(annotation)
    except TypeError:
        return None


def _union(args: Tuple[Any, ...], pickle: bool, annotation: Any) -> Type:
    rest = [a for a in args if a is not type(None)]
    if len(rest) == 1:
        inner = _plain(rest[0], pickle)
    else:
        inner = _variants(rest, pickle, annotation)
    return optional_of(inner) if len(rest) < len(args) else inner


def _variants(args: List[Any], pickle: bool, annotation: Any) -> Type:
    if {int, float} == set(args):
        return _plain(float, pickle)
    variants: List[Tuple[str, Type]] = []
    for arg in args:
        t = _plain(arg, pickle)
        tag = arg.__name__ if t.kind in ("Struct", "HyperparameterSet") else t.name
        if any(tag == other for other, _ in variants):
            tag += str(len(variants) + 1)
        variants.append((tag, t))

    def decode(value: Any) -> Any:
        if isinstance(value, dict) and "$type" in value:
            t = dict(variants)[value["$type"]]
            if t.kind in ("Struct", "HyperparameterSet"):
                return t.decode({k: v for k, v in value.items() if k != "$type"})
            return t.decode(value.get("value"))
        return value

    def encode(value: Any) -> Any:
        for (tag, t), arg in zip(variants, args):
            if is_instance(value, arg):
                inner = t.encode(value)
                if t.kind in ("Struct", "HyperparameterSet"):
                    return {"$type": tag, **inner}
                return {"$type": tag, "value": inner}
        return value

    return Type("Union", variants=tuple(variants), python=spelled(annotation), decode=decode, encode=encode)


def _literal(args: Tuple[Any, ...]) -> Type:
    options = tuple(a.value if isinstance(a, enum.Enum) else a for a in args if a is not None)
    t = Type("Enum", options=options, python=f"Literal[{', '.join(map(repr, options))}]")
    return optional_of(t) if len(options) < len(args) else t


def _generic(annotation: Any, origin: Any, args: Tuple[Any, ...], pickle: bool) -> Optional[Type]:
    if origin in _LISTS or origin in _SETS:
        elem = _plain(args[0], pickle) if args else JSON
        t = dataclasses.replace(list_of(elem), python=spelled(annotation))
        if origin in _SETS:
            t = dataclasses.replace(
                t.with_params(unique=True),
                decode=lambda v: origin_of(origin)(elem.decode(e) for e in v),
                encode=lambda v: _in_order([elem.encode(e) for e in entries(v)]),
            )
        return t
    if origin is tuple:
        return _tuple(annotation, args, pickle)
    if origin in _MAPS:
        return _map(annotation, args, pickle)
    if origin in _STREAMS:
        if args and not is_json(args[0]):
            raise Unmapped(
                f"the items of `{spelled(annotation)}` are not JSON values: items are passed as lines of JSON while they are produced. "
                "Use items such as int, str, a list, a dict or a TypedDict of these"
            )
        return Type("File", {"format": "jsonl"}, stream=True, python=spelled(annotation))
    return _foreign.data(origin) if args and isinstance(origin, type) else None


def _in_order(entries: List[Any]) -> List[Any]:
    """Return the entries of a set in an order that does not depend on their hashes."""
    try:
        return sorted(entries)
    except TypeError:  # objects and lists of JSON have no order
        return sorted(entries, key=lambda e: json.dumps(e, sort_keys=True, default=repr))


def origin_of(origin: Any) -> Any:
    return frozenset if origin is frozenset else set


def _tuple(annotation: Any, args: Tuple[Any, ...], pickle: bool) -> Type:
    if len(args) == 2 and args[1] is Ellipsis:
        elem = _plain(args[0], pickle)
        return dataclasses.replace(list_of(elem), python=spelled(annotation), decode=lambda v: tuple(elem.decode(e) for e in v))
    if not args:
        raise Unmapped("`tuple` needs the types of its values, such as tuple[int, str] or tuple[int, ...]")
    fields = tuple(Field(f"item_{i}", _plain(a, pickle)) for i, a in enumerate(args, 1))
    return Type(
        "Struct",
        fields=fields,
        python=spelled(annotation),
        decode=lambda v: tuple(f.type.decode(v[f.name]) for f in fields),
        build=lambda v: tuple(v[f.name] for f in fields),
        encode=lambda v: {f.name: f.type.encode(e) for f, e in zip(fields, v)},
    )


def _map(annotation: Any, args: Tuple[Any, ...], pickle: bool) -> Type:
    if not args:
        return dataclasses.replace(JSON, python=spelled(annotation))
    if args[0] is not str:
        raise Unmapped(f"`{spelled(annotation)}` has keys of type {spelled(args[0])}, but JSON keys are strings: use dict[str, …]")
    if args[1] is Any or args[1] is object:
        return dataclasses.replace(JSON, python=spelled(annotation))
    elem = _plain(args[1], pickle)
    return Type(
        "Map",
        elem=elem,
        python=spelled(annotation),
        decode=lambda v: {k: elem.decode(e) for k, e in v.items()},
        encode=lambda v: {k: elem.encode(e) for k, e in v.items()},
    )


def _class(cls: type, pickle: bool) -> Type:
    if issubclass(cls, enum.Enum):
        return _enum(cls)
    if issubclass(cls, _handles.File):
        t = Type(cls.kind, python=cls.__name__, decode=lambda v: _handle(cls, v), encode=_reference)
        return t if cls._custom_type is None else _custom.declare(t, cls._custom_type)
    if issubclass(cls, os.PathLike):
        return Type("File", python=cls.__name__, decode=cls, encode=_reference)
    if issubclass(cls, _handles.HyperparameterSet):
        if cls is _handles.HyperparameterSet:
            return Type("HyperparameterSet", python=cls.__name__, decode=lambda v: cls(**v), encode=lambda v: v.values())
        return dataclasses.replace(_struct(cls, _dataclass_fields(cls, pickle)), kind="HyperparameterSet")
    with reading(cls):
        fields = _fields(cls, pickle)
        absent = _absent_keys(cls, fields) if fields is not None else frozenset()
    if fields is not None:
        return _struct(cls, fields, absent)
    library = _foreign.data(cls)
    if library is not None:
        return library
    if _foreign.is_figure(cls) and not pickle:
        raise Unmapped(f"`{cls.__name__}` has no type. Use Image, and return Image(figure)")
    if pickle:
        return Type("File", {"format": "pickle"}, python=cls.__name__, decode=lambda path: _handles.read(_path(path), True))
    raise Unmapped(f"`{cls.__name__}` has no type. {_WAY_OUT}; or set pickle=True on the operator to pass it between operators")


def _enum(cls: Any) -> Type:
    for member in cls:
        if not isinstance(member.value, (str, int, float)):
            raise Unmapped(f"`{cls.__name__}.{member.name}` is {member.value!r}, but a form can offer only strings, numbers and booleans: give each member such a value")
    return Type("Enum", options=tuple(m.value for m in cls), python=cls.__name__, decode=cls, encode=lambda v: v.value if isinstance(v, enum.Enum) else v)


def _path(value: Any) -> Any:
    from pathlib import Path

    return Path(value)


def _handle(cls: Any, value: Any) -> Any:
    return cls(_path(value)) if isinstance(value, str) and os.path.isabs(value) else cls(value)


def _reference(value: Any, what: str = "a local file") -> Any:
    """Return the reference in a handle. Local files and bytes must be uploaded first."""
    if isinstance(value, _handles.File) and value.reference:
        return value.reference
    if isinstance(value, str) and not os.path.isabs(value):
        return value
    if isinstance(value, dict):
        return value
    raise NotConstant(f"{what} cannot be part of a definition; make it an input of the workflow, and set it at launch")


def _fields(cls: Any, pickle: bool) -> Optional[Tuple[Field, ...]]:
    if dataclasses.is_dataclass(cls):
        return _dataclass_fields(cls, pickle)
    if _foreign.is_pydantic(cls):
        return _pydantic_fields(cls, pickle)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return _hinted_fields(cls, cls._fields, cls._field_defaults, pickle)
    if issubclass(cls, dict) and hasattr(cls, "__total__"):
        return _hinted_fields(cls, tuple(cls.__annotations__), {}, pickle)
    return None


def _absent_keys(cls: Any, fields: Tuple[Field, ...]) -> FrozenSet[str]:
    """Return the keys of a TypedDict for which null means that the caller sent no value."""
    if not issubclass(cls, dict):
        return frozenset()
    hints = class_hints(cls)
    return frozenset(f.name for f in fields if may_be_absent(cls, f.name, hints[f.name]) and not read(required(hints[f.name]), True).type.optional)


def _hinted_fields(cls: Any, names: Tuple[str, ...], defaults: Mapping[str, Any], pickle: bool) -> Tuple[Field, ...]:
    hints = class_hints(cls)
    fields = []
    for name in names:
        with of_field(cls, name):
            found = read(required(hints[name]), pickle)
        t = optional_of(found.type) if may_be_absent(cls, name, hints[name]) else found.type
        fields.append(_field(name, t, found, defaults.get(name, dataclasses.MISSING)))
    return tuple(fields)


def _dataclass_fields(cls: Any, pickle: bool) -> Tuple[Field, ...]:
    hints = class_hints(cls)
    fields = []
    for name, argument in inspect.signature(cls).parameters.items():
        if name in hints and name not in {f.name for f in dataclasses.fields(cls)} and argument.default is argument.empty:
            raise Unmapped(f"the InitVar {name!r} of `{cls.__name__}` is not kept, so a task could not create the value again: make it a field, or give it a default")
    for f in dataclasses.fields(cls):
        if not f.init:  # __post_init__ computes it again
            continue
        default = f.default
        if f.default_factory is not dataclasses.MISSING:
            default = f.default_factory()
        with of_field(cls, f.name):
            found = read(hints[f.name], pickle)
        fields.append(_field(f.name, found.type, found, default))
    return tuple(fields)


def _pydantic_fields(cls: Any, pickle: bool) -> Tuple[Field, ...]:
    fields = []
    for name, info in cls.model_fields.items():
        with of_field(cls, name):
            found = _apply(read(info.annotation, pickle), info)
        default = dataclasses.MISSING if info.is_required() else info.get_default(call_default_factory=True)
        fields.append(_field(name, found.type, found, default))
    return tuple(fields)


def _field(name: str, t: Type, found: Read, default: Any) -> Field:
    expressions = [key for key, rule in found.rules.items() if isinstance(rule, str)]
    if expressions:
        raise Unmapped(f"the field {name!r} has a rule ({', '.join(expressions)}); only parameters of workflows have rules")
    if default is dataclasses.MISSING:
        return Field(name, t, description=found.description, hints=found.hints, rules=found.rules)
    return Field(name, t, t.encode(default), True, found.description, found.hints, found.rules)


def _struct(cls: Any, fields: Tuple[Field, ...], absent: FrozenSet[str] = frozenset()) -> Type:
    """Return the type of a class. Keys in absent are left out if they have no value."""
    extra = _extra(cls)
    if not fields and extra is None:
        raise Unmapped(f"`{cls.__name__}` has no fields")
    of = Struct(cls, fields, absent, extra)
    return Type("Struct", {"extra": True} if extra else {}, fields=fields, python=cls.__name__, decode=of.decode, encode=of.encode, build=of.build)


def _extra(cls: Any) -> Optional[Type]:
    """Return the type of the undeclared fields that instances keep, or None if they keep none."""
    annotation = _foreign.extra(cls)
    if annotation is None:
        return None
    t = _plain(annotation, False)
    if t.holds_blob or t.stream:
        raise Unmapped(f"the extra fields of `{cls.__name__}` are `{t.shown}`, but only values of JSON can have names that are not declared")
    return t
