"""What the ledger's events tell of a replay: reads that ran ahead, were overtaken, and were sent again."""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import psycopg

from tests.postgres import libpq
from tests.tau2.retail import ANY, Call

_EVENTS = """
select commit_key, seq, type, intent_id, payload from ledger.events
where intent_id is not null order by shard, commit_key, seq
"""
_OVER = ("intent.final", "intent.voided", "intent.refused")
_SETTLED = ("dispatch.settled", "dispatch.resolved", "dispatch.late")


@dataclass
class _Intent:
    call: Call
    start: int
    over: bool = False


@dataclass
class Runs:
    """``overtaken``: reads marked stale by a WRITE's settling, and sent again. ``outdated``: by their age, and sent again.
    ``ahead``: dispatches of a read while an earlier WRITE of its key in the message was not terminal."""

    overtaken: int = 0
    outdated: int = 0
    ahead: int = 0
    early: int = 0


@dataclass
class Stream:
    """The events of one stream, taken one after the other."""

    runs: Runs
    intents: dict[str, _Intent] = field(default_factory=dict)
    settlings: dict[int, str] = field(default_factory=dict)
    stale: dict[str, int] = field(default_factory=dict)

    def take(self, seq: int, type_: str, intent_id: str, body: dict[str, Any]) -> None:
        if type_ == "intent.held" and intent_id not in self.intents:
            arguments = json.loads(body["arguments_raw"])
            self.intents[intent_id] = _Intent(Call(body["tool"], arguments), body["span"][0])
        elif type_ in _OVER:
            self.intents[intent_id].over = True
        elif type_ in _SETTLED and self.intents[intent_id].call.writes:
            self.settlings[seq] = intent_id
        elif type_ == "intent.stale":
            self.stale[intent_id] = int(body["because_seq"])
        elif type_ == "dispatch.started" and not self.intents[intent_id].call.writes:
            self._sent(intent_id, body)

    def _sent(self, intent_id: str, body: dict[str, Any]) -> None:
        self.runs.early += body["release"] == "early"
        because = self.stale.pop(intent_id, None)
        if because is not None and self.settlings.get(because) in self._before(intent_id):
            self.runs.overtaken += 1
        elif because is not None:
            self.runs.outdated += 1
        self.runs.ahead += any(not self.intents[i].over for i in self._before(intent_id))

    def _before(self, intent_id: str) -> list[str]:
        """The WRITEs of the read's key that stand before it."""
        read = self.intents[intent_id]
        return [
            i
            for i, other in self.intents.items()
            if other.call.writes and other.start < read.start and other.call.key in (read.call.key, ANY)
        ]


def runs_in(admin_url: str) -> Runs:
    """Over all streams of a database."""
    runs = Runs()
    streams: defaultdict[str, Stream] = defaultdict(lambda: Stream(runs))
    with psycopg.connect(libpq(admin_url)) as connection:
        for commit_key, seq, type_, intent_id, payload in connection.execute(_EVENTS):
            streams[commit_key].take(seq, type_, intent_id, json.loads(payload))
    return runs


def voided_writes(views: list[dict[str, Any]]) -> int:
    """Closed WRITE blocks that were voided: calls of known tools, as the gateway classed them."""
    return sum(
        intent["block"] == "voided" and intent["effect"] == "WRITE"
        for view in views
        for intent in view["intents"]
    )


def effects_of(views: list[dict[str, Any]]) -> Counter[str]:
    """Accepted calls by class."""
    return Counter(
        intent["effect"] for view in views for intent in view["intents"] if intent["block"] == "cleared"
    )
