"""States of streams: remembered, read together, and never one that the database does not hold."""

from ledger.cache import StateCache
from ledger.sharding import StreamName
from ledger.states import States
from tests.ledger.story import KEY, drafted, opened, these


def test_the_cache_keeps_the_newest_and_forgets_the_oldest(ledger, tenant):
    cache = StateCache(2)
    names = [StreamName.of(tenant, f"k{number}") for number in range(3)]
    newer, older = (ledger.read(tenant, KEY), ledger.read(tenant, KEY))
    newer = ledger.append(tenant, KEY, these(opened())).state
    cache.put(names[0], newer)
    cache.put(names[0], older)
    assert cache.get(names[0]) is newer
    cache.put(names[1], older)
    cache.get(names[0])
    cache.put(names[2], older)
    assert cache.get(names[1]) is None
    assert cache.get(names[0]) is newer


def test_a_stream_that_is_named_twice_is_remembered_once(ledger, engine, tenant):
    """Two calls of one stream that wait once kept a dispatcher from every call."""
    state = ledger.append(tenant, KEY, these(opened(), drafted(0, 6))).state
    states, name = States(engine, remembered=8), StreamName.of(tenant, KEY)
    states.warm([name, name])
    assert states.known(name) == state


def test_a_stream_that_cannot_be_folded_is_left_to_whoever_decides_about_it(ledger, engine, tenant, planter):
    """One such stream once kept a dispatcher from every call."""
    good = ledger.append(tenant, KEY, these(opened(), drafted(0, 6))).state
    ledger.append(tenant, "broken", these(opened(), drafted(0, 6)))
    names = [StreamName.of(tenant, "broken"), StreamName.of(tenant, KEY)]
    planter.forget("events", names[0], "seq = 1")
    states = States(engine, remembered=8)
    states.warm(names)
    assert [states.known(name) for name in names] == [None, good]
