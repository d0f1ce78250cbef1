"""Classes with fields: how their instances become JSON, and instances again."""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, Optional, Tuple

from . import _foreign
from ._schema import Field, Type


class Struct:
    """Converts instances of a class to JSON and back.

    extra is the type of fields that the class does not declare and keeps, or None if it keeps none.
    The server stores null for keys without a value; those in absent are left out again.
    """

    def __init__(self, cls: Any, fields: Tuple[Field, ...], absent: FrozenSet[str], extra: Optional[Type]) -> None:
        self._cls, self._fields, self._absent, self._extra = cls, fields, absent, extra
        self._types = {f.name: f.type for f in fields}
        self._keywords = _foreign.keywords(cls)
        self._names = {keyword: name for name, keyword in self._keywords.items()}

    def build(self, given: Dict[str, Any]) -> Any:
        arguments: Dict[str, Any] = {}
        for name, value in given.items():
            keyword = self._keywords.get(name, name)
            if keyword in arguments:
                raise ValueError(f"{keyword!r} and {self._names.get(keyword, keyword)!r} are the same field")
            if value is not None or name not in self._absent:
                arguments[keyword] = value
        return self._cls(**arguments)

    def decode(self, value: Any) -> Any:
        known = {f.name: f.type.decode(value[f.name]) for f in self._fields if f.name in value}
        others = {} if self._extra is None else {name: self._extra.decode(one) for name, one in value.items() if name not in self._types}
        return self.build({**known, **others})

    def encode(self, value: Any) -> Any:
        if isinstance(value, dict):
            given: Dict[Any, Any] = {self._names.get(name, name): one for name, one in value.items()}
            others = {name: one for name, one in given.items() if name not in self._types}
            if others and self._extra is None:
                raise ValueError(f"it has no field {next(iter(others))!r}; its fields are: {', '.join(self._types)}")
        else:
            given = {name: getattr(value, name) for name in self._types}
            others = {} if self._extra is None else dict(_foreign.undeclared(value))
            twice = next((name for name in others if name in self._types), None)
            if twice is not None:
                raise ValueError(f"the extra field {twice!r} has the name of a declared one")
        known = {name: t.encode(given[name]) for name, t in self._types.items() if name in given}
        return {**known, **{name: self._extra.encode(one) for name, one in others.items() if self._extra is not None}}
