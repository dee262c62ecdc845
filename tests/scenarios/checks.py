"""What must be true after a story went through the gateway, by the shop's books and by reconciliation."""

from datetime import timedelta

from effects.classes import EffectClass
from gateway.service.scanning import find_blocks
from gateway.wiring import utc_now
from ledger.connect import connect
from ledger.reconcile.finding import Finding
from ledger.reconcile.run import Options, run
from ledger.reconcile.summary import Summary
from ledger.reconcile.toollog import ToolLog
from tests.postgres import TestDatabase
from tests.scenarios.account import Account, account
from tests.scenarios.books import FIRST_DAY, Books, call_text
from tests.scenarios.gated import GatedTurn
from tests.scenarios.story import GONE, MALFORMED, PERCENT, WANTED, Story

TENANT = "default"


def check(story: Story, turn: GatedTurn, books: Books, database: TestDatabase, who: str) -> Summary:
    """None of the three anomalies: see each part. The counts of reconciliation, for what is special to a story."""
    _no_malformed_resource(story, books)
    _no_dispatch_invisible(turn, books)
    _no_stale_answer(books)
    findings, summary = reconcile(database, turn.key, books)
    assert findings == []
    assert summary.log_entries == len(books.requests())
    told = _account(story, turn, books, who, summary)
    assert told.hidden == ()
    assert told.response == f"{GONE} is gone."
    assert not told.stale
    return summary


def reconcile(database: TestDatabase, commit_key: str, books: Books) -> tuple[list[Finding], Summary]:
    """Reconcile the stream, and all that the shop's log says under its key; without grace for what is not sent yet."""
    engine = connect(database.service_url)
    try:
        with ToolLog(books.log, complete=True) as log:
            options = Options(commit_key=commit_key, grace=timedelta(0))
            ran = run(engine, TENANT, options, now=utc_now(), find_blocks=find_blocks, tool_log=log)
            return list(ran.findings), ran.summary
    finally:
        engine.dispose()


def _no_malformed_resource(story: Story, books: Books) -> None:
    """The shop holds what running the accepted calls once each leaves, and was never told the misspelt name."""
    assert books.coupons() == {c: p for c, p in FIRST_DAY.items() if c != GONE} | {WANTED: PERCENT}
    assert MALFORMED not in books.log.read_text()
    create, delete = call_text("create_coupon", {"code": WANTED, "percent": PERCENT}), _DELETE
    created_first = "".join(story.true).index(WANTED) < "".join(story.true).index(GONE)
    assert [str(r) for r in books.effects()] == ([create, delete] if created_first else [delete, create])


def _no_dispatch_invisible(turn: GatedTurn, books: Books) -> None:
    """Every request in the shop's log is an intent of this commit key, asked for with the arguments held."""
    known = {i["intent_id"]: i for i in turn.intents()}
    for request in books.requests():
        assert request.commit_key == turn.key
        intent = known[request.intent_id]
        assert str(request) == call_text(intent["tool"], intent["arguments"])
        if intent["effect"] != EffectClass.READ_ONLY:
            assert (intent["block"], intent["attempts"], intent["final"]) == ("cleared", 1, True)
    sent = {i["intent_id"]: i["attempts"] for i in known.values() if i["attempts"]}
    asked = [r.intent_id for r in books.requests()]
    assert {intent_id: asked.count(intent_id) for intent_id in asked} == sent


def _no_stale_answer(books: Books) -> None:
    """The read whose answer was given was asked after the delete was done."""
    *_, last = (r for r in books.requests() if r.tool == "get_coupon")
    (deleted,) = (r for r in books.requests() if r.tool == "delete_coupon")
    assert last.came > deleted.done
    assert last.status == 404


def _account(story: Story, turn: GatedTurn, books: Books, who: str, summary: Summary) -> Account:
    known = {i["intent_id"] for i in turn.intents()}
    counts = (
        f"blocks {summary.blocks_cleared} cleared {summary.blocks_voided} voided, early reads "
        f"{summary.early_used} used {summary.early_wasted} wasted {summary.early_stale} stale"
    )
    seen = [request for request in books.requests() if request.intent_id in known]
    return account(who, story, books, seen=seen, response=turn.response(), counts=counts)


_DELETE = call_text("delete_coupon", {"code": GONE})
