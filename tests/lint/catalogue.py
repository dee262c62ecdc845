"""What the catalogue of a migrated database says of keys, indexes, foreign keys and triggers of schema ``ledger``."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.lint.exceptions import INDEXES, TABLES

# Every primary key and unique constraint has an index, so the indexes are all there is.
_INDEXES = """
select t.relname, i.relname, a.attname, x.indisunique
from pg_index x
join pg_class t on t.oid = x.indrelid
join pg_class i on i.oid = x.indexrelid
left join pg_attribute a on a.attrelid = x.indrelid and a.attnum = x.indkey[0]
where t.relnamespace = 'ledger'::regnamespace
order by 1, 2
"""
_FOREIGN_KEYS = """
select t.relname, c.conname from pg_constraint c join pg_class t on t.oid = c.conrelid
where c.contype = 'f' and t.relnamespace = 'ledger'::regnamespace order by 1, 2
"""
# Bit 2 of tgtype: fires for INSERT (pg_trigger.h).
_INSERT_TRIGGERS = """
select g.tgname from pg_trigger g
where g.tgrelid = 'ledger.events'::regclass and g.tgtype & 4 <> 0 and not g.tgisinternal order by 1
"""
_TABLES = """
select c.relname, bool_or(a.attname = 'shard' and a.attnotnull)
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = 'ledger'::regnamespace and c.relkind in ('r', 'p')
group by 1 order by 1
"""


@dataclass(frozen=True)
class Catalogue:
    """What was found. ``hot``: tables that have a shard, whose statements have to name it."""

    findings: tuple[str, ...]
    hot: frozenset[str]


def read(connection: "psycopg.Connection[Any]") -> Catalogue:
    """The findings of the database behind ``connection`` (any login that may read the catalogue)."""
    tables: dict[str, bool] = dict(connection.execute(_TABLES).fetchall())
    findings = [*_tables(tables), *_indexes(connection)]
    for table, name in connection.execute(_FOREIGN_KEYS):
        findings.append(f"{table}: {name} is a foreign key")
    for (name,) in connection.execute(_INSERT_TRIGGERS):
        findings.append(f"events: trigger {name} fires for each INSERT")
    return Catalogue(tuple(findings), frozenset(name for name, sharded in tables.items() if sharded))


def _tables(tables: dict[str, bool]) -> Iterator[str]:
    for name, sharded in tables.items():
        if sharded and name in TABLES:
            yield f"{name}: excepted, and it has a shard"
        if not sharded and name not in TABLES:
            yield f"{name}: has no shard"
    for name in TABLES.keys() - tables.keys():
        yield f"{name}: excepted, and there is no such table"


def _indexes(connection: "psycopg.Connection[Any]") -> Iterator[str]:
    excused = set()
    for table, index, first, unique in connection.execute(_INDEXES):
        if first == "shard" or table in TABLES:
            continue
        if index in INDEXES:
            excused.add(index)
            continue
        kind = "unique index" if unique else "index"
        yield f"{table}: {kind} {index} begins with {first or 'an expression'}, not with shard"
    for index in INDEXES.keys() - excused:
        yield f"{index}: excepted, and there is no such index without a shard"
