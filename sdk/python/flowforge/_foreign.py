"""Types and constraints of other libraries. None of them is imported here."""

from __future__ import annotations

import typing
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Tuple

from . import _formats, _handles
from ._formats import library
from ._hints import class_hints
from ._schema import Type


def is_pydantic(cls: type) -> bool:
    """Whether cls is a model of pydantic 2."""
    return any(library(base) == "pydantic" and base.__name__ == "BaseModel" for base in cls.__mro__)


def keywords(cls: Any) -> Dict[str, str]:
    """Return the argument of a pydantic model's constructor for each field that has an alias."""
    if not is_pydantic(cls):
        return {}
    config = cls.model_config
    if config.get("populate_by_name") or config.get("validate_by_name"):
        return {}
    found = {}
    for name, info in cls.model_fields.items():
        alias = info.validation_alias if info.validation_alias is not None else info.alias
        choices = getattr(alias, "choices", (alias,))  # of AliasChoices
        texts = [choice for choice in choices if isinstance(choice, str)]
        if texts:
            found[name] = texts[0]
    return found


def extra(cls: Any) -> Optional[Any]:
    """Return the annotation of the values of undeclared fields that instances of a class of pydantic keep, or None if they keep none."""
    config = cls.model_config if is_pydantic(cls) else getattr(cls, "__pydantic_config__", None)
    if not config or config.get("extra") != "allow":
        return None
    args = typing.get_args(class_hints(cls).get("__pydantic_extra__"))
    return args[1] if len(args) == 2 else Any


def undeclared(value: Any) -> Mapping[str, Any]:
    """Return the undeclared fields that an instance of a class of pydantic keeps, by name."""
    if is_pydantic(type(value)):
        return value.__pydantic_extra__ or {}
    if getattr(value, "__pydantic_config__", None) is None:
        return {}
    return {name: found for name, found in vars(value).items() if not hasattr(type(value), name) and name not in type(value).__dataclass_fields__}


def is_figure(cls: type) -> bool:
    """Whether cls is a class of figures, which files cannot restore."""
    return callable(getattr(cls, "savefig", None))


def data(cls: type) -> Optional[Type]:
    """Return the type of data frames, arrays and tensors."""
    package = library(cls)
    if package == "pandas" and cls.__name__ == "DataFrame":
        return Type("Table", python="DataFrame", decode=_frame)
    if package == "pyarrow" and cls.__name__ == "Table":
        return Type("Table", python="Table", decode=_arrow)
    if package == "PIL" and cls.__name__ == "Image":
        return Type("Image", python="PIL.Image", decode=_picture)
    if package == "numpy" and cls.__name__ == "ndarray":
        return Type("File", {"format": "npz"}, python="ndarray", decode=_load)
    if _formats.is_torch(cls):
        return Type("File", {"format": "torch"}, python=cls.__name__, decode=_load)
    return None


def _load(path: Any) -> Any:
    return _formats.read(Path(path), Path(path).name, False)


def _picture(path: Any) -> Any:
    import PIL.Image

    return PIL.Image.open(path)


def _frame(path: Any) -> Any:
    value = _handles.read(Path(path), False)
    return value.to_pandas() if hasattr(value, "to_pandas") else value


def _arrow(path: Any) -> Any:
    import pyarrow

    value = _handles.read(Path(path), False)
    return value if isinstance(value, pyarrow.Table) else pyarrow.Table.from_pandas(value)


def params(word: Any) -> Tuple[Dict[str, Any], str, Dict[str, Any]]:
    """Return the meaning of an annotation from annotated_types or pydantic: parameters, description, hints."""
    package = library(type(word))
    if package not in ("annotated_types", "pydantic", "typing_extensions"):
        return {}, "", {}
    found: Dict[str, Any] = {}
    for name, mine in (("ge", "min"), ("le", "max"), ("gt", "exclusive_min"), ("lt", "exclusive_max"), ("multiple_of", "step"), ("pattern", "pattern")):
        value = getattr(word, name, None)
        if value is not None:
            found[mine] = value
    short, long = getattr(word, "min_length", None), getattr(word, "max_length", None)
    if short is not None or long is not None:
        found["length"] = (short, long)
    hints: Dict[str, Any] = {}
    if getattr(word, "title", None):
        hints["label"] = word.title
    description = getattr(word, "description", None) or getattr(word, "documentation", None) or ""
    for part in getattr(word, "metadata", None) or ():  # of pydantic's Field
        inner, _, _ = params(part)
        found.update(inner)
    return found, description, hints
