"""Everything hot is led by the shard; and what is not would be found."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from migrations import objects
from tests.lint import bodies, catalogue, check, exceptions, traffic
from tests.lint.scopes import tables
from tests.postgres import TestDatabase, libpq

HOT = frozenset({"events", "streams", "intents"})


@pytest.fixture
def admin(database: TestDatabase) -> Iterator["psycopg.Connection[tuple[object, ...]]"]:
    with psycopg.connect(libpq(database.admin_url), autocommit=True) as connection:
        yield connection


def test_nothing_hot_is_asked_without_a_shard(database: TestDatabase, tmp_path: Path) -> None:
    assert check.findings(database, tmp_path) == []


def test_the_traffic_reaches_every_table_in_every_way(database: TestDatabase, tmp_path: Path) -> None:
    sent = traffic.record(database, tmp_path)
    reached = {use for statement in sent for use in tables(statement)}
    assert reached >= traffic.WRITTEN, sorted(traffic.WRITTEN - reached)
    assert not any("commitgate_test" in statement for statement in sent), (
        "tests' own statements are no traffic"
    )


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ("create index late on ledger.intents (tenant, state)", "intents: index late begins with tenant"),
        ("create index late on ledger.intents (lower(tool), shard)", "index late begins with an expression"),
        (
            "create unique index late on ledger.streams (commit_key)",
            "unique index late begins with commit_key",
        ),
        (
            "alter table ledger.events add constraint u unique (tenant, seq, shard)",
            "unique index u begins with tenant",
        ),
        ("create table ledger.more (tenant text primary key)", "more: has no shard"),
        (
            "alter table ledger.intents add constraint f foreign key (shard, tenant, commit_key)"
            " references ledger.streams",
            "intents: f is a foreign key",
        ),
        (
            "create trigger computing before insert on ledger.events for each row"
            " execute function ledger.refuse_change()",
            "events: trigger computing fires for each INSERT",
        ),
        (
            "create trigger computing after insert on ledger.events execute function ledger.refuse_change()",
            "events: trigger computing fires for each INSERT",
        ),
        ("drop index ledger.seals_in_log_order", "seals_in_log_order: excepted, and there is no such index"),
    ],
)
def test_what_is_wrong_in_the_catalogue_is_found(
    admin: psycopg.Connection, change: str, finding: str
) -> None:
    assert catalogue.read(admin).findings == ()
    admin.execute(change)
    found = catalogue.read(admin).findings
    assert any(finding in line for line in found), found


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (
            "create function ledger.f() returns bigint language sql as 'select max(seq) from ledger.events'",
            "function ledger.f()",
        ),
        (
            "create function ledger.f() returns bigint language sql"
            " begin atomic select max(seq) from ledger.events; end",
            "function ledger.f()",
        ),
        (
            "create function ledger.f() returns void language plpgsql as"
            " 'begin update ledger.streams set unsealed = true where tenant = ''t''; end'",
            "function ledger.f()",
        ),
        (
            "create function ledger.f() returns void language plpgsql as 'begin execute ''select 1''; end'",
            "function ledger.f()",
        ),
        ("create view ledger.v as select s.seq from ledger.streams s where s.tenant = 't'", "view ledger.v"),
    ],
)
def test_what_is_wrong_inside_of_functions_and_views_is_found(
    admin: psycopg.Connection, change: str, where: str
) -> None:
    hot = catalogue.read(admin).hot
    admin.execute(change)
    found = list(check.of_statements(bodies.statements(admin), hot))
    assert [line for line in found if line.startswith(where)], found


def test_functions_and_views_are_looked_into(admin: psycopg.Connection) -> None:
    inside = list(bodies.statements(admin))
    read = {(where, use) for where, statement in inside for use in tables(statement)}
    assert ("function ledger.check_licence()", ("select", "events")) in read
    assert ("view ledger.audited_events", ("select", "events")) in read


def test_a_statement_of_the_product_without_a_shard_is_found() -> None:
    wrong = "select seq from ledger.events where tenant = %s"
    found = list(check.of_statements([("the product", wrong)], HOT))
    assert found[0].startswith("the product: events is asked without a shard")
    unread = list(check.of_statements([("the product", "explain ledger.events (")], HOT))
    assert "cannot be read" in unread[0]


def test_an_exception_that_excuses_nothing_is_found(
    monkeypatch: pytest.MonkeyPatch, admin: psycopg.Connection
) -> None:
    told = [("the product", "select 1 from ledger.events where shard = 1")]
    monkeypatch.setattr(check, "STATEMENTS", {"from ledger.events": "why"})
    assert "no such statement lacks a shard" in next(check.of_statements(told, HOT))
    monkeypatch.setitem(exceptions.TABLES, "gone", "why")
    assert "gone: excepted, and there is no such table" in catalogue.read(admin).findings


def test_an_index_in_a_file_of_sql_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert list(check.files()) == []
    folder = tmp_path / "sql" / "triggers"
    folder.mkdir(parents=True)
    (folder / "late.sql").write_text("create\n  unique index late on ledger.events (tenant);")
    monkeypatch.setattr(objects, "__file__", str(tmp_path / "objects.py"))
    assert [line for line in check.files() if "late.sql" in line]
