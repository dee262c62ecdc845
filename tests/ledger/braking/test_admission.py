"""Admission: places and rates of limited tools, one ledger for all who ask."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from effects.limits import Limits, Rate
from ledger.braking.admission import Admission, Admissions, Asking, Refusal
from ledger.sharding import StreamName
from tests.gateway.turn.desk import spell
from tests.ledger.liveturn import LiveTurn

TWO = Limits(concurrency=2)
SLOW = Limits(rate=Rate(1, 3600.0))


@pytest.fixture
def admissions(engine) -> Admissions:
    return Admissions(engine)


def asking(tenant: str, number: int, *, key: str = "k", after: int = 0, **limits: Limits) -> Asking:
    return Asking(StreamName.of(tenant, key), f"i{number}", after, limits)


def let_in(answer: Admission | Refusal) -> bool:
    return isinstance(answer, Admission)


def test_no_more_are_let_in_than_there_are_places(admissions, tenant):
    def ask(number: int) -> bool:
        return let_in(admissions.ask(asking(tenant, number, read=TWO)))

    with ThreadPoolExecutor(4) as asked:
        assert sum(asked.map(ask, range(12))) == 2
    refusal = admissions.ask(asking(tenant, 99, read=TWO))
    assert isinstance(refusal, Refusal)
    assert (refusal.tool, refusal.limit) == ("read", "concurrency")
    # Another tool, and another tenant, have places of their own.
    assert let_in(admissions.ask(asking(tenant, 99, other=TWO)))
    assert let_in(admissions.ask(asking(f"{tenant}-other", 99, read=TWO)))


def test_a_place_is_free_once_it_is_given_back(admissions, tenant):
    one, two = (asking(tenant, number, read=Limits(concurrency=1)) for number in (1, 2))
    admission = admissions.ask(one)
    assert let_in(admission)
    assert not let_in(admissions.ask(two))
    admissions.give_back(one, admission)
    assert let_in(admissions.ask(two))


def test_a_dispatcher_that_failed_gave_back_the_place_of_another_that_was_about_to_send(admissions, tenant):
    """Two dispatchers find one call, and both are let in with it; either may be the one who fails."""
    for number, fails in ((1, 0), (2, 1)):
        tool = {f"read-{number}": Limits(concurrency=1)}
        mine = asking(tenant, number, **tool)
        both = [admissions.ask(mine), admissions.ask(mine)]
        assert all(map(let_in, both))
        admissions.give_back(mine, both[fails])
        assert not let_in(admissions.ask(asking(tenant, 99, **tool)))


def test_a_place_is_held_as_long_as_the_licence_is_open(admissions, ledger, tenant):
    one = Limits(concurrency=1)
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("read", name="a"))
    name, intent = StreamName.of(tenant, turn.key), turn.intent("read").intent_id
    assert let_in(admissions.ask(Asking(name, intent, 0, {"read": one})))
    turn.claim("read")
    other = asking(tenant, 2, read=one)
    assert not let_in(admissions.ask(other))
    assert [(use.tool, use.running) for use in admissions.uses(tenant)] == [("read", 1)]
    turn.settle("read")
    assert let_in(admissions.ask(other))


def test_a_dispatcher_that_was_slower_gave_the_place_of_the_faster_one_back(admissions, ledger, tenant):
    """Two dispatchers find one call, and both are let in with it."""
    one = Limits(concurrency=1)
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("read", name="a"))
    name, intent = StreamName.of(tenant, turn.key), turn.intent("read").intent_id
    both = Asking(name, intent, 0, {"read": one})
    faster, slower = admissions.ask(both), admissions.ask(both)
    assert let_in(faster)
    assert let_in(slower)
    turn.claim("read")
    admissions.give_back(both, slower)
    assert not let_in(admissions.ask(asking(tenant, 2, read=one)))
    turn.settle("read")
    assert let_in(admissions.ask(asking(tenant, 2, read=one)))


def test_one_that_was_let_in_and_never_licensed_is_forgotten(admissions, tenant, owner):
    one = Limits(concurrency=1)
    assert let_in(admissions.ask(asking(tenant, 1, read=one)))
    with owner.begin() as connection:
        older = "update ledger.admissions set at = at - interval '31 seconds' where tenant = :tenant"
        connection.execute(text(older), {"tenant": tenant})
    assert let_in(admissions.ask(asking(tenant, 2, read=one)))


def test_the_rate_says_how_long_to_wait(admissions, tenant):
    assert let_in(admissions.ask(asking(tenant, 1, read=SLOW)))
    refusal = admissions.ask(asking(tenant, 2, read=SLOW))
    assert isinstance(refusal, Refusal)
    assert (refusal.tool, refusal.limit) == ("read", "rate")
    assert 3590 < refusal.wait <= 3600


def test_what_is_refused_takes_nothing_of_any_limit(admissions, tenant):
    full = {"*": Limits(rate=Rate(2, 3600.0)), "read": Limits(concurrency=1)}
    assert let_in(admissions.ask(asking(tenant, 1, **full)))
    other = {"*": Limits(concurrency=5), "read": Limits(concurrency=1)}
    for number in range(2, 5):
        refusal = admissions.ask(asking(tenant, number, **other))
        assert isinstance(refusal, Refusal)
        assert refusal.tool == "read"
    # None of the refused holds a place among all tools.
    everything = {use.tool: use.running for use in admissions.uses(tenant)}
    assert everything == {"*": 0, "read": 1}
