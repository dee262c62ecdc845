"""The sink over HTTP where the way to the gateway fails."""

from __future__ import annotations

import pytest

from decoding.errors import SinkError
from gateway.sinks.http import HttpSink
from tests.gateway.http.front import Front, cut
from tests.gateway.sinks.wire import wire_to

TERMS = {"tool_calls": {"format": "hermes", "from": "detected"}}
PATIENCE = 20.0


def accepted(text: str) -> dict[str, object]:
    return {"type": "tokens.accepted", "round": 0, "tokens": cut(text)}


def test_a_batch_whose_answer_is_lost_is_written_once(front: Front) -> None:
    with wire_to(front.url) as (wire, url), HttpSink(url, "lost-answer", TERMS) as sink:
        sink.open()
        before = sink.submit([accepted("one ")]).result(PATIENCE)
        wire.lose = 2
        lost = sink.submit([accepted("two ")])
        behind = sink.submit([accepted("three")])
        assert lost.result(PATIENCE) == before + 1
        assert behind.result(PATIENCE) == before + 2
        assert wire.lost == 2
    events = front.client.get("/v1/streams/lost-answer/events").json()["events"]
    assert [event["type"] for event in events] == ["stream.opened", *["tokens.accepted"] * 3]
    assert front.client.get("/v1/streams/lost-answer").json()["branches"]["main"]["text"] == "one two three"


def test_without_the_batch_id_it_would_be_written_twice(front: Front) -> None:
    """The control of the test above: the same question asked again, as a sink without batch ids would."""
    writer = front.open("no-batch-id", source="detected")
    for _ in range(2):
        writer.write(accepted("two "))
    assert writer.show()["branches"]["main"]["text"] == "two two "


def test_an_answer_that_is_not_there_yet_is_no_refusal(front: Front) -> None:
    with wire_to(front.url) as (wire, url), HttpSink(url, "slow-answer", TERMS) as sink:
        sink.open()
        wire.hold()
        ack = sink.submit([accepted("text")])
        with pytest.raises(TimeoutError):
            ack.result(timeout=0)
        with pytest.raises(TimeoutError):
            ack.result(timeout=0.05)
        wire.let_pass()
        assert ack.result(PATIENCE) == 2


def test_a_gateway_that_stays_away_is_given_up(front: Front) -> None:
    with wire_to(front.url) as (wire, url), HttpSink(url, "away", TERMS, patience=0.3) as sink:
        sink.open()
        wire.lose = 1000
        with pytest.raises(SinkError) as refused:
            sink.submit([accepted("text")]).result(PATIENCE)
        assert refused.value.code == "gateway_unreachable"
        wire.lose = 0
        with pytest.raises(SinkError):
            sink.submit([accepted("text")]).result(PATIENCE)


def test_terms_that_are_not_built_yet_are_refused(front: Front) -> None:
    with HttpSink(front.url, "two-branches", {**TERMS, "branches": ["a", "b"]}) as sink:
        with pytest.raises(SinkError) as refused:
            sink.open()
        assert refused.value.code == "not_supported"
    assert front.client.get("/v1/streams/two-branches").status_code == 404
