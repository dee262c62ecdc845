"""No dispatch without the events that license it: the database refuses what contradicts the rule.

Everything here runs under the services' login and past the gate: rows are written as a faulty service would.
"""

from dataclasses import dataclass, field

import pytest
from sqlalchemy import text

from ledger.append import Change, CloseLicence, Licence, SeizeLicence
from ledger.errors import LeaseLost, LicenceRefused
from ledger.events import EventType, NewEvent
from tests.ledger.story import (
    INTENT,
    KEY,
    accepted,
    drafted,
    held,
    opened,
    released,
    ruled,
    settled,
    started,
    these,
)

CLASSES = ("READ_ONLY", "IDEMPOTENT", "WRITE")


def licence(effect: str = "WRITE", attempt: int = 1, **changed) -> Licence:
    values = {
        "intent_id": INTENT,
        "attempt": attempt,
        "branch": "main",
        "effect": effect,
        "once_key": INTENT if effect == "WRITE" else None,
        "worker": "w1",
        "epoch": 1,
        "lease_seconds": 30.0,
    }
    return Licence(**(values | changed))


@dataclass
class Turn:
    """Appends to one stream."""

    ledger: object
    tenant: str
    key: str = KEY
    seqs: list[int] = field(default_factory=list)

    def say(self, *events: NewEvent) -> "Turn":
        self.ledger.append(self.tenant, self.key, these(*events))
        return self

    def license(self, row: Licence, *, begin: bool = True) -> None:
        events = (started(row.attempt, row.effect),) if begin else ()
        self.ledger.append(self.tenant, self.key, lambda _: Change(events, (row,)))

    def side(self, *rows, events: tuple[NewEvent, ...] = ()) -> None:
        self.ledger.append(self.tenant, self.key, lambda _: Change(events, rows))

    def refused(self, row: Licence, *, begin: bool = True) -> str:
        before = self.ledger.read(self.tenant, self.key).seq
        with pytest.raises(LicenceRefused) as caught:
            self.license(row, begin=begin)
        assert caught.value.code == "speculative_effect_violation"
        assert self.ledger.read(self.tenant, self.key).seq == before
        return caught.value.constraint


@pytest.fixture
def turn(ledger, tenant) -> Turn:
    """A stream with a block over [2, 6), drafted by seq 2."""
    return Turn(ledger, tenant).say(opened(), drafted(0, 8))


@pytest.fixture
def cleared(turn) -> Turn:
    return turn.say(held(), ruled(0, 6, 6), released())


@pytest.mark.parametrize("effect", CLASSES)
def test_a_cleared_block_is_licensed(turn, effect):
    turn.say(held(effect), ruled(0, 6, 6), released(effect)).license(licence(effect))


@pytest.mark.parametrize("effect", CLASSES)
def test_rows_of_the_same_transaction_count(turn, effect):
    events = (held(effect), ruled(0, 6, 6), released(effect), started(effect=effect))
    turn.side(licence(effect), events=events)


@pytest.mark.parametrize("effect", ["IDEMPOTENT", "WRITE"])
def test_an_undecided_block_is_not_unless_it_is_a_read(turn, effect):
    turn.say(held("READ_ONLY")).license(licence("READ_ONLY"))
    assert turn.refused(licence(effect, attempt=2)) == "licence_block_accepted"


@pytest.mark.parametrize("effect", ["IDEMPOTENT", "WRITE"])
def test_a_ruling_short_of_the_block_is_not_enough(turn, effect):
    assert turn.say(held(effect), ruled(0, 5, 5)).refused(licence(effect)) == "licence_block_accepted"


@pytest.mark.parametrize("effect", ["IDEMPOTENT", "WRITE"])
@pytest.mark.parametrize("kept", [0, 2, 5])
def test_a_cut_inside_the_block_is_refused_however_far_head_comes_later(turn, effect, kept):
    turn.say(held(effect), ruled(0, 8, kept, own=True), accepted(kept + 1, 10))
    assert turn.refused(licence(effect)) == "licence_block_uncut"


def test_a_cut_behind_the_block_does_not_concern_it(turn):
    turn.say(held(), ruled(0, 8, 6, own=True), accepted(7, 3)).license(licence())


