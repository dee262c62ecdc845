"""Requests that contradict the stream, or ask for what is not there: a 4xx with a code, and not a row more in any table."""

from collections.abc import Callable

import pytest

from tests.gateway.http.front import Body, drafted, problem, ruled
from tests.gateway.http.stage import END, HEAD, LA, OPERATIONS, Stage, unchanged


def _batch(*events: Body, **members: object) -> Callable[[Stage], tuple[str, Body]]:
    return lambda stage: (stage.writer.path + "/events", {**stage.writer.batch(*events), **members})


def _post(**members: object) -> Callable[[Stage], tuple[str, Body]]:
    body = {"round": 0, "span": [HEAD, END], "tool": "put", "arguments": {"name": "c"}, **members}
    return lambda stage: (stage.writer.path + "/intents", {k: v for k, v in body.items() if v is not None})


_TOKEN = {"text": "x"}
_GOOD = drafted(0, END + 1, "abcd")

# What contradicts the stream: the request, status and code.
CASES: dict[str, tuple[Callable[[Stage], tuple[str, Body]], int, str]] = {
    "older epoch": (_batch(_GOOD, writer_epoch=2), 409, "stale_writer"),
    "epoch 0": (_batch(_GOOD, writer_epoch=0), 422, "invalid_request"),
    "no events": (_batch(), 422, "invalid_request"),
    "too many events": (_batch(*[_GOOD] * 1001), 422, "invalid_request"),
    "too many tokens": (_batch({**_GOOD, "tokens": [{"text": ""}] * 10_001}), 422, "invalid_request"),
    "too many tokens in all": (
        _batch(*[{**_GOOD, "tokens": [{"text": ""}] * 5_001}] * 2),
        422,
        "invalid_request",
    ),
    "no tokens": (_batch({**_GOOD, "tokens": []}), 422, "invalid_request"),
    "unknown type": (_batch({**_GOOD, "type": "tokens.imagined"}), 422, "invalid_request"),
    "type of the gateway": (_batch({"type": "intent.final", "intent_id": "x"}), 422, "invalid_request"),
    "type of a later part": (_batch({"type": "branch.voted", "head": 0}), 422, "not_supported"),
    "unknown reason": (_batch({"type": "stream.finished", "reason": "bored"}), 422, "invalid_request"),
    "unknown branch": (_batch({**_GOOD, "branch": "other"}), 422, "unknown_branch"),
    "drafted in a later round": (_batch({**_GOOD, "round": 1}), 409, "wrong_round"),
    "no round": (_batch({k: v for k, v in _GOOD.items() if k != "round"}), 422, "invalid_request"),
    "gap": (_batch({**_GOOD, "start": END + 2}), 409, "wrong_start"),
    "overlap": (_batch({**_GOOD, "start": END}), 409, "wrong_start"),
    "negative start": (_batch({**_GOOD, "start": -1}), 422, "invalid_request"),
    "negative id": (_batch({**_GOOD, "tokens": [{"text": "", "id": -1}]}), 422, "invalid_request"),
    "good and then bad": (_batch(_GOOD, _GOOD), 409, "wrong_start"),
    "ruled in a later round": (_batch(ruled(1, HEAD, END, 0)), 409, "wrong_round"),
    "ruled behind head": (_batch(ruled(0, HEAD - 1, END, 0)), 409, "wrong_start"),
    "ruled before head": (_batch(ruled(0, HEAD + 1, END, 0)), 409, "wrong_start"),
    "ruled beyond the draft": (_batch(ruled(0, HEAD, END + 2, 0)), 409, "wrong_end"),
    "ruled reversed": (_batch(ruled(0, HEAD, HEAD - 1, 0, token=_TOKEN)), 409, "wrong_end"),
    "more accepted than judged": (_batch(ruled(0, HEAD, HEAD + 1, 2)), 422, "invalid_request"),
    "nothing judged and no token": (_batch(ruled(0, HEAD, HEAD, 0)), 422, "invalid_request"),
    "a member of the envelope": (_batch(ruled(0, HEAD, END, 0, seq=1)), 422, "invalid_request"),
    "accepted over drafts": (
        _batch({"type": "tokens.accepted", "round": 0, "tokens": [_TOKEN]}),
        409,
        "drafts_pending",
    ),
    "batch id used": (_batch(_GOOD, batch_id="used"), 409, "batch_id_reused"),
    "stream finished": (
        lambda stage: (stage.finished.path + "/events", stage.finished.batch(drafted(0, 0, "a"))),
        409,
        "stream_finished",
    ),
    "finished twice": (
        lambda stage: (
            stage.finished.path + "/events",
            stage.finished.batch({"type": "stream.finished", "reason": "stop"}),
        ),
        409,
        "stream_finished",
    ),
    "events of no stream": (
        lambda stage: ("/v1/streams/none/events", stage.writer.batch(_GOOD)),
        404,
        "unknown_commit_key",
    ),
    "events of a reserved stream": (
        lambda stage: ("/v1/streams/_effects/events", stage.writer.batch(_GOOD)),
        404,
        "unknown_commit_key",
    ),
    "empty span": (_post(span=[HEAD, HEAD]), 422, "invalid_request"),
    "reversed span": (_post(span=[END, HEAD]), 422, "invalid_request"),
    "span of one": (_post(span=[HEAD]), 422, "invalid_request"),
    "negative span": (_post(span=[-1, END]), 422, "invalid_request"),
    "span beyond the draft": (_post(span=[HEAD, END + 2]), 409, "span_not_drafted"),
    "call of another round": (_post(round=1), 409, "wrong_round"),
    "undecided and no round": (_post(round=None), 409, "wrong_round"),
    "span overlaps": (_post(span=[LA + 1, END]), 409, "span_overlap"),
    "span out of order": (_post(span=[0, LA], tool="get", arguments={"name": "a"}), 409, "span_order"),
    "other arguments": (_post(arguments={"name": "C"}), 422, "diverges_from_tokens"),
    "no arguments": (_post(arguments={}), 422, "diverges_from_tokens"),
    "arguments of another type": (_post(arguments={"name": ["c"]}), 422, "diverges_from_tokens"),
    "other arguments of a replay": (_post(span=[LA, HEAD]), 422, "diverges_from_tokens"),
    "other tool": (_post(tool="get"), 422, "diverges_from_tokens"),
    "shorter span": (_post(span=[HEAD, END - 1]), 422, "diverges_from_tokens"),
    "later start": (_post(span=[HEAD + 1, END]), 422, "diverges_from_tokens"),
    "ordinal": (_post(ordinal=1), 422, "diverges_from_tokens"),
    "call of an unknown branch": (_post(branch="other"), 422, "unknown_branch"),
    "call of no stream": (
        lambda stage: ("/v1/streams/none/intents", _post()(stage)[1]),
        404,
        "unknown_commit_key",
    ),
    "call of a finished stream": (
        lambda stage: (stage.finished.path + "/intents", _post()(stage)[1]),
        409,
        "stream_finished",
    ),
    "impossible commit key": (
        lambda stage: ("/v1/streams", {**OPERATIONS["openStream"].body(stage), "commit_key": "_effects"}),
        422,
        "invalid_request",
    ),
    "commit key with a line feed": (
        lambda stage: ("/v1/streams", {**OPERATIONS["openStream"].body(stage), "commit_key": "a\n"}),
        422,
        "invalid_request",
    ),
    "too long a commit key": (
        lambda stage: ("/v1/streams", {**OPERATIONS["openStream"].body(stage), "commit_key": "k" * 129}),
        422,
        "invalid_request",
    ),
    "doubt of no stream": (
        lambda stage: ("/v1/doubts/none/x", {"as": "happened", "reason": "r"}),
        404,
        "unknown_commit_key",
    ),
    "doubt of no intent": (
        lambda stage: ("/v1/doubts/stage/x", {"as": "happened", "reason": "r"}),
        404,
        "unknown_intent",
    ),
    "not in doubt": (
        lambda stage: (f"/v1/doubts/stage/{stage.intent_id}", {"as": "happened", "reason": "r"}),
        409,
        "not_in_doubt",
    ),
    "blank reason": (
        lambda stage: ("/v1/doubts/{}/{}".format(*stage.doubt), {"as": "happened", "reason": " \n"}),
        422,
        "invalid_request",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_contradicts_the_stream(stage: Stage, case: str) -> None:
    request, *expected = CASES[case]
    path, body = request(stage)
    assert problem(unchanged(stage, "POST", path, json=body)) == tuple(expected)


# Reading: path, status and code.
READS = {
    "/v1/streams/none": (404, "unknown_commit_key"),
    "/v1/streams/_effects": (404, "unknown_commit_key"),
    "/v1/streams/a%00b": (404, "unknown_commit_key"),
    "/v1/streams/%ED%A0%80": (404, "unknown_commit_key"),
    "/v1/streams/stage?ids=perhaps": (422, "invalid_request"),
    "/v1/streams/none/events": (404, "unknown_commit_key"),
    "/v1/streams/stage/events?after=-1": (422, "invalid_request"),
    "/v1/streams/stage/events?after=x": (422, "invalid_request"),
    f"/v1/streams/stage/events?after={2**63}": (422, "invalid_request"),
    "/v1/streams/stage/events?after=%00": (422, "invalid_request"),
    "/v1/streams/stage/events?limit=0": (422, "invalid_request"),
    "/v1/streams/stage/events?limit=1001": (422, "invalid_request"),
    "/v1/streams/stage/intents/none": (404, "unknown_intent"),
    "/v1/streams/stage/intents/a%00b": (404, "unknown_intent"),
    "/v1/streams/none/intents/none": (404, "unknown_commit_key"),
    "/v1/streams/stage/intents/none?wait=-1": (422, "invalid_request"),
    "/v1/streams/stage/intents/none?wait=61": (422, "invalid_request"),
    "/v1/streams/stage/intents/none?wait=nan": (422, "invalid_request"),
    "/v1/streams/stage/intents/none?wait=inf": (422, "invalid_request"),
    "/v1/streams/stage/intents/none?provisional=perhaps": (422, "invalid_request"),
}


@pytest.mark.parametrize("path", READS)
def test_reading_what_is_not_there(stage: Stage, path: str) -> None:
    assert problem(unchanged(stage, "GET", path)) == READS[path]


YAMLS = {
    b"tools: {a: \xff}": "invalid_text",
    b"tools: {a: \0}": "invalid_text",
    b"- tools": "invalid_effects",
    b"tools: {": "invalid_effects",
    b"": "invalid_effects",
    b"a: &a [1]\nb: *a": "invalid_effects",
    b"tools: {a: {effect: WRITE}}": "invalid_effects",
    b'tools: {"\\ud800": {effect: WRITE, upstream: {http: "http://a/"}}}': "invalid_effects",
    b"tools: !!python/object {}": "invalid_effects",
    b"tools: {}\ntools: {}": "invalid_effects",
}


@pytest.mark.parametrize("text", YAMLS)
def test_tables_that_are_not_taken(stage: Stage, text: bytes) -> None:
    headers = {"Content-Type": "application/yaml"}
    answer = unchanged(stage, "POST", "/v1/effects", content=text, headers=headers)
    assert problem(answer) == (422, YAMLS[text])
