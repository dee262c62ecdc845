"""Group commit: what gathers goes out together, whoever is at fault fails alone, nobody is told before it is durable."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event
from types import SimpleNamespace

import psycopg
import pytest

from ledger.append import BatchReplay, Change, Ledger, Licence
from ledger.errors import BatchIdTaken, LedgerUnavailable, LicenceRefused, OutcomeUnknown, UnwritableValue
from ledger.group.transaction import GroupTransaction
from ledger.group.writer import GroupWriter
from tests import plain
from tests.ledger.group.gathering import Gathered, queued, until, watch
from tests.ledger.story import (
    INTENT,
    accepted,
    drafted,
    held,
    opened,
    released,
    ruled,
    started,
    these,
)
from tests.postgres import libpq

KEYS = [f"key-{number}" for number in range(12)]
REFUSED = Licence(
    intent_id=INTENT, attempt=1, branch="main", effect="WRITE", worker="w", epoch=1, lease_seconds=9.0,
    once_key=INTENT,
)  # fmt: skip


@pytest.fixture
def watched(ledger):
    return watch(ledger)


@pytest.fixture
def gathered(ledger, tenant, watched):
    return Gathered(ledger, tenant, watched)


def one_more(state):
    return Change((accepted(state.branches["main"].head, 1),))


def test_what_waits_for_a_commit_goes_out_with_the_next(ledger, tenant, watched, gathered):
    futures = gathered.append({key: these(opened(), accepted(0, 2)) for key in KEYS})
    for key, future in futures.items():
        assert [event.seq for event in future.result(30).events] == [1, 2]
        assert ledger.read(tenant, key) == future.result().state
    assert [sorted(group) for group in watched.groups] == [["first-0"], sorted(KEYS)]


def test_a_lone_append_waits_for_nobody(ledger, tenant, watched):
    for key in KEYS[:3]:
        ledger.append(tenant, key, these(opened()))
    assert watched.groups == [[key] for key in KEYS[:3]]


def test_two_appends_of_one_stream_never_share_a_group(ledger, tenant, watched, gathered):
    """They could not both stand on the same state; the others decide again behind the first."""
    ledger.append(tenant, "same", these(opened()))
    watched.gate.clear()
    before = len(watched.groups)
    holding = gathered.pool.submit(ledger.append, tenant, "other", these(opened()))
    until(lambda: len(watched.groups) == before + 1)
    # Turns of threads are waited for shortly, so all three wait in the queue before long.
    futures = [gathered.pool.submit(ledger.append, tenant, "same", one_more) for _ in range(3)]
    until(lambda: queued(ledger) == 3)
    watched.gate.set()
    holding.result(30)
    heads = sorted(future.result(30).state.branches["main"].head for future in futures)
    assert heads == [1, 2, 3]
    assert all(len(group) == len(set(group)) for group in watched.groups)


def test_a_conflict_fails_the_one_stream_and_not_its_neighbours(ledger, engine, tenant, watched, gathered):
    other = Ledger(engine, clock=lambda: datetime.now(UTC))
    for key in KEYS:
        ledger.append(tenant, key, these(opened()))
    other.append(tenant, KEYS[3], one_more)  # of which the first ledger knows nothing
    asked = dict.fromkeys(KEYS, 0)

    def counting(key):
        def decide(state):
            asked[key] += 1
            return one_more(state)

        return decide

    futures = gathered.append({key: counting(key) for key in KEYS})
    heads = {key: future.result(30).state.branches["main"].head for key, future in futures.items()}
    assert heads == {key: 2 if key == KEYS[3] else 1 for key in KEYS}
    assert asked == {key: 2 if key == KEYS[3] else 1 for key in KEYS}


def refused(state):
    """Asks for a licence that no event covers."""
    return Change((*one_more(state).events, started(1)), (REFUSED,))


def unholdable(_state):
    """A text that no column can hold."""
    return Change((accepted(0, 1), held(intent_id="nul\x00")))


@pytest.mark.parametrize(("decide", "error"), [(refused, LicenceRefused), (unholdable, UnwritableValue)])
def test_who_is_at_fault_fails_alone(ledger, tenant, gathered, decide, error):
    """Also where the database only says so in the middle of the transaction."""
    for key in KEYS:
        ledger.append(tenant, key, these(opened(), drafted(0, 8), held()))
    futures = gathered.append({key: decide if key == KEYS[5] else these(ruled(0, 8, 8)) for key in KEYS})
    for key, future in futures.items():
        if key == KEYS[5]:
            with pytest.raises(error):
                future.result(30)
            assert ledger.read(tenant, key).seq == 3
        else:
            assert future.result(30).state.branches["main"].head == 8


def test_one_licence_that_is_refused_takes_no_other_along(ledger, tenant, gathered):
    """The database refuses the statement that grants them all, and does not say for whose sake."""
    for key in KEYS:
        clearing = () if key == KEYS[5] else (ruled(0, 6, 6), released())
        ledger.append(tenant, key, these(opened(), drafted(0, 8), held(), *clearing))
    licensed = replace(REFUSED, worker="w1")
    futures = gathered.append({key: lambda _s: Change((started(1),), (licensed,)) for key in KEYS})
    for key, future in futures.items():
        if key == KEYS[5]:
            with pytest.raises(LicenceRefused):
                future.result(30)
        else:
            assert future.result(30).state.intents[INTENT].open_attempt == 1


def test_a_batch_id_that_was_taken_meanwhile_fails_alone(ledger, engine, tenant, gathered):
    for key in KEYS:
        ledger.append(tenant, key, these(opened()))
    batch = BatchReplay(batch_id="b", body_digest=b"x" * 32, response="first")
    Ledger(engine, clock=lambda: datetime.now(UTC)).append(tenant, KEYS[2], lambda _s: Change((), (batch,)))
    later = BatchReplay(batch_id="b", body_digest=b"y" * 32, response="second")

    futures = gathered.append({key: lambda s: Change(one_more(s).events, (later,)) for key in KEYS})
    for key, future in futures.items():
        if key == KEYS[2]:
            with pytest.raises(BatchIdTaken):
                future.result(30)
        else:
            future.result(30)
        assert ledger.batch(tenant, key, "b").response == ("first" if key == KEYS[2] else "second")
        assert ledger.read(tenant, key).branches["main"].head == (0 if key == KEYS[2] else 1)


def test_groups_of_two_processes_over_the_same_streams_never_lock_each_other_out(
    engine, module_database, tenant
):
    """Each takes the rows in the order of their key, however they gathered."""
    ledgers = [Ledger(engine, clock=lambda: datetime.now(UTC)) for _ in range(2)]
    for key in KEYS:
        ledgers[0].append(tenant, key, these(opened()))
    with psycopg.connect(libpq(module_database.admin_url), autocommit=True) as admin:
        query = "select deadlocks from pg_stat_database where datname = current_database()"
        before = admin.execute(query).fetchone()
        with ThreadPoolExecutor(24) as pool:
            jobs = [
                pool.submit(ledgers[which].append, tenant, key, one_more)
                for turn in range(8)
                for which, order in enumerate((KEYS, KEYS[::-1]))
                for key in order
            ]
            for job in jobs:
                job.result(60)
        admin.execute("select pg_stat_clear_snapshot()")
        assert admin.execute(query).fetchone() == before
    assert {ledgers[0].read(tenant, key).branches["main"].head for key in KEYS} == {16}


@pytest.mark.skipif(plain.wanted(), reason="plain engines have no NOTIFY")
def test_one_notify_a_group_and_only_where_something_was_released(engine, module_database, tenant):
    ledger = Ledger(engine, clock=lambda: datetime.now(UTC), notify=True)
    gathered = Gathered(ledger, tenant, watch(ledger))
    with psycopg.connect(libpq(module_database.admin_url), autocommit=True) as listener:
        listener.execute("listen commitgate")
        for future in gathered.append({key: these(opened(), drafted(0, 8), held()) for key in KEYS}).values():
            future.result(30)
        for future in gathered.append({key: these(ruled(0, 8, 8), released()) for key in KEYS}).values():
            future.result(30)
        heard = list(listener.notifies(timeout=0.5))
    assert [note.channel for note in heard] == ["commitgate"]


def test_a_submitted_change_is_told_when_it_is_durable(ledger, engine, tenant, watched):
    watched.gate.clear()
    futures = [ledger.submit(tenant, key, these(opened())) for key in KEYS]
    until(lambda: len(watched.groups) == 1)
    assert not any(future.done() for future in futures)
    watched.gate.set()
    assert [future.result(30).state.seq for future in futures] == [1] * len(KEYS)
    other = Ledger(engine, clock=lambda: datetime.now(UTC))
    assert [other.read(tenant, key).seq for key in KEYS] == [1] * len(KEYS)


def test_a_submitted_change_is_decided_again_behind_a_faster_writer(ledger, engine, tenant):
    Ledger(engine, clock=lambda: datetime.now(UTC)).append(tenant, "k", these(opened(), accepted(0, 3)))
    assert ledger.submit(tenant, "k", one_more).result(30).state.branches["main"].head == 4


def test_what_a_submitted_decision_raises_comes_out_of_the_future(ledger, tenant):
    def decide(_state):
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        ledger.submit(tenant, "k", decide).result(30)


def test_who_waits_is_told_when_the_one_that_writes_is_interrupted(engine, tenant):
    """A caller that is called on to write for all may be interrupted: nobody may wait for ever."""

    class Interrupted:
        def __init__(self, inner) -> None:
            self._inner = inner

        def write(self, drafts):
            if len(drafts) > 1:
                raise KeyboardInterrupt
            return self._inner.write(drafts)

    ledger = Ledger(engine, clock=lambda: datetime.now(UTC))
    ledger._writer = GroupWriter(Interrupted(GroupTransaction(engine, lambda _s: None, notify=False)))
    gathered = Gathered(ledger, tenant, watch(ledger))
    futures = gathered.append({key: these(opened()) for key in KEYS})
    errors = [type(future.exception(30)) for future in futures.values()]
    assert sorted(error.__name__ for error in set(errors)) == ["KeyboardInterrupt", "OutcomeUnknown"]
    assert errors.count(OutcomeUnknown) == len(KEYS) - 1
    assert ledger.append(tenant, "afterwards", these(opened())).state.seq == 1


class Late(Event):
    """What a caller waits for; ``late`` is called before it goes on."""

    late = staticmethod(lambda: None)

    def wait(self, timeout=None):
        super().wait(timeout)
        self.late()
        return True


class Held:
    """Stands for the transaction: writes nothing, and each stream once its gate is open."""

    def __init__(self, *gated) -> None:
        self.gates = {name: Event() for name in gated}
        self.groups = []

    def write(self, drafts):
        names = [draft.stream for draft in drafts]
        self.groups.append(names)
        for name in names:
            assert name not in self.gates or self.gates[name].wait(30)
        return [None] * len(drafts)


def told(name):
    return SimpleNamespace(stream=name, records=())


def test_a_place_is_not_lost_with_a_caller_that_another_place_has_written_for(monkeypatch):
    """It was called to take the place, and before it woke somebody else had written its append."""
    awake = Event()
    monkeypatch.setattr("ledger.group.writer.Event", Late)
    monkeypatch.setattr(Late, "late", lambda _self: awake.wait(30))
    transaction = Held("a", "b")
    writer = GroupWriter(transaction, places=2)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(writer.write, told("a"))
        until(lambda: transaction.groups == [["a"]])
        writer.enqueue(told("b"), lambda _verdict: None)
        until(lambda: transaction.groups == [["a"], ["b"]])
        called = pool.submit(writer.write, told("c"))
        until(lambda: len(writer._queue) == 1)
        transaction.gates["a"].set()
        first.result(30)
        transaction.gates["b"].set()
        until(lambda: transaction.groups == [["a"], ["b"], ["c"]])
        awake.set()
        called.result(30)
        transaction.gates = {name: Event() for name in "de"}
        both = [pool.submit(writer.write, told(name)) for name in "de"]
        until(lambda: sorted(transaction.groups[3:]) == [["d"], ["e"]])
        for gate in transaction.gates.values():
            gate.set()
        assert [one.result(30) for one in both] == [None, None]


def test_the_place_is_not_handed_to_a_caller_that_was_interrupted_while_it_waited(monkeypatch):
    monkeypatch.setattr("ledger.group.writer.Event", Late)
    transaction = Held("a")
    writer = GroupWriter(transaction)

    def interrupted(_self):
        raise KeyboardInterrupt

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(writer.write, told("a"))
        until(lambda: transaction.groups == [["a"]])
        monkeypatch.setattr(Late, "late", interrupted)
        gone = pool.submit(writer.write, told("b"))
        until(lambda: len(writer._queue) == 1)
        transaction.gates["a"].set()
        first.result(30)
        with pytest.raises(KeyboardInterrupt):
            gone.result(30)
        monkeypatch.setattr(Late, "late", lambda _self: None)
        assert pool.submit(writer.write, told("c")).result(30) is None


def test_who_is_submitted_behind_a_faster_writer_is_told_when_the_ledger_is_closed(
    ledger, engine, tenant, watched
):
    """Telling one of a group fails, and its neighbours waited for ever."""
    Ledger(engine, clock=lambda: datetime.now(UTC)).append(tenant, KEYS[0], these(opened()))
    watched.gate.clear()
    first = ledger.submit(tenant, "first", these(opened()))
    until(lambda: len(watched.groups) == 1)
    futures = [ledger.submit(tenant, key, these(opened(), accepted(0, 1))) for key in KEYS]
    # As where somebody submits while it is closed.
    ledger._again.shutdown()
    watched.gate.set()
    first.result(30)
    with pytest.raises(LedgerUnavailable):
        futures[0].result(30)
    assert [future.result(30).state.seq for future in futures[1:]] == [2] * (len(KEYS) - 1)


def test_a_group_was_still_under_way_when_the_ledger_was_closed(ledger, engine, tenant, watched):
    """Whoever then let the pool go left a connection behind that nobody closed."""
    watched.gate.clear()
    first = ledger.submit(tenant, "first", these(opened()))
    until(lambda: len(watched.groups) == 1)
    behind = ledger.submit(tenant, "behind", these(opened()))
    with ThreadPoolExecutor(1) as pool:
        closing = pool.submit(ledger.close)
        with pytest.raises(TimeoutError):
            closing.result(0.3)
        assert not first.done()
        watched.gate.set()
        closing.result(30)
    assert [future.done() for future in (first, behind)] == [True, True]
    assert engine.pool.checkedout() == 0


def test_a_group_that_hangs_keeps_nobody_who_closes_for_ever():
    transaction = Held("a")
    writer = GroupWriter(transaction)
    writer.enqueue(told("a"), lambda _verdict: None)
    assert not writer.drain(0.01)
    transaction.gates["a"].set()
    assert writer.drain(30)
