"""Connections as values of operators."""

from __future__ import annotations

import os
import unittest
from typing import Annotated, Any, Dict, Optional
from unittest import mock

from flowforge import Connection, ConnectionKind, InputError, _annotations, operator, workflow

GIVEN = {"$connection": "warehouse", "kind": "postgres", "fields": {"host": "db", "port": 5432, "password": "hush-hush"}, "url": "postgresql://u:hush-hush@db:5432/d"}


class TestConnection(unittest.TestCase):
    def test_in_a_task(self) -> None:
        db = _annotations.read(Connection).type.decode(GIVEN)
        assert isinstance(db, Connection)
        self.assertEqual((db.name, db.kind, db.host, db["port"], db.url()), ("warehouse", "postgres", "db", 5432, GIVEN["url"]))
        self.assertEqual(sorted(db), ["host", "password", "port"])
        self.assertEqual(db.fields(), GIVEN["fields"])
        self.assertEqual(db.get("user", "nobody"), "nobody")
        self.assertNotIn("hush", repr(db))
        with self.assertRaisesRegex(InputError, "no value for 'user'; its fields are host, password, port"):
            db["user"]
        with self.assertRaisesRegex(AttributeError, "no value for 'user'"):
            db.user
        self.assertFalse(hasattr(db, "user"))

    def test_without_an_address(self) -> None:
        own = _annotations.read(Connection).type.decode({"$connection": "own", "kind": "custom", "fields": {}, "url": ""})
        with self.assertRaisesRegex(InputError, "has no address"):
            own.url()

    def test_in_plain_python(self) -> None:
        with mock.patch.dict(os.environ, {"FLOWFORGE_CONNECTION_MY_DB_HOST": "localhost", "FLOWFORGE_CONNECTION_MY_DB_URL": "postgresql://localhost"}):
            db = Connection("my-db")
            self.assertEqual((db.host, db.url(), db.fields()), ("localhost", "postgresql://localhost", {"host": "localhost"}))
        with mock.patch.dict(os.environ, {"FLOWFORGE_CONNECTION_WAREHOUSE_HOST": "localhost"}):

            @operator
            def host(db: Connection) -> str:
                return str(db.host)

            by_name: Any = "warehouse"  # as a launch form has it
            self.assertEqual(host(by_name), "localhost")
        with self.assertRaisesRegex(InputError, "set variables such as FLOWFORGE_CONNECTION_ELSEWHERE_HOST"):
            Connection("elsewhere")["host"]

    def test_types(self) -> None:
        self.assertEqual(_annotations.read(Connection).type.text(), "Connection")
        of_kind = _annotations.read(Annotated[Connection, ConnectionKind("postgres")]).type
        self.assertEqual(of_kind.text(), 'Connection(kind="postgres")')
        self.assertEqual(of_kind.encode(Connection("warehouse")), {"$connection": "warehouse"})
        self.assertEqual(_annotations.read(Optional[Connection]).type.text(), "Optional<Connection>")

    def test_in_a_definition(self) -> None:
        document: Dict[str, Any] = loads.definition().document()
        self.assertEqual(document["inputs"][0]["type"], 'Connection(kind="postgres")')
        self.assertEqual(load(_annotations.read(Connection).type.decode(GIVEN)), GIVEN["url"])


@operator
def load(db: Annotated[Connection, ConnectionKind("postgres")]) -> str:
    return str(db.url())


@workflow(name="loads")
def loads(db: Annotated[Connection, ConnectionKind("postgres")]) -> str:
    return load(db)


if __name__ == "__main__":
    unittest.main()
