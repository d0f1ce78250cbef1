"""Connections: how a task reaches a database, a bucket or an API."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator, Mapping

from .exceptions import InputError


class Connection:
    """A connection of the project. Read its fields as attributes or keys: db.host, db["host"].

    In plain Python, Connection("warehouse") reads environment variables such as
    FLOWFORGE_CONNECTION_WAREHOUSE_HOST. Its representation hides the fields.
    """

    def __init__(self, name: str, kind: str = "", fields: Mapping[str, Any] | None = None, url: str = "") -> None:
        self.name = name
        self.kind = kind
        self._url = url
        self._fields: Dict[str, Any] | None = None if fields is None else dict(fields)

    def _values(self) -> Dict[str, Any]:
        if self._fields is None:
            prefix = "FLOWFORGE_CONNECTION_" + "".join(c if c.isascii() and c.isalnum() else "_" for c in self.name).upper() + "_"
            found = {name[len(prefix) :].lower(): value for name, value in os.environ.items() if name.startswith(prefix)}
            if not found:
                raise InputError(f"connection {self.name!r} is stored on the server. Outside of a task, set variables such as {prefix}HOST")
            self.kind, self._url = found.pop("kind", self.kind), found.pop("url", self._url)
            self._fields = found
        return self._fields

    def url(self) -> str:
        """Return the URL, with the user name and password for databases. Raises InputError if the connection has no URL."""
        self._values()
        if not self._url:
            raise InputError(f"connection {self.name!r} has no address; use its fields")
        return self._url

    def fields(self) -> Dict[str, Any]:
        """Return all fields that have a value, by name."""
        return dict(self._values())

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field, or `default` if the field has no value."""
        return self._values().get(name, default)

    def __getitem__(self, name: str) -> Any:
        try:
            return self._values()[name]
        except KeyError:
            raise InputError(f"connection {self.name!r} has no value for {name!r}; its fields are {', '.join(sorted(self._values()))}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except InputError as err:
            raise AttributeError(str(err)) from None

    def __repr__(self) -> str:
        return f"Connection({self.name!r})"


def decode(value: Any) -> Any:
    """Read a connection among the inputs of a task."""
    if isinstance(value, Connection):
        return value
    if isinstance(value, str):
        return Connection(value)
    if "fields" not in value:
        return Connection(value["$connection"])
    return Connection(value["$connection"], value.get("kind", ""), value["fields"], value.get("url", ""))


def encode(value: Any) -> Any:
    """Write the name of a connection."""
    return {"$connection": value.name if isinstance(value, Connection) else str(value)}