def test_the_same_ruling_may_bring_the_last_token_and_accept_it(turn):
    """Four of the block's tokens drafted, the fourth rejected, the target's own token ends the block."""
    turn.say(ruled(0, 8, 5, own=True), held(closed_seq=3)).license(licence())


def test_a_ruling_from_before_the_block_closed_does_not_count(turn):
    """A redrafted block: head was there before, but with other tokens."""
    assert turn.say(ruled(0, 6, 6), held(closed_seq=4)).refused(licence()) == "licence_block_accepted"


@pytest.mark.parametrize(("branch", "constraint"), [("side", "licence_block_accepted"), ("main", None)])
def test_rulings_of_another_branch_do_not_count(ledger, tenant, branch, constraint):
    turn = Turn(ledger, tenant).say(opened("main", "side"), drafted(0, 8), drafted(0, 8, branch="side"))
    turn.say(held(), ruled(0, 6, 6, branch=branch))
    if constraint is None:
        turn.license(licence())
    else:
        assert turn.refused(licence()) == constraint


def test_cuts_of_another_branch_do_not_count(ledger, tenant):
    turn = Turn(ledger, tenant).say(opened("main", "side"), drafted(0, 8), drafted(0, 8, branch="side"))
    turn.say(held(), ruled(0, 6, 3, branch="side"), ruled(0, 6, 6)).license(licence())


def test_rulings_of_another_stream_do_not_count(ledger, tenant):
    Turn(ledger, tenant, "turn-2").say(opened(), drafted(0, 8), held(), ruled(0, 6, 6))
    turn = Turn(ledger, tenant).say(opened(), drafted(0, 8), held())
    assert turn.refused(licence()) == "licence_block_accepted"


def test_events_that_are_no_ruling_do_not_count(turn):
    turn.say(held(), NewEvent(EventType.EFFECTS_CHANGED, {}, branch="main", head_after=20))
    assert turn.refused(licence()) == "licence_block_accepted"


def test_another_branch_than_the_intents_is_refused(cleared):
    assert cleared.refused(licence(branch="side")) == "licence_same_branch"


def test_an_intent_that_was_never_held_is_refused(turn):
    turn.say(ruled(0, 6, 6), NewEvent(EventType.EFFECTS_CHANGED, {}, intent_id=INTENT, attempt=1))
    row = licence(started_seq=4)
    assert turn.refused(row, begin=False) == "licence_intent_held"


def test_no_licence_without_its_dispatch_started(cleared):
    assert cleared.refused(licence(started_seq=5), begin=False) == "licence_started"
    with pytest.raises(ValueError, match=r"no dispatch\.started"):
        cleared.license(licence(), begin=False)


def test_a_dispatch_started_in_an_earlier_transaction_counts(cleared):
    cleared.say(started()).license(licence(started_seq=6), begin=False)


def test_a_dispatch_started_of_another_attempt_does_not_count(cleared):
    cleared.say(started(attempt=1))
    assert cleared.refused(licence(attempt=2, started_seq=6), begin=False) == "licence_started"


@pytest.mark.parametrize("held_as", CLASSES)
@pytest.mark.parametrize("sent_as", CLASSES)
def test_the_class_is_never_lowered(turn, held_as, sent_as):
    turn.say(held(held_as), ruled(0, 6, 6))
    if CLASSES.index(sent_as) < CLASSES.index(held_as):
        assert turn.refused(licence(sent_as)) == "licence_effect_not_lowered"
    else:
        turn.license(licence(sent_as))


def test_the_class_of_the_release_counts_too(turn):
    turn.say(held("READ_ONLY"), ruled(0, 6, 6), released("WRITE"))
    assert turn.refused(licence("READ_ONLY")) == "licence_effect_not_lowered"
    turn.license(licence("WRITE"))


@pytest.mark.parametrize("effect", ["read_only", "NONE", ""])
def test_a_class_that_is_none_is_refused(cleared, effect):
    assert cleared.refused(licence(effect)) in ("licence_effect_not_lowered", "dispatches_effect_known")


