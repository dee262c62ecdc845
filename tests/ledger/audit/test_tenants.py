"""One tenant never sees another, whatever an auditor of it tries; and an auditor can do nothing but look."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random

import psycopg
import pytest

from gateway.principal import Principal, Role
from gateway.service.tables import EffectTables
from ledger.append import Ledger
from ledger.connect import connect
from tests.gateway.turn.desk import TOOLS
from tests.ledger.audit.asking import VIEWS, Auditor, auditor_of
from tests.ledger.audit.wandering import Wandering
from tests.ledger.planting import Planter
from tests.postgres import TestDatabase

SECRET = "secret-of-theirs"
LEAK = """
create function pg_temp.leak(anything text) returns boolean language plpgsql cost 0.0000000001 as
$$ begin raise notice '%', anything; return true; end $$
"""


MINE, THEIRS = "mine", "theirs"


def _busy(ledger: Ledger, tenant: str, key: str) -> None:
    """A stream that has rows in every view."""
    for seed in range(40):
        turn = Wandering(ledger, tenant, f"{key}-{seed}", Random(seed), age=timedelta(hours=48))
        turn.wander(120)
        if turn.seen["resolved"] and any(i.answered_early for i in turn.state.intents.values()):
            break
    tables = EffectTables(turn.ledger, lambda: turn.now)
    operator = Principal(tenant=tenant, name=f"operator of {key}", roles=frozenset({Role.OPERATOR}))
    tables.apply(operator, TOOLS.format(order="strict", reads="hold"))


@pytest.fixture(scope="module")
def filled(module_database) -> TestDatabase:
    """Two tenants, both with streams."""
    engine = connect(module_database.service_url)
    ledger = Ledger(engine, clock=lambda: datetime.now(UTC))
    _busy(ledger, MINE, "mine")
    _busy(ledger, THEIRS, SECRET)
    engine.dispose()
    return module_database


@pytest.fixture
def two(filled) -> Iterator[tuple[Auditor, Auditor]]:
    """Auditors of both."""
    with auditor_of(filled, MINE) as mine, auditor_of(filled, THEIRS) as theirs:
        yield mine, theirs


def _keys(auditor: Auditor, view: str) -> set[str]:
    return {str(row["commit_key"]) for row in auditor.ask(f"select commit_key from audit.{view}")}


def test_every_view_shows_the_rows_of_one_tenant(two):
    mine, theirs = two
    for view in VIEWS:
        if view == "effect_history":
            by = {row["changed_by"] for row in mine.ask("select changed_by from audit.effect_history")}
            assert by == {"operator of mine"}
            continue
        assert _keys(mine, view), view
        assert all(key.startswith(("mine", "_effects")) for key in _keys(mine, view)), view
        assert all(key.startswith((SECRET, "_effects")) for key in _keys(theirs, view)), view
    for view in VIEWS:
        # What names the other's streams finds nothing.
        for key in sorted(_keys(theirs, view) - {"_effects"})[:2]:
            assert mine.rows(view, key) == []


def test_functions_that_tell_are_shown_no_row_of_others(two):
    mine, _ = two
    notices: list[str] = []
    mine.connection.add_notice_handler(lambda notice: notices.append(str(notice.message_primary)))
    mine.ask_nothing(LEAK)
    for view in VIEWS:
        mine.ask(f"select 1 from audit.{view} where pg_temp.leak(commit_key) or pg_temp.leak({view}::text)")
        # Division by zero is another way to tell.
        mine.ask(
            f"select 1 from audit.{view} where 1 / (case when commit_key like '{SECRET}%' then 0 else 1 end) = 1"
        )
    assert notices
    assert [told for told in notices if SECRET in told] == []


def test_the_control_a_view_without_barrier_tells(two, module_database, planter: Planter):
    mine, _ = two
    with planter.engine.begin() as connection:
        connection.exec_driver_sql(
            "create view audit.leaky as select e.* from ledger.events e"
            " where e.tenant || '' = (select a.tenant from ledger.auditors a where a.login = session_user)"
        )
        connection.exec_driver_sql("grant select on audit.leaky to commitgate_auditor")
    try:
        notices: list[str] = []
        mine.connection.add_notice_handler(lambda notice: notices.append(str(notice.message_primary)))
        mine.ask_nothing(LEAK)
        mine.ask("select 1 from audit.leaky where pg_temp.leak(commit_key)")
        assert [told for told in notices if SECRET in told] != []
    finally:
        with planter.engine.begin() as connection:
            connection.exec_driver_sql("drop view audit.leaky")


@pytest.mark.parametrize(
    "attempt",
    [
        "set role {other}",
        "set role commitgate_migrator",
        "set role commitgate_service",
        "set session authorization {other}",
        "select set_config('session_authorization', '{other}', false)",
        "select set_config('role', '{other}', false)",
        "set local session authorization {other}",
        "alter role {other} password 'x'",
        "grant {other} to {login}",
        "select * from ledger.auditors",
        "insert into ledger.auditors values ('{login}', 'x')",
        "update ledger.auditors set tenant = 'x'",
        "select * from ledger.events",
        "select * from ledger.dispatches",
        "select * from ledger.audited_events",
        "select * from ledger.audited_sides",
        "insert into audit.timeline default values",
        "update audit.timeline set line = ''",
        "delete from audit.timeline",
        "create view audit.mine as select 1",
        "create function audit.session_user() returns text language sql as 'select ''x'''",
        "create table ledger.mine ()",
        "alter view audit.timeline set (security_barrier = false)",
        "alter view audit.timeline reset (security_barrier)",
        "drop view audit.timeline",
        "select ledger.incarnation()",
        "select pg_read_file('PG_VERSION')",
        "copy audit.timeline to program 'cat'",
    ],
)
def test_what_an_auditor_must_not_do_is_refused(two, attempt):
    mine, theirs = two
    with pytest.raises(psycopg.Error) as refused:
        mine.ask(attempt.format(login=mine.login, other=theirs.login).replace("%", "%%"))
    assert refused.value.sqlstate in ("42501", "0LP01", "28000", "55000", "0A000"), refused.value.sqlstate
    assert _keys(mine, "timeline")
    assert all(key.startswith(("mine", "_")) for key in _keys(mine, "timeline"))


@pytest.mark.parametrize(
    "disguise",
    [
        "create temp table auditors (login text, tenant text)",
        "create temp table events (tenant text, commit_key text)",
        "create temp view tokens as select 1 as n",
        "create function pg_temp.strpos(text, text) returns integer language sql as 'select 0'",
        "create function pg_temp.generate_series(integer, integer) returns setof integer language sql as 'select 1'",
        "set search_path = pg_temp, ledger, public",
        "set session_replication_role = replica",
        "set row_security = off",
        "set application_name = '{other}'",
        "select set_config('commitgate.tenant', 'other', false)",
        "set standard_conforming_strings = off",
        "set enable_indexscan = off",
    ],
)
def test_no_disguise_changes_what_is_shown(two, disguise):
    mine, theirs = two
    before = {view: mine.ask(f"select * from audit.{view}") for view in ("timeline", "dispatches")}
    try:
        mine.ask_nothing(disguise.format(other=theirs.login))
        mine.ask_nothing("set search_path = pg_temp, public")
    except psycopg.errors.InsufficientPrivilege:
        pass
    for view, rows in before.items():
        after = mine.ask(f"select * from audit.{view}")
        assert sorted(map(str, after)) == sorted(map(str, rows))


def test_a_member_without_a_tenant_sees_nothing(filled, planter):
    with auditor_of(filled, MINE) as nobody:
        with planter.engine.begin() as connection:
            connection.exec_driver_sql(f"delete from ledger.auditors where login = '{nobody.login}'")
        assert [view for view in VIEWS if nobody.ask(f"select 1 from audit.{view}")] == []
