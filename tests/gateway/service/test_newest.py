"""One read for all who ask at the same time, and never an answer from before the question."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from gateway.service.newest import Newest
from tests.gateway.toolserver import eventually


class Source:
    """A value that is read slowly: each read waits until it is let go."""

    def __init__(self) -> None:
        self.value = 0
        self.reads = 0
        self.begun = threading.Semaphore(0)
        self.let_go = threading.Semaphore(0)
        self.broken = False

    def read(self) -> int:
        self.reads += 1
        seen = self.value
        self.begun.release()
        assert self.let_go.acquire(timeout=20)
        if self.broken:
            raise ConnectionError("away")
        return seen


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(20) as pool:
        yield pool


def test_an_answer_never_comes_from_a_read_that_began_before_the_question(threads):
    source = Source()
    newest = Newest(source.read)
    first = threads.submit(newest.ask)
    assert source.begun.acquire(timeout=20)
    source.value = 1
    later = [threads.submit(newest.ask) for _ in range(10)]
    source.let_go.release()
    assert first.result(20) == 0
    source.let_go.release(10)
    assert [asked.result(20) for asked in later] == [1] * 10


def test_those_that_ask_together_share_a_read(threads):
    source = Source()
    newest = Newest(source.read)
    first = threads.submit(newest.ask)
    assert source.begun.acquire(timeout=20)
    later = [threads.submit(newest.ask) for _ in range(10)]
    eventually(lambda: len(newest._changed._waiters) == 10)
    source.let_go.release(12)
    assert {asked.result(20) for asked in [first, *later]} == {0}
    assert source.reads == 2


def test_a_read_that_fails_is_the_askers_trouble_alone(threads):
    source = Source()
    newest = Newest(source.read)
    source.broken = True
    first = threads.submit(newest.ask)
    assert source.begun.acquire(timeout=20)
    second = threads.submit(newest.ask)
    source.let_go.release()
    with pytest.raises(ConnectionError):
        first.result(20)
    assert source.begun.acquire(timeout=20)
    source.broken = False
    source.let_go.release()
    assert second.result(20) == 0
