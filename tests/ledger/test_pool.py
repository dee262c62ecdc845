"""Pooled connections: one that rested is asked before it is used, so a server that came back meanwhile goes unnoticed."""

import psycopg
import pytest
from sqlalchemy import text

from ledger import connect as connecting
from tests.postgres import TestDatabase, libpq


def test_a_connection_that_was_ended_while_it_rested_is_replaced(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "RESTED", 0.0)
    engine = connecting.connect(database.service_url, pool_size=1)
    with engine.connect() as connection:
        first = connection.scalar(text("select pg_backend_pid()"))
    with psycopg.connect(libpq(database.admin_url), autocommit=True) as admin:
        admin.execute("select pg_terminate_backend(%s, 5000)", [first])
    with engine.connect() as connection:
        assert connection.scalar(text("select pg_backend_pid()")) != first
    engine.dispose()


def test_a_connection_in_steady_use_is_not_asked(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "RESTED", 60.0)
    engine = connecting.connect(database.service_url, pool_size=1)
    statements: list[str] = []
    original = psycopg.Connection.execute

    def counting(self: object, query: str, *rest: object, **named: object) -> object:
        statements.append(query)
        return original(self, query, *rest, **named)  # type: ignore[arg-type]

    with engine.connect() as connection:
        connection.scalar(text("select 1"))
    monkeypatch.setattr(psycopg.Connection, "execute", counting)
    with engine.connect() as connection:
        connection.scalar(text("select 1"))
    assert statements == []
    engine.dispose()
