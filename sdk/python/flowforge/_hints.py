"""Questions about Python annotations that need no type of the registry."""

from __future__ import annotations

import collections.abc
import sys
import typing
from typing import Annotated, Any, Dict, List, Literal

from ._evaluate import UNIONS, evaluate


def is_instance(value: Any, annotation: Any) -> bool:
    """Whether a value is of the type that an annotation names."""
    origin = typing.get_origin(annotation) or annotation
    if origin is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if origin is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if origin is Literal:
        return value in typing.get_args(annotation)
    return isinstance(origin, type) and isinstance(value, origin)


def is_json(annotation: Any) -> bool:
    """Whether Python reads from JSON what it wrote, without a conversion."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return is_json(args[0])
    if annotation in (None, type(None), bool, int, float, str, Any, object, list, dict, List, Dict):
        return True
    if origin is Literal:
        return all(a is None or type(a) in (bool, int, str) for a in args)
    if origin in UNIONS or origin in (list, collections.abc.Sequence, collections.abc.Mapping, dict):
        return all(map(is_json, args)) and (origin not in (dict, collections.abc.Mapping) or args[0] is str)
    if isinstance(annotation, type) and issubclass(annotation, dict) and hasattr(annotation, "__total__"):
        return all(is_json(required(a)) for a in class_hints(annotation).values())
    return False


def class_hints(cls: Any) -> Dict[str, Any]:
    """Return the annotations of a class and its bases, evaluated."""
    hints: Dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        module = sys.modules.get(base.__module__)
        names = dict(vars(module)) if module else {}
        own = getattr(base, "__annotations__", {}) if base is cls or "__annotations__" in vars(base) or sys.version_info >= (3, 14) else {}
        if base is not object:
            hints.update({name: evaluate(text, names, {base.__name__: base}) for name, text in own.items()})
    return hints


def required(annotation: Any) -> Any:
    """Remove Required and NotRequired of a TypedDict."""
    if getattr(typing.get_origin(annotation), "_name", "") in ("Required", "NotRequired"):
        return typing.get_args(annotation)[0]
    return annotation


def may_be_absent(cls: Any, name: str, annotation: Any) -> bool:
    """Whether a key of a TypedDict may be left out. Texts of `from __future__ import annotations` hide NotRequired from the class."""
    marker = getattr(typing.get_origin(annotation), "_name", "")
    if marker in ("Required", "NotRequired"):
        return bool(marker == "NotRequired")
    return name in getattr(cls, "__optional_keys__", ())


def spelled(annotation: Any) -> str:
    """Return an annotation as an author writes it."""
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return annotation.__name__
    text = str(annotation)
    for noise in ("typing.", "collections.abc.", "flowforge._handles.", "builtins."):
        text = text.replace(noise, "")
    return text
