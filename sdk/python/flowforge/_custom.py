"""Custom types that Python files declare. A deployment registers them on the server."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping

from . import _place
from ._constraints import CustomType
from ._schema import Type
from ._unmapped import Unmapped
from .exceptions import ServerError

if TYPE_CHECKING:
    from ._api import Server
    from ._definition import Definition

_BUILT_IN = frozenset(
    "String Text Integer Float Boolean Enum Date DateTime Duration DateRange JSON List Map Optional Union Struct HyperparameterSet "
    "Dataset FeatureSet Model Metrics File Directory Image Table Report Secret Connection".split()
)
_WITH_INPUTS = ("String", "Text", "Integer", "Float", "Enum", "Date", "Duration", "JSON")
_MAX_RENDERER = 512 << 10

_DECLARED: Dict[str, "_Declaration"] = {}


@dataclasses.dataclass(frozen=True)
class _Declaration:
    word: CustomType
    extends: str  # a type expression

    def document(self) -> Dict[str, Any]:
        """Return the definition as the server registers it."""
        found: Dict[str, Any] = {"type_name": self.word.name, "extends": self.extends}
        if self.word.description:
            found["description"] = self.word.description
        if self.word.renderer is not None:
            found["ui_renderer"] = {"html": self._page(), **({"inputs": True} if self.word.inputs else {})}
        return found

    def stored(self) -> Dict[str, Any]:
        """Return the definition as the server keeps it: with the hash of the page."""
        found = self.document()
        page = found.get("ui_renderer")
        if page:
            import hashlib

            page["file"] = "sha256:" + hashlib.sha256(page.pop("html").encode()).hexdigest()
        return found

    def _page(self) -> str:
        assert self.word.renderer is not None
        try:
            text = self.word.renderer.read_text(encoding="utf-8")
        except (OSError, ValueError) as err:
            raise _place.error(f"the renderer of {self.word.name} cannot be read: {err}", self.word.place) from None
        if len(text.encode()) > _MAX_RENDERER:
            raise _place.error(f"the renderer of {self.word.name}, {self.word.renderer}, has more than 512 KiB; make the page smaller", self.word.place)
        return text


def declare(t: Type, word: CustomType) -> Type:
    """Return t as a custom type, and keep its declaration if it has one. Raises Unmapped."""
    if t.optional and t.elem is not None:
        return dataclasses.replace(t, elem=declare(t.elem, word))
    if not re.fullmatch(r"[A-Z][A-Za-z0-9_]{0,99}", word.name):
        raise Unmapped(f"{word.name!r} is not the name of a type; use letters and digits, and begin with a capital letter, such as RankingModel")
    if word.name in _BUILT_IN:
        raise Unmapped(f"{word.name!r} is a built-in type; use another name for the custom type")
    if word.inputs and t.kind not in _WITH_INPUTS:
        raise Unmapped(f"the renderer of {word.name} cannot edit a {t.kind}; inputs=True requires one of {', '.join(_WITH_INPUTS)}")
    if word.declares:
        if t.custom == word.name:
            return t
        _DECLARED[word.name] = _Declaration(word, t.text())
    return dataclasses.replace(t, custom=word.name)


def documents(definition: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """Return the definitions of the types that a document uses, as the server keeps them."""
    return [one.stored() for one in _used(definition)]


def register(d: Definition, server: Server) -> None:
    """Register the types that a definition declares and the server does not have. Raises DefinitionError if it has others with these names."""
    from ._api import quoted

    for one in _used(d.document()):
        found = server.find(f"/types/{quoted(one.word.name)}")
        if found is None:
            _post(server, one)
            continue
        expected = one.stored()
        theirs = {key: found.get(key) for key in ("type_name", "extends", "ui_renderer") if found.get(key) is not None}
        expected.pop("description", None)
        if theirs != expected:
            what = "renderer" if theirs.get("extends") == one.extends else f"base type, {theirs.get('extends')} instead of {one.extends}"
            raise _place.error(f"the type {one.word.name} is registered with a different {what}. Types never change: use another name", one.word.place)


def _post(server: Server, one: _Declaration) -> None:
    try:
        server.post("/types", one.document())
    except ServerError as err:
        if err.status == 403:
            raise _place.error(f"the type {one.word.name} is not registered, and only administrators of the tenant can do that: ask one to deploy this file once", one.word.place) from None
        raise _place.error(f"the type {one.word.name} cannot be registered: {err}", one.word.place) from None


def _used(definition: Mapping[str, Any]) -> List[_Declaration]:
    """Return the declarations that a document needs, so that each comes after those that it extends."""
    found: Dict[str, _Declaration] = {}

    def add(text: str) -> None:
        for name in re.findall(r"\b[A-Z]\w*\b", text):
            if name in _DECLARED and name not in found:
                add(_DECLARED[name].extends)
                found[name] = _DECLARED[name]

    for text in _types(definition):
        add(text)
    return list(found.values())


def _types(value: Any) -> Iterator[str]:
    """Iterate over the type expressions in a document."""
    if isinstance(value, dict):
        if isinstance(value.get("type"), str):
            yield value["type"]
        for part in value.values():
            yield from _types(part)
    elif isinstance(value, list):
        for part in value:
            yield from _types(part)
