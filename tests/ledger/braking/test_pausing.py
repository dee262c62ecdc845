"""A pause holds once it is said: no licence after it, whoever was about to write one."""

import threading

import psycopg
import pytest
from sqlalchemy import create_engine, text

from effects.intent import IntentState
from gateway.errors import PreconditionFailed
from ledger.braking import pausing
from ledger.braking.pausing import NOT_PAUSED, Pause, Pauses
from ledger.errors import LicenceRefused
from ledger.sharding import shard_of_tenant
from tests.gateway.turn.desk import spell
from tests.ledger.liveturn import LiveTurn
from tests.postgres import TestDatabase, libpq


@pytest.fixture
def pauses(engine) -> Pauses:
    return Pauses(engine)


def released(ledger, tenant: str, tool: str = "create") -> LiveTurn:
    turn = LiveTurn(ledger, tenant)
    turn.say(spell(tool, name="a"))
    assert turn.intent(tool).state is IntentState.RELEASED
    return turn


@pytest.mark.parametrize("tool", ["create", "read"])
@pytest.mark.parametrize("by_name", [True, False])
def test_no_licence_for_a_paused_tool(pauses, ledger, tenant, tool, by_name):
    turn = released(ledger, tenant, tool)
    assert pauses.pause(tenant, tool if by_name else None, by="olga", reason="fire")
    with pytest.raises(LicenceRefused) as refused:
        turn.claim(tool)
    assert refused.value.constraint == NOT_PAUSED
    assert turn.intent(tool).state is IntentState.RELEASED
    assert pauses.resume(tenant, tool if by_name else None)
    assert turn.claim(tool).state is IntentState.DISPATCHED


def test_other_tools_and_other_tenants_go_on(pauses, ledger, tenant):
    turn, other = released(ledger, tenant), released(ledger, f"{tenant}-other")
    pauses.pause(tenant, "delete", by="olga", reason="")
    pauses.pause(f"{tenant}-third", None, by="olga", reason="")
    assert turn.claim("create").state is IntentState.DISPATCHED
    assert other.claim("create").state is IntentState.DISPATCHED


def test_the_control_without_the_check_it_is_licensed(pauses, ledger, tenant, owner):
    turn = released(ledger, tenant)
    pauses.pause(tenant, "create", by="olga", reason="")
    with owner.begin() as connection:
        connection.execute(text("alter table ledger.dispatches disable trigger dispatches_while_not_paused"))
    try:
        assert turn.claim("create").state is IntentState.DISPATCHED
    finally:
        with owner.begin() as connection:
            enable = "alter table ledger.dispatches enable always trigger dispatches_while_not_paused"
            connection.execute(text(enable))


def test_said_again_it_keeps_since_when_and_tells_the_latest_word(pauses, tenant):
    pauses.pause(tenant, "create", by="olga", reason="one")
    [first] = pauses.of(tenant)
    pauses.pause(tenant, "create", by="otto", reason="two")
    assert pauses.of(tenant) == [Pause("create", "otto", "two", first.at)]
    assert pauses.all()[tenant] == pauses.of(tenant)
    pauses.pause(tenant, None, by="olga", reason="all")
    assert [pause.tool for pause in pauses.of(tenant)] == ["*", "create"]
    assert pauses.resume(tenant, None)
    assert [pause.tool for pause in pauses.of(tenant)] == ["create"]
    assert not pauses.resume(tenant, None)


def test_what_is_not_as_expected_changes_nothing(pauses, tenant):
    def refuse(_now: list[Pause]) -> None:
        raise PreconditionFailed("other")

    with pytest.raises(PreconditionFailed):
        pauses.pause(tenant, "create", by="olga", reason="", expected=refuse)
    assert pauses.of(tenant) == []


def test_a_pause_waits_for_those_who_may_not_have_seen_it(pauses, tenant, module_database: TestDatabase):
    done = threading.Event()

    def pause() -> None:
        assert pauses.pause(tenant, "create", by="olga", reason="")
        done.set()

    with psycopg.connect(libpq(module_database.service_url)) as writer:
        writer.execute("select pg_current_xact_id()")
        thread = threading.Thread(target=pause)
        thread.start()
        seen = lambda: writer.execute("select count(*) from ledger.pauses where tenant = %s", (tenant,))  # noqa: E731
        while seen().fetchone() != (1,):  # it is committed, and others see it already
            pass
        assert not done.wait(0.1)
        writer.commit()
        assert done.wait(5)
        thread.join()


def test_the_control_who_only_reads_keeps_nobody_waiting(pauses, tenant, module_database: TestDatabase):
    with psycopg.connect(libpq(module_database.service_url)) as reader:
        reader.execute("select 1")
        assert pauses.pause(tenant, "create", by="olga", reason="")


def test_it_says_when_it_is_not_certain(engine, tenant, module_database: TestDatabase, monkeypatch):
    monkeypatch.setattr(pausing, "PATIENCE", 0.05)
    with psycopg.connect(libpq(module_database.service_url)) as writer:
        writer.execute("select pg_current_xact_id()")
        assert not Pauses(engine).pause(tenant, "create", by="olga", reason="")


@pytest.mark.parametrize("name", ["default", "tenant-é", "x" * 200, ""])
def test_the_database_finds_the_shard_of_a_tenant_as_the_ledger_does(module_database, name):
    engine = create_engine(module_database.owner_url)
    with engine.connect() as connection:
        query = text("select ledger.tenant_shard(:name)")
        assert connection.execute(query, {"name": name}).scalar_one() == shard_of_tenant(name)
    engine.dispose()
