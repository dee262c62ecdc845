"""The shop's own database: one SQLite file, or memory for training data."""

import sqlite3
from collections.abc import Iterable
from dataclasses import astuple
from pathlib import Path

from examples.shop.world import World

SCHEMA = """
CREATE TABLE customers (customer_id TEXT PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL) STRICT;
CREATE TABLE products (product_id TEXT PRIMARY KEY, title TEXT NOT NULL, price INTEGER NOT NULL,
    stock INTEGER NOT NULL CHECK (stock >= 0)) STRICT;
CREATE TABLE orders (order_id TEXT PRIMARY KEY, customer_id TEXT NOT NULL REFERENCES customers,
    product_id TEXT NOT NULL REFERENCES products, quantity INTEGER NOT NULL, total INTEGER NOT NULL,
    status TEXT NOT NULL, address TEXT NOT NULL, refunded INTEGER NOT NULL DEFAULT 0
    CHECK (refunded BETWEEN 0 AND total)) STRICT;
CREATE TABLE coupons (code TEXT PRIMARY KEY, percent INTEGER NOT NULL) STRICT;
CREATE TABLE messages (message_id INTEGER PRIMARY KEY, customer_id TEXT NOT NULL REFERENCES customers,
    text TEXT NOT NULL) STRICT;
CREATE TABLE kept_answers (tool TEXT NOT NULL, key TEXT NOT NULL, arguments TEXT NOT NULL, at REAL NOT NULL,
    status INTEGER NOT NULL, answer TEXT NOT NULL, PRIMARY KEY (tool, key)) STRICT;
"""


def open_store(path: Path | None, world: World) -> sqlite3.Connection:
    """The database at ``path`` (None: in memory), filled from ``world`` if it is new.

    Transactions are the caller's: the connection is in autocommit mode. Any thread may use it, one at a time.
    """
    connection = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        _fill(connection, world)
    return connection


def _fill(connection: sqlite3.Connection, world: World) -> None:
    statements = [part.strip() for part in SCHEMA.split(";") if part.strip()]
    connection.execute("BEGIN IMMEDIATE")
    for statement in statements:
        connection.execute(statement)
    _insert(connection, "customers (customer_id, name, city)", map(astuple, world.customers))
    _insert(connection, "products (product_id, title, price, stock)", map(astuple, world.products))
    _insert(
        connection,
        "orders (order_id, customer_id, product_id, quantity, total, status, address)",
        map(astuple, world.orders),
    )
    _insert(connection, "coupons (code, percent)", map(astuple, world.coupons))
    connection.execute("COMMIT")


def _insert(connection: sqlite3.Connection, target: str, rows: Iterable[tuple[object, ...]]) -> None:
    marks = ", ".join("?" * (target.count(",") + 1))
    connection.executemany(f"INSERT INTO {target} VALUES ({marks})", rows)
