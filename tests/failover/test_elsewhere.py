"""A dump that is read back, and memories of a database that another one took the place of."""

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from effects.intent import IntentState
from ledger.append import Appended, Ledger
from ledger.connect import connect
from ledger.errors import LedgerUnavailable
from ledger.incarnation import RESTORED
from tests.failover.servers import DATABASE, SUPERUSER, Fleet, Machine, Server, both
from tests.gateway.dispatcher.floor import TENANT, Clock, floor_over
from tests.gateway.toolserver import ToolServer, eventually
from tests.ledger.story import KEY, accepted, opened, these
from tests.postgres import OWNER


def dump(machine: Machine, server: Server, file: Path) -> None:
    place = f"host=127.0.0.1 port={server.port} user={SUPERUSER} dbname={DATABASE}"
    file.touch()
    file.chmod(0o666)
    machine.run("pg_dump", "-Fc", "-d", place, "-f", file)


def read_back(machine: Machine, server: Server, file: Path) -> None:
    with server.admin() as connection:
        connection.execute(f"create database {DATABASE} owner {OWNER}")
    place = f"host=127.0.0.1 port={server.port} user={SUPERUSER} dbname={DATABASE}"
    machine.run("pg_restore", "-d", place, file)


@pytest.mark.parametrize("same_cluster", [True, False])
def test_a_dump_that_is_read_back(fleet: Fleet, machine: Machine, same_cluster: bool) -> None:
    """In the same cluster it is another database, elsewhere another system; dispatchers are new."""
    server = fleet.primary()
    file = machine.root / f"{server.name}.dump"
    with ToolServer() as tools:
        with floor_over(server.database(DATABASE).service_url, tools) as floor:
            turn = floor.turn("write", key="a")
            key = turn.key
            dump(machine, server, file)
            with floor.dispatching():
                turn.until(IntentState.SETTLED, final=True)
        if same_cluster:
            with server.admin() as connection:
                connection.execute(f"drop database {DATABASE} with (force)")
        else:
            server = fleet.add(machine.made("elsewhere"))
            server.start()
            server.server.prepare_roles()
            with server.admin() as connection:
                make_groups(connection)
        read_back(machine, server, file)
        with floor_over(server.database(DATABASE).service_url, tools) as floor, floor.dispatching():
            [intent] = eventually(
                lambda: [
                    i
                    for i in floor.ledger.read(TENANT, key).intents.values()
                    if i.state is IntentState.IN_DOUBT
                ]
            )
            assert intent.reason == RESTORED
            floor.turn("write", key="b").until(IntentState.SETTLED, final=True)
        assert len(tools.received("/write")) == 2


def make_groups(connection: psycopg.Connection) -> None:
    """Roles are of a cluster and not in the dump of a database."""
    for duty in ("writer", "dispatcher", "sealer", "reconciler", "auditor", "migrator", "redactor"):
        connection.execute(f"create role commitgate_{duty} nologin")
    for duty in ("writer", "dispatcher", "sealer", "reconciler"):
        connection.execute(f"grant commitgate_{duty} to commitgate_service")


def insist(append: Callable[[], Appended]) -> Appended:
    """Again while connections to the dead server are met."""

    def tried() -> Appended | None:
        try:
            return append()
        except LedgerUnavailable:
            return None

    return eventually(tried)


@pytest.mark.parametrize("forgets", [True, False])
def test_what_is_remembered_of_the_lost_database_decides_nothing(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, forgets: bool
) -> None:
    """Both have an event of the same seq, and they differ. A process that does not forget decides on the lost one."""
    primary = fleet.primary()
    standby = fleet.add(primary.standby("standby"))
    if not forgets:
        monkeypatch.setattr("ledger.server.AnsweringServer.met", lambda _self, _who: None)
    engine = connect(both(primary, standby))
    remembering = Ledger(engine, clock=Clock())
    remembering.append("t", KEY, these(opened()))
    primary.caught_up()
    standby.follow_nobody()
    assert remembering.append("t", KEY, these(accepted(0, 5))).state.branches["main"].head == 5
    primary.kill()
    standby.promote()
    elsewhere = connect(both(primary, standby))
    Ledger(elsewhere, clock=Clock()).append("t", KEY, these(accepted(0, 1)))
    elsewhere.dispose()
    seen: list[int] = []

    def decide(state):
        seen.append(state.branches["main"].head)
        return these(accepted(state.branches["main"].head, 1))(state)

    insist(lambda: remembering.append("t", KEY, decide))
    assert seen[-1] == (1 if forgets else 5)
    assert remembering.read("t", KEY).branches["main"].head == (2 if forgets else 6)
    engine.dispose()
