"""A writer's own thread is used again while something comes now and then, ends soon after, and no fork waits for it."""

import os
from collections.abc import Sequence
from threading import Event, Thread, current_thread
from types import SimpleNamespace
from typing import Any

import pytest

from ledger.draft import Draft
from ledger.group import writer
from ledger.group.writer import GroupWriter, Verdict
from tests.ledger.group.gathering import until


class Nothing:
    """Writes nothing, and notes which threads were there to write it."""

    def __init__(self) -> None:
        self.threads = []

    def write(self, drafts: Sequence[Draft]) -> list[Verdict]:
        self.threads.append(current_thread())
        return [None] * len(drafts)


def written(group: GroupWriter, name: str) -> bool:
    told = Event()
    draft: Any = SimpleNamespace(stream=name, records=())
    group.enqueue(draft, lambda _verdict: told.set())
    return told.wait(10)


def parked(group: GroupWriter) -> int:
    return len(group._parked)


def test_one_thread_writes_what_comes_one_after_the_other() -> None:
    nothing = Nothing()
    group = GroupWriter(nothing)
    for number in range(5):
        assert written(group, f"s{number}")
        until(lambda: parked(group) == 1)
    assert len(set(nothing.threads)) == 1


def test_it_ends_where_nothing_comes_and_another_begins_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "PARKED", 0.01)
    nothing = Nothing()
    group = GroupWriter(nothing)
    assert written(group, "first")
    until(lambda: not nothing.threads[0].is_alive())
    assert parked(group) == 0
    assert written(group, "second")
    assert nothing.threads[0] is not nothing.threads[1]


def test_a_thread_that_was_called_at_the_last_moment_led_twice_and_made_a_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = Event()

    class LastMoment(Event):
        """Gives up just when it was taken off the list, and before it is called."""

        def wait(self, timeout: float | None = None) -> bool:
            if timeout is None:
                return super().wait()
            until(lambda: taken.is_set() or told.is_set())
            return super().wait(0.01 if told.is_set() else 0.0)

        def set(self) -> None:
            taken.set()
            # What leads without the call has its time to do so.
            told.wait(0.3)
            super().set()

    taken, group = Event(), GroupWriter(Nothing())
    monkeypatch.setattr(writer, "Event", LastMoment)
    assert written(group, "first")
    until(lambda: parked(group) == 1)
    draft: Any = SimpleNamespace(stream="second", records=())
    group.enqueue(draft, lambda _verdict: told.set())
    assert told.wait(10)
    until(lambda: parked(group) == 0)
    assert group._free == 1


def test_a_child_process_does_not_call_a_thread_that_its_parent_has() -> None:
    group = GroupWriter(Nothing())
    assert written(group, "in the parent")
    until(lambda: parked(group) == 1)
    child = os.fork()
    if child == 0:
        os._exit(0 if written(group, "in the child") else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_place_was_lost_with_a_thread_that_could_not_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """And whoever appended later waited for ever."""

    class NoThread(Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    nothing = Nothing()
    group = GroupWriter(nothing)
    draft: Any = SimpleNamespace(stream="a", records=())
    with monkeypatch.context() as without:
        without.setattr(writer, "Thread", NoThread)
        with pytest.raises(RuntimeError):
            group.enqueue(draft, lambda _verdict: None)
        assert group.drain(0.0)
        group.write(draft)
    assert nothing.threads == [current_thread()]
    assert written(group, "b")
