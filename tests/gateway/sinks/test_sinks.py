"""Both sinks against real services and a real database: what the port of ``decoding.sink`` promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from decoding.errors import SinkError
from decoding.sink import EventSink, TokenEvent
from gateway.principal import everyone
from gateway.sinks.http import HttpSink
from gateway.sinks.local import LocalSink
from gateway.turn.opening import StreamTerms
from tests.gateway.http.front import Front, cut, drafted, ruled

PATIENCE = 20.0


def accepted(text: str) -> TokenEvent:
    return {"type": "tokens.accepted", "round": 0, "tokens": cut(text)}


@dataclass
class Sinks:
    """Makes sinks of one kind and closes them at the end."""

    make: Callable[[str, str], HttpSink | LocalSink]
    made: list[HttpSink | LocalSink]

    def __call__(self, key: str, source: str = "detected") -> EventSink:
        sink = self.make(key, source)
        self.made.append(sink)
        return sink


@pytest.fixture(params=["http", "local"])
def sinks(request: pytest.FixtureRequest, front: Front) -> Iterator[Sinks]:
    def make(key: str, source: str) -> HttpSink | LocalSink:
        if request.param == "http":
            return HttpSink(
                front.url, key, {"tool_calls": {"format": "hermes", "from": source}}, patience=2.0
            )
        return LocalSink(front.services.streams, everyone(), key, StreamTerms("hermes", source))

    made = Sinks(make, [])
    yield made
    for sink in made.made:
        sink.close()


@pytest.fixture
def key(request: pytest.FixtureRequest) -> str:
    return request.node.name.replace("[", ".").replace("]", "")


def test_a_new_stream_stands_at_its_beginning(sinks: Sinks, key: str) -> None:
    opened = sinks(key).open()
    assert (opened.epoch, opened.head, opened.round, opened.ids, opened.text) == (1, 0, 0, (), "")


def test_batches_are_written_in_order(sinks: Sinks, key: str, front: Front) -> None:
    sink = sinks(key)
    sink.open()
    acks = [sink.submit([accepted(f"{n:04}")]) for n in range(20)]
    seqs = [ack.result(PATIENCE) for ack in acks]
    assert seqs == sorted(set(seqs))
    shown = front.client.get(f"/v1/streams/{key}").json()
    assert shown["branches"]["main"]["text"] == "".join(f"{n:04}" for n in range(20))
    assert shown["seq"] == seqs[-1]


def test_a_later_writer_gets_ids_text_and_the_next_round(sinks: Sinks, key: str) -> None:
    first = sinks(key)
    first.open()
    first.submit([accepted("Hello wide world")])
    first.submit([drafted(0, 4, "drafts that nobody rules on")]).result(PATIENCE)
    opened = sinks(key).open()
    assert opened.epoch == 2
    assert (opened.head, opened.round) == (4, 1)
    assert (opened.ids, opened.text) == ((0, 4, 8, 12), "Hello wide world")


def test_ids_that_were_never_told_are_missing(sinks: Sinks, key: str) -> None:
    first = sinks(key)
    first.open()
    first.submit([{"type": "tokens.accepted", "round": 0, "tokens": [{"text": "no id"}]}]).result(PATIENCE)
    opened = sinks(key).open()
    assert (opened.head, opened.ids) == (1, ())


def test_an_earlier_writer_is_fenced_for_good(sinks: Sinks, key: str) -> None:
    first, second = sinks(key), sinks(key)
    first.open()
    second.open()
    for ack in [first.submit([accepted("late")]), first.submit([accepted("later")])]:
        with pytest.raises(SinkError) as refused:
            ack.result(PATIENCE)
        assert refused.value.code == "stale_writer"
    second.submit([accepted("ours")]).result(PATIENCE)
    assert sinks(key).open().text == "ours"


def test_behind_a_refused_batch_nothing_is_written(sinks: Sinks, key: str) -> None:
    sink = sinks(key)
    sink.open()
    wrong = sink.submit([ruled(3, 0, 0, 0, token={"text": "x", "id": 1})])
    fitting = sink.submit([accepted("fits")])
    for ack in (wrong, fitting):
        with pytest.raises(SinkError) as refused:
            ack.result(PATIENCE)
        assert refused.value.code == "wrong_round"
    assert sinks(key).open().text == ""


def test_an_opening_that_is_refused_says_why(sinks: Sinks, key: str) -> None:
    sinks(key).open()
    with pytest.raises(SinkError) as refused:
        sinks(key, "posted").open()
    assert refused.value.code == "exists_with_different_from"