def test_a_held_that_does_not_say_where_the_block_closed_is_refused(ledger, tenant):
    turn = Turn(ledger, tenant, "turn-2").say(opened(), drafted(0, 8), ruled(0, 6, 6), held(closed_seq=None))
    assert turn.refused(licence()) == "licence_block_known"


def test_a_redacted_intent_is_refused(cleared, owner):
    with owner.begin() as connection:
        connection.execute(text("alter table ledger.events disable trigger all"))
        statement = "update ledger.events set payload = null, salt = null where tenant = :t and seq = 3"
        connection.execute(text(statement), {"t": cleared.tenant})
        connection.execute(text("alter table ledger.events enable trigger all"))
    assert cleared.refused(licence()) == "licence_payload_present"


def test_a_write_needs_a_once_key(cleared):
    assert cleared.refused(licence(once_key=None)) == "dispatches_write_once"


def test_a_write_is_licensed_once(cleared):
    cleared.license(licence())
    assert cleared.refused(licence(attempt=2)) == "licence_write_once"
    assert cleared.refused(licence(attempt=2, once_key="another")) == "licence_write_once"


def test_a_closed_write_stays_licensed_once(cleared):
    cleared.license(licence())
    cleared.side(CloseLicence(intent_id=INTENT, attempt=1, epoch=1), events=(settled(),))
    assert cleared.refused(licence(attempt=2, once_key="another")) == "licence_write_once"


def test_two_intents_cannot_hold_one_once_key(turn):
    turn.say(held(), held(intent_id="i2"), ruled(0, 6, 6)).license(licence())
    begin = NewEvent(
        EventType.DISPATCH_STARTED,
        {"intent_id": "i2", "attempt": 1, "worker": "w", "epoch": 1, "effect": "WRITE"},
        branch="main",
        intent_id="i2",
        attempt=1,
    )
    turn.say(begin)
    row = licence(intent_id="i2", started_seq=7)
    assert turn.refused(row, begin=False) == "dispatches_once"


def test_a_write_known_as_unsent_is_sent_again(cleared):
    cleared.license(licence())
    close = CloseLicence(intent_id=INTENT, attempt=1, epoch=1, unsent=True)
    cleared.side(close, events=(settled(unsent=True),))
    cleared.license(licence(attempt=2))


@pytest.mark.parametrize("outcome", [(), (settled(unsent=False),), (settled(attempt=2, unsent=True),)])
def test_unsent_needs_a_settling_that_says_so(cleared, outcome):
    cleared.license(licence())
    with pytest.raises(LicenceRefused) as caught:
        cleared.side(CloseLicence(intent_id=INTENT, attempt=1, epoch=1, unsent=True), events=outcome)
    assert caught.value.constraint == "licence_unsent_recorded"


@pytest.mark.parametrize("effect", ["READ_ONLY", "IDEMPOTENT"])
def test_reads_and_idempotent_calls_are_sent_again(turn, effect):
    turn.say(held(effect), ruled(0, 6, 6), released(effect)).license(licence(effect))
    turn.license(licence(effect, attempt=2))


def test_an_idempotent_call_that_was_sent_is_not_sent_as_a_write(turn):
    """After its window it is a WRITE, and a WRITE that may have happened is in doubt."""
    turn.say(held("IDEMPOTENT"), ruled(0, 6, 6)).license(licence("IDEMPOTENT"))
    assert turn.refused(licence("WRITE", attempt=2)) == "licence_write_once"


def test_a_licence_begins_open_and_not_unsent(cleared, engine):
    cleared.say(started())
    values = "select shard, tenant, commit_key, intent_id, 1, branch, 'WRITE', {}, 'w', 1, now(), 6, {}, {} "
    source = "from ledger.intents where tenant = :t"
    insert = (
        "insert into ledger.dispatches (shard, tenant, commit_key, intent_id, attempt, branch, effect, once_key,"
        " worker, epoch, lease_until, started_seq, open, unsent) "
    )
    for key, is_open, unsent in (("null", True, True), ("'k'", False, False)):
        statement = insert + values.format(key, is_open, unsent) + source
        with pytest.raises(Exception, match="begin open"), engine.begin() as connection:
            connection.execute(text(statement), {"t": cleared.tenant})
    with engine.begin() as connection:
        connection.execute(text(insert + values.format("'k'", True, False) + source), {"t": cleared.tenant})


