"""Databases that came back without what they knew: noticed, in doubt, and nothing is sent again."""

from collections import Counter
from pathlib import Path

import pytest

from effects.intent import IntentState
from gateway.dispatcher.incarnation import Intake
from gateway.dispatcher.witness import WitnessFile
from gateway.principal import everyone
from gateway.service.doubts import Doubts
from gateway.service.scanning import find_blocks
from ledger.incarnation import RESTORED
from ledger.rebuild import check
from ledger.reconcile.finding import FindingKind
from ledger.reconcile.run import Options, run
from tests.failover.servers import DATABASE, Fleet, Server, both
from tests.gateway.dispatcher.floor import TENANT, Floor, floor_over, with_settings
from tests.gateway.toolserver import eventually

PATIENT = with_settings(lease_floor=60.0)
WRITES = 5
ONCE = {"/write": WRITES + 2, "/put": 1, "/read": 1}
NO_WRITE_TWICE = {"/write": WRITES + 2, "/put": 2, "/read": 2}
"""What arrives in all where what may be repeated was, and nothing else."""


class Story:
    """Calls that are let go and not sent, then sent and settled by a dispatcher that goes on running."""

    def __init__(self, floor: Floor) -> None:
        self.floor = floor
        self.writes = [floor.turn("write", key=f"w{n}") for n in range(WRITES)]
        self.behind = two_writes(floor)
        self.put = floor.turn("put", key="p")
        self.read = floor.turn("read")

    def all_settled(self) -> None:
        for turn in (*self.writes, self.put, self.read):
            turn.until(IntentState.SETTLED, final=True)
        eventually(lambda: all(i.final for i in self.behind_intents))

    @property
    def behind_intents(self) -> list:
        return list(self.floor.ledger.read(TENANT, self.behind).intents.values())

    def sent(self) -> dict[str, int]:
        return {path: len(self.floor.tools.received(path)) for path in ("/write", "/put", "/read")}

    def all_in_doubt(self) -> None:
        """Writes in doubt; what may be repeated was, the key being the same."""
        for turn in self.writes:
            assert turn.until(IntentState.IN_DOUBT).reason == RESTORED
        assert [i.state for i in self.behind_intents] == [IntentState.IN_DOUBT] * 2
        self.put.until(IntentState.SETTLED, final=True)
        self.read.until(IntentState.SETTLED, final=True)
        assert len({r.headers["idempotency-key"] for r in self.floor.tools.received("/put")}) == 1

    def findings(self) -> Counter[FindingKind]:
        found = run(self.floor.engine, TENANT, Options(), now=self.floor.clock(), find_blocks=find_blocks)
        return Counter(finding.kind for finding in found.findings)

    def goes_on(self) -> None:
        """New calls are sent, and a person can settle a doubt."""
        self.floor.turn("write", key="later").until(IntentState.SETTLED, final=True)
        assert self.sent()["/write"] == WRITES + 3
        doubts = Doubts(self.floor.engine, self.floor.ledger, self.floor.tables, self.floor.clock)
        one = self.writes[0]
        doubts.resolve(
            everyone(TENANT), one.key, one.intent.intent_id, happened=True, reason="seen in its log"
        )
        assert one.intent.final
        assert self.findings() == {FindingKind.IN_DOUBT: WRITES - 1 + 2}
        assert list(check(self.floor.engine)) == []


def two_writes(floor: Floor) -> str:
    """A stream whose second WRITE waits for its first, both accepted."""
    from ledger.events import EventType
    from tests.gateway.dispatcher.floor import spelled

    turn = floor.draft("write", key="first")
    turn.write(
        EventType.TOKENS_DRAFTED, round=0, start=2, tokens=[{"text": spelled("write", {"key": "second"})}]
    )
    turn.write(EventType.TOKENS_RULED, round=0, start=0, end=3, accepted=3)
    return turn.key


@pytest.mark.parametrize("guarded", [True, False])
def test_asynchronous_failover_with_loss(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, guarded: bool
) -> None:
    """The standby holds what was let go, and not that it was sent. Unguarded, every WRITE is sent twice."""
    primary = fleet.primary()
    standby = fleet.add(primary.standby("standby"))
    if not guarded:
        with primary.admin(DATABASE) as admin:
            admin.execute("alter table ledger.dispatches disable trigger dispatches_on_known_incarnation")
        monkeypatch.setattr(Intake, "once", _never)
    with floor_over(both(primary, standby)) as floor:
        story = Story(floor)
        primary.caught_up()
        standby.follow_nobody()
        with floor.dispatching(PATIENT), floor.dispatching(PATIENT):
            story.all_settled()
            assert story.sent() == ONCE
            primary.kill()
            standby.promote()
            if guarded:
                story.all_in_doubt()
                assert story.sent() == NO_WRITE_TWICE
                story.goes_on()
            else:
                eventually(lambda: story.sent()["/write"] >= 2 * ONCE["/write"])
                assert story.sent()["/write"] == 2 * ONCE["/write"], "the control"


async def _never(_intake: Intake) -> int:
    return 0


@pytest.mark.parametrize("new_timeline", [True, False])
def test_a_backup_put_back_under_running_dispatchers(fleet: Fleet, new_timeline: bool) -> None:
    server = fleet.primary()
    with floor_over(server.database(DATABASE).service_url) as floor:
        story = Story(floor)
        backup = server.back_up("backup")
        with floor.dispatching(PATIENT), floor.dispatching(PATIENT):
            story.all_settled()
            assert story.sent() == ONCE
            server.kill()
            server.put_back(backup)
            if new_timeline:
                server.recover_to_new_timeline()
            server.start(restore_command="/bin/false")
            story.all_in_doubt()
            assert story.sent() == NO_WRITE_TWICE
            story.goes_on()


@pytest.mark.parametrize("told", [True, False])
def test_a_backup_put_back_while_no_dispatcher_runs(fleet: Fleet, tmp_path: Path, told: bool) -> None:
    """On the old timeline nothing in the database tells; without the file that does, every WRITE is sent twice."""
    server = fleet.primary()
    with floor_over(server.database(DATABASE).service_url) as floor:
        story = Story(floor)
        backup = server.back_up("backup")
        witness = WitnessFile(tmp_path / "databases")
        with floor.dispatching(PATIENT, witness=witness):
            story.all_settled()
            assert story.sent() == ONCE
            settled = int(str(server.asked("select pg_current_wal_flush_lsn() - '0/0'")))
            eventually(lambda: kept(witness, server) >= settled)
        server.kill()
        server.put_back(backup)
        server.start()
        with floor.dispatching(PATIENT, witness=witness if told else None):
            if told:
                story.all_in_doubt()
                assert story.sent() == NO_WRITE_TWICE
                story.goes_on()
            else:
                eventually(lambda: story.sent()["/write"] >= 2 * ONCE["/write"])
                assert story.sent()["/write"] == 2 * ONCE["/write"], "the control"


def kept(witness: WitnessFile, server: Server) -> int:
    database = witness.last(str(server.asked("select ledger.incarnation()", DATABASE)))
    return 0 if database is None else database.flushed


def test_a_crash_alone_makes_no_doubt(fleet: Fleet) -> None:
    server = fleet.primary()
    with floor_over(server.database(DATABASE).service_url) as floor:
        with floor.dispatching(PATIENT):
            floor.turn("write", key="before").until(IntentState.SETTLED, final=True)
        waiting = floor.turn("write", key="waiting")
        with floor.dispatching(PATIENT):
            server.kill()
            server.start()
            waiting.until(IntentState.SETTLED, final=True)
        assert len(floor.tools.received("/write")) == 2
