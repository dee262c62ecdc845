"""Turns to reconcile, and what was found of them."""

from ledger.reconcile.finding import Finding, FindingKind
from ledger.sharding import StreamName
from tests.gateway.turn.desk import spell
from tests.ledger.liveturn import LiveTurn


def name_of(turn: LiveTurn) -> StreamName:
    return StreamName.of(turn.tenant, turn.key)


def kinds(findings: list[Finding]) -> list[FindingKind]:
    return [finding.kind for finding in findings]


def busy_turn(ledger, tenant: str, key: str = "busy") -> LiveTurn:
    """One of everything that is as it should be: early reads used, wasted and stale, writes, voided blocks, refusals."""
    turn = LiveTurn(ledger, tenant, key)
    turn.draft(spell("read", name="used"))
    turn.call("read")
    turn.rule_all()
    wrong = turn.draft(spell("read", name="wasted") + spell("create", name="wrong"))
    turn.call("read")
    turn.rule(wrong, 3, own="x")
    turn.draft(spell("delete", name="a") + spell("read", name="a"))
    turn.call("read")
    turn.rule_all()
    turn.call("delete")
    turn.call("read")
    turn.say(spell("put", name="b"))
    turn.claim("put")
    turn.lose("put")
    turn.call("put")
    turn.say(spell("create", name="c"))
    turn.claim("create")
    turn.lose("create")
    turn.resolve("create", happened=True)
    turn.say(spell("nobody", name="knows"))
    turn.say("Done.")
    turn.finish()
    return turn
