"""Admission: places and rates of limited tools, one ledger for all who ask."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from effects.limits import Limits, Rate
from ledger.braking.admission import Admissions, Asking
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


def test_no_more_are_let_in_than_there_are_places(admissions, tenant):
    def ask(number: int) -> bool:
        return admissions.ask(asking(tenant, number, read=TWO)) is None

    with ThreadPoolExecutor(4) as asked:
        assert sum(asked.map(ask, range(12))) == 2
    refusal = admissions.ask(asking(tenant, 99, read=TWO))
    assert refusal is not None
    assert (refusal.tool, refusal.limit) == ("read", "concurrency")
    # Another tool, and another tenant, have places of their own.
    assert admissions.ask(asking(tenant, 99, other=TWO)) is None
    assert admissions.ask(asking(f"{tenant}-other", 99, read=TWO)) is None


def test_a_place_is_free_once_it_is_given_back(admissions, tenant):
    one = asking(tenant, 1, read=Limits(concurrency=1))
    assert admissions.ask(one) is None
    assert admissions.ask(one) is None  # asked again by whoever holds it
    two = asking(tenant, 2, read=Limits(concurrency=1))
    assert admissions.ask(two) is not None
    admissions.give_back(one)
    assert admissions.ask(two) is None


def test_a_place_is_held_as_long_as_the_licence_is_open(admissions, ledger, tenant):
    one = Limits(concurrency=1)
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("read", name="a"))
    name, intent = StreamName.of(tenant, turn.key), turn.intent("read").intent_id
    assert admissions.ask(Asking(name, intent, 0, {"read": one})) is None
    turn.claim("read")
    other = asking(tenant, 2, read=one)
    assert admissions.ask(other) is not None
    assert [(use.tool, use.running) for use in admissions.uses(tenant)] == [("read", 1)]
    turn.settle("read")
    assert admissions.ask(other) is None


def test_a_dispatcher_that_was_slower_gave_the_place_of_the_faster_one_back(admissions, ledger, tenant):
    """Two dispatchers find one call, and both are let in with it."""
    one = Limits(concurrency=1)
    turn = LiveTurn(ledger, tenant)
    turn.say(spell("read", name="a"))
    name, intent = StreamName.of(tenant, turn.key), turn.intent("read").intent_id
    both = Asking(name, intent, 0, {"read": one})
    assert admissions.ask(both) is None
    assert admissions.ask(both) is None
    turn.claim("read")
    admissions.give_back(both)
    assert admissions.ask(asking(tenant, 2, read=one)) is not None
    turn.settle("read")
    assert admissions.ask(asking(tenant, 2, read=one)) is None


def test_one_that_was_let_in_and_never_licensed_is_forgotten(admissions, tenant, owner):
    one = Limits(concurrency=1)
    assert admissions.ask(asking(tenant, 1, read=one)) is None
    with owner.begin() as connection:
        older = "update ledger.admissions set at = at - interval '31 seconds' where tenant = :tenant"
        connection.execute(text(older), {"tenant": tenant})
    assert admissions.ask(asking(tenant, 2, read=one)) is None


def test_the_rate_says_how_long_to_wait(admissions, tenant):
    assert admissions.ask(asking(tenant, 1, read=SLOW)) is None
    refusal = admissions.ask(asking(tenant, 2, read=SLOW))
    assert refusal is not None
    assert (refusal.tool, refusal.limit) == ("read", "rate")
    assert 3590 < refusal.wait <= 3600


def test_what_is_refused_takes_nothing_of_any_limit(admissions, tenant):
    full = {"*": Limits(rate=Rate(2, 3600.0)), "read": Limits(concurrency=1)}
    assert admissions.ask(asking(tenant, 1, **full)) is None
    other = {"*": Limits(concurrency=5), "read": Limits(concurrency=1)}
    for number in range(2, 5):
        refusal = admissions.ask(asking(tenant, number, **other))
        assert refusal is not None
        assert refusal.tool == "read"
    # None of the refused holds a place among all tools.
    everything = {use.tool: use.running for use in admissions.uses(tenant)}
    assert everything == {"*": 0, "read": 1}
