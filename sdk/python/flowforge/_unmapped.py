"""The error for an annotation without a type, and where it is."""

from __future__ import annotations

import contextlib
import contextvars
from typing import Any, Iterator, Tuple


class Unmapped(Exception):
    """The annotation has no type in the registry. The message names it and a way out."""


_READING: contextvars.ContextVar[Tuple[type, ...]] = contextvars.ContextVar("flowforge_reading", default=())


@contextlib.contextmanager
def reading(cls: type) -> Iterator[None]:
    """Raise Unmapped for a class that contains itself."""
    around = _READING.get()
    if cls in around:
        raise Unmapped(f"`{cls.__name__}` contains itself, and a form has a fixed number of fields: use Any for the inner value")
    token = _READING.set((*around, cls))
    try:
        yield
    finally:
        _READING.reset(token)


@contextlib.contextmanager
def of_field(cls: Any, name: str) -> Iterator[None]:
    """Let Unmapped name the field that has no type."""
    try:
        yield
    except Unmapped as err:
        text = str(err)
        raise Unmapped(text if text.startswith("the field ") else f"the field {name!r} of `{cls.__name__}`: {text}") from None