CHANGES = {
    "licence_identity_kept": [
        "shard = shard - 1",
        "tenant = 'x'",
        "commit_key = 'x'",
        "intent_id = 'x'",
        "attempt = 2",
        "branch = 'side'",
        "effect = 'READ_ONLY'",
        "started_seq = 1",
    ],
    "licence_epoch_kept": ["epoch = 0"],
    "licence_once_key_kept": ["once_key = null", "once_key = 'x'"],
    "licence_unsent_recorded": ["unsent = true", "unsent = true, once_key = null"],
}


@pytest.mark.parametrize(
    ("change", "constraint"), [(change, name) for name, changes in CHANGES.items() for change in changes]
)
def test_a_granted_licence_keeps_what_it_says(cleared, owner, change, constraint):
    """Not even for the owner; a dispatcher has no grant for most of it."""
    cleared.license(licence())
    with pytest.raises(Exception, match="is refused") as caught, owner.begin() as connection:
        connection.execute(
            text(f"update ledger.dispatches set {change} where tenant = :t"), {"t": cleared.tenant}
        )
    assert caught.value.orig.diag.constraint_name == constraint


@pytest.mark.parametrize("change", ["open = true", "unsent = false", "once_key = 'x'"])
def test_a_closed_and_unsent_licence_stays_so(cleared, engine, change):
    cleared.license(licence())
    close = CloseLicence(intent_id=INTENT, attempt=1, epoch=1, unsent=True)
    cleared.side(close, events=(settled(unsent=True),))
    with pytest.raises(Exception, match="is refused"), engine.begin() as connection:
        connection.execute(
            text(f"update ledger.dispatches set {change} where tenant = :t"), {"t": cleared.tenant}
        )


def test_leases_are_renewed_by_their_holder_alone(cleared):
    cleared.license(licence())
    renew = cleared.ledger.renew
    assert renew(cleared.tenant, KEY, INTENT, 1, 1, 60.0)
    assert not renew(cleared.tenant, KEY, INTENT, 1, 2, 60.0)
    assert not renew(cleared.tenant, KEY, INTENT, 2, 1, 60.0)
    cleared.side(CloseLicence(intent_id=INTENT, attempt=1, epoch=1), events=(settled(),))
    assert not renew(cleared.tenant, KEY, INTENT, 1, 1, 60.0)


def test_a_live_lease_is_not_seized(cleared):
    cleared.license(licence())
    with pytest.raises(LeaseLost):
        cleared.side(SeizeLicence(intent_id=INTENT, attempt=1, seen_epoch=1))


def test_a_lease_that_ran_out_is_seized_once_and_its_holder_is_fenced(cleared):
    cleared.license(licence(lease_seconds=-1.0))
    doubt = NewEvent(
        EventType.DISPATCH_IN_DOUBT,
        {"intent_id": INTENT, "attempt": 1, "because": "lease"},
        branch="main",
        intent_id=INTENT,
        attempt=1,
    )
    cleared.side(SeizeLicence(intent_id=INTENT, attempt=1, seen_epoch=1), events=(doubt,))
    seq = cleared.ledger.read(cleared.tenant, KEY).seq
    with pytest.raises(LeaseLost):
        cleared.side(SeizeLicence(intent_id=INTENT, attempt=1, seen_epoch=1), events=(doubt,))
    with pytest.raises(LeaseLost):
        cleared.side(CloseLicence(intent_id=INTENT, attempt=1, epoch=1), events=(settled(),))
    assert not cleared.ledger.renew(cleared.tenant, KEY, INTENT, 1, 1, 60.0)
    assert cleared.ledger.read(cleared.tenant, KEY).seq == seq


def test_an_outcome_is_recorded_once(cleared):
    cleared.license(licence())
    close = CloseLicence(intent_id=INTENT, attempt=1, epoch=1)
    cleared.side(close, events=(settled(),))
    with pytest.raises(LeaseLost):
        cleared.side(close, events=(settled(),))
