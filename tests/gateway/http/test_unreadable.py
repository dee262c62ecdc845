"""A stream that somebody spoiled past the ledger is answered with a problem that says so."""

from collections import Counter
from random import Random

import pytest

from ledger.sharding import StreamName
from tests.gateway.http.front import Front
from tests.ledger import barewriter, spoilt


@pytest.mark.parametrize("spoil", barewriter.UNREADABLE)
def test_a_stream_that_cannot_be_read_has_a_code_of_its_own(front: Front, spoil) -> None:
    """It was answered with a bare 500, and its neighbours' feed with it."""
    key = f"odd-{spoil.__name__}"
    spoil(front.engine, StreamName.of("default", key))
    answer = front.client.get(f"/v1/streams/{key}")
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert (told["code"], told["title"]) == ("stream_unreadable", "The stream cannot be read")
    assert key in told["detail"]
    written = front.client.post(
        f"/v1/streams/{key}/events",
        json={
            "writer_epoch": 1,
            "events": [{"type": "tokens.accepted", "round": 0, "tokens": [{"text": "x"}]}],
        },
    )
    assert written.json()["code"] == "stream_unreadable"


def test_the_feed_of_all_streams_goes_on_behind_it(front: Front) -> None:
    barewriter.without_json(front.engine, StreamName.of("default", "odd-in-the-feed"))
    front.open("fine-behind-it")
    front.seal()
    events = front.client.get("/v1/ledger/events?limit=1000").json()["events"]
    assert {"odd-in-the-feed", "fine-behind-it"} <= {event["commit_key"] for event in events}
    [odd] = [e for e in events if e["commit_key"] == "odd-in-the-feed" and e.get("unreadable")]
    assert (odd["seq"], odd["type"]) == (2, "tokens.accepted")


def test_what_is_of_another_kind_is_said_of_that_stream_and_fails_no_answer(front: Front, report) -> None:
    """A list where the name of a tool should stand was folded, and failed whoever was shown the stream."""
    chosen = Random(0).sample(spoilt.every(spoilt.histories(front.ledger, "elsewhere")), 60)
    codes: Counter[str] = Counter()
    for number, one in enumerate(chosen):
        key = f"spoilt-{number}"
        spoilt.plant(front.engine, StreamName.of("default", key), one)
        answer = front.client.get(f"/v1/streams/{key}")
        codes[answer.json().get("code", "shown")] += 1
    assert set(codes) == {"shown", "stream_unreadable"}
    front.seal()
    for path in ("/v1/doubts", "/v1/approvals", "/v1/ledger/events?limit=1000"):
        assert front.client.get(path).status_code == 200
    report(f"members of another kind in {len(chosen)} streams, {dict(codes)}")
