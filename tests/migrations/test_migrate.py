"""Upgrading: one history, repeatable, all or nothing, one at a time, and the same as SQL."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.pool import NullPool

from gateway.embedded.binaries import candidates
from ledger.access.schema import NOT_SHARDED
from ledger.errors import BadDatabaseUrl
from ledger.log.schema import LED_BY_INDEX
from ledger.migrate import MigrationStatus, alembic_config, head, status, upgrade, upgrade_sql
from ledger.schema import SCHEMA, events
from ledger.tables import metadata
from tests.migrations.equality import difference
from tests.postgres import libpq


def engine(url: str):
    return create_engine(url, poolclass=NullPool)


def tables(url: str) -> list[str]:
    with engine(url).connect() as connection:
        query = text("select tablename from pg_tables where schemaname = 'ledger' order by 1")
        return list(connection.execute(query).scalars())


def test_history_has_one_head_and_one_beginning():
    script = ScriptDirectory.from_config(alembic_config())
    assert script.get_heads() == [head()]
    assert len(script.get_bases()) == 1


def test_status_before_and_after(empty_database):
    assert status(empty_database.owner_url) == MigrationStatus(None, head())
    upgrade(empty_database.owner_url)
    assert status(empty_database.service_url) == MigrationStatus(head(), head())
    assert status(empty_database.owner_url).up_to_date


def test_upgrading_again_changes_nothing(database):
    before = tables(database.owner_url)
    upgrade(database.owner_url)
    assert tables(database.owner_url) == before


def test_upgrades_at_the_same_time_take_turns(empty_database):
    start = Barrier(3)

    def run(_number: int) -> None:
        start.wait()
        upgrade(empty_database.owner_url)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(run, range(3)))
    assert status(empty_database.owner_url).up_to_date


def test_an_upgrade_that_fails_leaves_nothing(empty_database):
    with engine(empty_database.owner_url).begin() as connection:
        connection.execute(text("create schema ledger"))
        connection.execute(text("create table ledger.pauses (in_the_way int)"))
    with pytest.raises(ProgrammingError, match="already exists"):
        upgrade(empty_database.owner_url)
    assert tables(empty_database.owner_url) == ["pauses"]
    assert status(empty_database.owner_url).current is None


def test_the_services_login_cannot_upgrade(empty_database):
    with pytest.raises(ProgrammingError, match="permission denied"):
        upgrade(empty_database.service_url)


def test_bad_urls_are_refused():
    with pytest.raises(BadDatabaseUrl):
        upgrade("mysql://u@h/d")


def test_the_sql_builds_the_same_database(database, empty_database):
    psql = next(c.bin / "psql" for c in candidates() if (c.bin / "psql").is_file())
    command = [
        psql,
        "-X",
        "-q",
        "-v",
        "ON_ERROR_STOP=1",
        "-f",
        "-",
        f"--dbname={libpq(empty_database.owner_url)}",
    ]
    done = subprocess.run(command, input=upgrade_sql(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert status(empty_database.owner_url).up_to_date
    assert difference(database, empty_database) == ""


def model_differences(url: str) -> list[object]:
    options = {
        "version_table_schema": SCHEMA,
        "include_schemas": True,
        "include_name": lambda name, kind, _parents: kind != "schema" or name == SCHEMA,
    }
    with engine(url).connect() as connection:
        return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)


def test_alembic_finds_nothing_to_write_a_revision_for(database):
    assert model_differences(database.owner_url) == []
    with engine(database.owner_url).begin() as connection:
        connection.execute(text("alter table ledger.pauses drop column reason"))
    assert [kind for kind, *_ in model_differences(database.owner_url)] == ["add_column"]


def test_every_key_and_index_is_led_by_the_shard():
    """All but the log, of which there is one per database in an order of its own, and the few auditors, looked up by name."""
    for table in metadata.sorted_tables:
        keys = [constraint for constraint in table.constraints if hasattr(constraint, "columns")]
        ordered = {
            key.name: [column.name for column in key.columns]
            for key in keys
            if key.name and not _is_check(key)
        }
        ordered |= {index.name: [column.name for column in index.columns] for index in table.indexes}
        assert ordered
        others = {name for name, columns in ordered.items() if columns[0] != "shard"}
        assert others <= {*LED_BY_INDEX, *NOT_SHARDED}, table.name
        assert not table.foreign_keys


def _is_check(constraint) -> bool:
    return hasattr(constraint, "sqltext")


def test_everything_is_documented(database):
    query = text("""
        select c.relname || coalesce('.' || a.attname, '')
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where n.nspname = 'ledger' and c.relkind = 'r' and c.relname <> 'alembic_version'
            and (col_description(c.oid, a.attnum) is null or obj_description(c.oid, 'pg_class') is null)
        union all
        select p.proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname = 'ledger' and obj_description(p.oid, 'pg_proc') is null
    """)
    with engine(database.owner_url).connect() as connection:
        assert list(connection.execute(query).scalars()) == []
    assert events.comment
