"""A stream at a stage where much can be wrong, and the operations with a body that it would take."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2

from tests.gateway.http.front import Body, Front, Writer, block, cut, drafted, ruled

A, B, C = block("get", name="a"), block("put", name="b"), block("put", name="c")
LA, LB, LC = (len(cut(text)) for text in (A, B, C))
HEAD, END = LA + LB, LA + LB + LC


@dataclass(frozen=True)
class Stage:
    """A stream with an unposted block, a posted one, both accepted, and a drafted one; an intent in doubt, and one that
    waits for a person.
    """

    front: Front
    writer: Writer
    finished: Writer
    intent_id: str
    doubt: tuple[str, str]
    approval: tuple[str, str]
    digest: str


def set_up(front: Front) -> Stage:
    writer = front.open("stage")
    for text in (A, B, C):
        writer.draft(text)
    writer.rule(HEAD, HEAD)
    posted = writer.post({"span": [LA, HEAD], "tool": "put", "arguments": {"name": "b"}})
    assert posted.status_code == 202
    writer.write(
        {"type": "tokens.drafted", "round": 0, "start": END, "tokens": [{"text": "."}]}, batch_id="used"
    )
    finished = front.open("finished")
    finished.finish("error")
    awaiting = front.awaiting_approval()
    approval = (awaiting["commit_key"], awaiting["intent_id"])
    digest = awaiting["arguments_digest"]
    return Stage(front, writer, finished, posted.json()["intent_id"], front.in_doubt(), approval, digest)


@dataclass(frozen=True)
class Operation:
    """An operation with a body: where, and a body that would be taken. ``loose``: members of any shape."""

    path: Callable[[Stage], str]
    body: Callable[[Stage], Body]
    loose: frozenset[str] = frozenset()


def _events(stage: Stage) -> Body:
    fits = drafted(0, END + 1, "abcdefgh")
    ruling = ruled(0, HEAD, END, LC, token={"text": "t", "id": 1})
    return stage.writer.batch(fits, ruling, {"type": "stream.finished", "reason": "stop"}, batch_id="new")


OPERATIONS = {
    "openStream": Operation(
        lambda stage: "/v1/streams",
        lambda stage: {
            "commit_key": "never",
            "tool_calls": {"format": "hermes", "from": "posted"},
            "binding": {"kind": "single"},
            "branches": ["main"],
            "branches_mode": "agree",
            "parent": "p",
            "prompt": {"digest": "sha256:0", "ids": [1]},
            "sampling": {"seed": 1},
            "labels": {"a": "b"},
        },
    ),
    "writeEvents": Operation(lambda stage: "/v1/streams/stage/events", _events),
    "postIntent": Operation(
        lambda stage: "/v1/streams/stage/intents",
        lambda stage: {
            "branch": "main",
            "round": 0,
            "span": [HEAD, END],
            "ordinal": 0,
            "tool": "put",
            "arguments": {"name": "c"},
            "call_id": "c1",
        },
    ),
    "resolveDoubt": Operation(
        lambda stage: "/v1/doubts/{}/{}".format(*stage.doubt),
        lambda stage: {"as": "happened", "reason": "seen in the log", "evidence": {"a": 1}},
        frozenset({"evidence"}),
    ),
    "decideApproval": Operation(
        lambda stage: "/v1/approvals/{}/{}".format(*stage.approval),
        lambda stage: {"decision": "deny", "reason": "not today", "arguments_digest": stage.digest},
    ),
    "applyEffects": Operation(
        lambda stage: "/v1/effects",
        lambda stage: {
            "tools": {"x": {"effect": "WRITE", "upstream": {"http": "http://127.0.0.1:9/x"}}},
            "policy": {"write_order": "strict"},
            "servers": {},
        },
    ),
}


def unchanged(stage: Stage, method: str, path: str, **request: Any) -> httpx2.Response:
    """The answer to a request that must not change a row."""
    before = stage.front.rows()
    answer = stage.front.client.request(method, path, **request)
    assert stage.front.rows() == before
    return answer
