"""A turn full of one marker: in rejected and accepted drafts, in arguments, call ids, answers, evidence and batch answers."""

import re

from sqlalchemy import Engine, create_engine, text

from effects.intent import ResultStatus
from gateway.principal import everyone
from gateway.turn import dispatching
from gateway.turn.tokens import TokenEvent
from gateway.wiring import Wired, wire
from ledger.append import CloseLicence, Ledger
from ledger.change import BatchReplay, Change
from ledger.events import EventType
from ledger.redaction.purging import Purger
from ledger.redaction.recording import record
from ledger.state import Intent
from tests.gateway.turn.desk import TOOLS, spell
from tests.ledger.liveturn import SIZE, LiveTurn

MARKER = "Zq7Marker"
TOKEN_ID = 4711471147


class SecretTurn(LiveTurn):
    """One stream; ``kept`` is a call before the marked one, ``after`` one behind it, both without the marker."""

    def draft(self, text: str) -> int:
        """As every turn, with the marker as a token of its own and a marked id for each token."""
        main = self.state.branches["main"]
        parts = [p if p == MARKER else p[i : i + SIZE] for p in re.split(f"({MARKER})", text)
                 for i in range(0, 1 if p == MARKER else len(p), SIZE)]  # fmt: skip
        tokens = [{"text": part, "id": TOKEN_ID, "drafter": "small"} for part in parts]
        body = {"round": main.round, "start": main.drafted_end, "tokens": tokens}
        self.write(TokenEvent(EventType.TOKENS_DRAFTED, body))
        return self.state.branches["main"].drafted_end

    def settle_with(self, tool: str, content: object, nth: int = -1) -> None:
        intent = self.intent(tool, nth)
        outcome = dispatching.Outcome(ResultStatus.OK, content)

        def decide(unfolding):
            dispatching.settle(unfolding, self.force, intent.intent_id, intent.attempts, outcome)
            return (CloseLicence(intent_id=intent.intent_id, attempt=intent.attempts, epoch=1),)

        self._do(decide)

    def answer_late(self, intent: Intent, content: object) -> None:
        outcome = dispatching.Outcome(ResultStatus.OK, content)
        self._do(lambda u: dispatching.settle(u, self.force, intent.intent_id, intent.attempts, outcome))

    def propose(self, end: int, accepted: int, own: str) -> None:
        """A ruling with an own token, and what other drafters proposed."""
        main = self.state.branches["main"]
        body = {
            "round": main.round,
            "start": main.head,
            "end": end,
            "accepted": accepted,
            "token": {"text": own},
            "proposals": [
                {"drafter": "other", "kind": "soft", "parent": [-1], "ids": [TOKEN_ID], "text": MARKER}
            ],
            "window_digest": f"sha256:{MARKER}",
        }
        self.write(TokenEvent(EventType.TOKENS_RULED, body))


def wired_for(engine: Engine, tenant: str) -> Wired:
    """Services over the engine, with an effect table in force."""
    wired = wire(engine)
    wired.tables.apply(everyone(tenant), TOOLS.format(order="strict", reads="send"))
    return wired


def secret_turn(
    ledger: Ledger, engine: Engine, tenant: str, key: str = "turn-1", *, finish: bool = True
) -> SecretTurn:
    """The turn, with its marked ``create`` settled and final."""
    wired = wired_for(engine, tenant)
    turn = SecretTurn(ledger, tenant, key, wired.tables.current(tenant))
    turn.say(spell("read", name="kept"))
    turn.call("read")
    # Drafted wholly and rejected in its middle, drafted on and rejected again, then as it stands.
    call = spell("create", name=f"{MARKER} \u00e9", other=[MARKER])
    drafted = turn.draft(spell("create", name=f"first {MARKER}"))
    turn.propose(drafted, 9, call[36:40])
    turn.draft(f'{{"name": "other {MARKER}')
    turn.rule(turn.state.branches["main"].head + 1, 0, own=call[40:44])
    turn.say(call[44:])
    turn.claim("create")
    turn.settle_with("create", {"said": MARKER, "n": [1, {MARKER: True}]})
    turn.say(spell("read", name="after"))
    turn.call("read")
    if finish:
        turn.finish()
    _keep_batch(turn)
    return turn


def _keep_batch(turn: SecretTurn) -> None:
    replay = BatchReplay(batch_id="b1", body_digest=MARKER.encode() * 4, response=f'{{"said": "{MARKER}"}}')
    turn.ledger.append(turn.tenant, turn.key, lambda _state: Change((), (replay,)))


def recorded(turn: SecretTurn, tool: str = "create", nth: int = -1, ledger: Ledger | None = None) -> Intent:
    """The first step."""
    meant = turn.intent(tool, nth)
    record(
        ledger or turn.ledger,
        turn.tenant,
        turn.key,
        meant.intent_id,
        by="operator",
        reason="asked for",
        name_stays=turn.force.table.tools.__contains__,
    )
    return turn.state.intents[meant.intent_id]


def redacted(turn: SecretTurn, redactor: Engine, tool: str = "create", nth: int = -1) -> Intent:
    """Both steps."""
    meant = recorded(turn, tool, nth)
    assert Purger(redactor).purge(turn.tenant, turn.key) > 0
    return meant


def hits(admin_url: str, tenant: str) -> dict[str, int]:
    """Rows of each table of the database in which the marker stands, in plain or in hex."""
    engine = create_engine(admin_url)
    sought = re.compile(f"{MARKER}|{MARKER.encode().hex()}")
    found: dict[str, int] = {}
    try:
        with engine.connect() as connection:
            names = connection.execute(
                text("select schemaname || '.' || tablename from pg_tables where schemaname = 'ledger'")
            ).scalars()
            for name in names:
                with connection.connection.cursor() as cursor, cursor.copy(f"copy {name} to stdout") as copy:
                    rows = b"".join(bytes(block) for block in copy).decode().splitlines()
                of_tenant = [row for row in rows if tenant in row.split("\t")]
                count = sum(bool(sought.search(row)) for row in of_tenant)
                if count:
                    found[name] = count
    finally:
        engine.dispose()
    return found
