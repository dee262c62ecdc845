"""What must hold at every commit, whoever makes it: limits, the budget of early reads, stops, approvals, forks, probes.

Counted here from the events and licences themselves, and not by what the product counts with.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from effects import speculation
from effects.classes import EffectClass
from effects.intent import IntentState, Release, ResultStatus
from ledger.braking.schema import EVERY_TOOL
from ledger.events import Event, EventType
from ledger.state import Intent, StreamState
from tests.simulation.process import CURRENT
from tests.simulation.store import Store

SLACK = timedelta(seconds=3)
"""Until when every process has heard of a stop, and of one that was tried again; half a second where the database answers."""

ROUNDING = timedelta(milliseconds=1)
"""What a stretch of time may be short of, for no clock shows less."""


@dataclass
class Rules:
    """Told of every commit."""

    store: Store
    faults: list[str] = field(default_factory=list)

    def committed(self, commit_key: str, events: Sequence[Event], after: StreamState) -> None:
        for event in events:
            if event.type is EventType.INTENT_RELEASED and event.payload["release"] == Release.EARLY.value:
                self._budget(after)
                if not self._goes_early_already(commit_key, event):
                    self._stopped(after.intents[str(event.intent_id)], event)
            elif event.type is EventType.DISPATCH_STARTED:
                intent = after.intents[str(event.intent_id)]
                self._limits(commit_key, intent)
                self._approved(after, intent, event)
                self._not_probed(commit_key, intent)

    def _budget(self, after: StreamState) -> None:
        """At most so many early reads of a commit key are let go and have no answer."""
        most = self.store.tables[-1].table.policy.early_reads
        early = [i for i in after.intents.values() if i.release is Release.EARLY]
        waiting = [i for i in early if i.state is IntentState.RELEASED or i.open_attempt is not None]
        if len(waiting) > most:
            self.faults.append(f"{after.commit_key} has {len(waiting)} early reads outstanding, not {most}")

    def _goes_early_already(self, commit_key: str, event: Event) -> bool:
        """Whether the call was let go early before and waits since: it is let go anew where the table says otherwise of it."""
        past = [e for e in self.store.events[commit_key] if e.intent_id == event.intent_id]
        last = [e for e in past if e.seq < event.seq][-1]
        early = last.payload.get("release") == Release.EARLY.value
        return last.type is EventType.INTENT_RELEASED and early

    def _stopped(self, intent: Intent, event: Event) -> None:
        """A tool that stopped sends no read early until it has rested; who has not heard of it yet may, and whose last question
        about it the database did not answer."""
        brakes = self.store.brakes
        stop, process = brakes.stops.get(str(intent.tool)), CURRENT.get()
        if stop is None or process.brakes_unanswered:
            return
        if min(event.at - brakes.stopped[stop.tool], event.at - process.began) < SLACK:
            return
        if event.at - stop.at < speculation.PROBATION:
            self.faults.append(f"{intent.intent_id} went early although {intent.tool} stopped at {stop.at}")

    def _limits(self, commit_key: str, intent: Intent) -> None:
        """Every dispatch was let in, as often as there are dispatches; no stretch of time saw more than the rate, and no moment
        more licences than may run at once."""
        brakes = self.store.brakes
        for tool, limits in self.store.tables[-1].limits_of(intent.tool).items():
            let_in = [at for place, at in brakes.let_in if place == (tool, commit_key, intent.intent_id)]
            if len(let_in) < intent.attempts:
                self.faults.append(f"{intent.intent_id} was sent and not let in, under the limits of {tool}")
            if limits.rate is not None:
                times = [at for place, at in brakes.let_in if place[0] == tool]
                most = _most_within(times, timedelta(seconds=limits.rate.per) - ROUNDING)
                if most > limits.rate.count:
                    self.faults.append(f"{most} calls of {tool} within {limits.rate.per} s")
            if limits.concurrency is not None and self._running(tool) > limits.concurrency:
                self.faults.append(f"{self._running(tool)} calls of {tool} at once")

    def _running(self, tool: str) -> int:
        return sum(
            row.open and not row.orphaned and tool in (EVERY_TOOL, self.store.states[key].intents[name].tool)
            for (key, name, _attempt), row in self.store.licences.items()
        )

    def _approved(self, after: StreamState, intent: Intent, event: Event) -> None:
        """A call that was asked about is sent by a person's word, given since and not expired; so is the WRITE of a fork that
        one of the messages before it may have done already."""
        past = [e for e in self.store.events[after.commit_key] if e.intent_id == intent.intent_id]
        past = [e for e in past if e.seq < event.seq]
        asked = max((e.seq for e in past if e.type is EventType.INTENT_AWAITING_APPROVAL), default=0)
        words = [e for e in past if e.type is EventType.INTENT_APPROVED and e.seq > asked]
        repeats = event.payload["effect"] == EffectClass.WRITE.value and self._repeated(after, intent)
        if (asked or repeats) and not words:
            self.faults.append(
                f"{intent.intent_id} {intent.tool} was sent and not approved"
                + (f", and repeats {repeats}" if repeats else "")
            )
        sent_since = [e for e in past if words and e.seq > words[0].seq]
        if words and words[-1].payload["definition"] != self._shown(past, words[-1]):
            self.faults.append(f"{intent.intent_id} {intent.tool} was approved as nobody was shown")
        defined = self.store.tables[-1].table.definition(intent.tool or "")
        # Also what is sent again: a word is about one definition, however often its dispatch is lost.
        if words and words[-1].payload["definition"] != defined:
            self.faults.append(f"{intent.intent_id} was sent to another {intent.tool} than was approved")
        if words and not any(e.type is EventType.DISPATCH_STARTED for e in sent_since):
            expires = datetime.fromisoformat(str(words[-1].payload["expires_at"]))
            if event.at >= expires:
                self.faults.append(f"{intent.intent_id} was sent at {event.at}, approved until {expires}")
        if repeats and words:
            self.store.counts["fork's repetition sent once approved"] += 1

    @staticmethod
    def _shown(past: list[Event], word: Event) -> object:
        """What the person had been asked about when the word was given."""
        asked = [e for e in past if e.type is EventType.INTENT_AWAITING_APPROVAL and e.seq < word.seq]
        return asked[-1].payload["definition"] if asked else None

    def _repeated(self, fork: StreamState, intent: Intent) -> str | None:
        """The equal WRITE of a message that this one forked from which may have happened by now."""
        mine = (intent.tool, json.loads(intent.arguments_raw or "{}"))
        for ancestor in self._ancestors(fork):
            for other in ancestor.intents.values():
                theirs = (other.tool, json.loads(other.arguments_raw or "{}"))
                if mine == theirs and self._may_have_written(ancestor.commit_key, other):
                    return f"{ancestor.commit_key} {other.intent_id}"
        return None

    def _ancestors(self, fork: StreamState) -> Iterator[StreamState]:
        before = fork.fork_of
        while before is not None:
            yield self.store.read(before)
            before = self.store.read(before).fork_of

    def _may_have_written(self, commit_key: str, intent: Intent) -> bool:
        about = [e for e in self.store.events[commit_key] if e.intent_id == intent.intent_id]
        sent = {
            e.attempt
            for e in about
            if e.type is EventType.DISPATCH_STARTED and e.payload["effect"] == EffectClass.WRITE.value
        }
        unsent = {
            e.attempt for e in about if e.type is EventType.DISPATCH_SETTLED and e.payload.get("unsent")
        }
        undone = any(e.payload.get("status") == ResultStatus.NOT_HAPPENED.value for e in about)
        return bool(sent - unsent) and not undone

    def _not_probed(self, commit_key: str, intent: Intent) -> None:
        probed = [e for e in self.store.events[commit_key] if e.type is EventType.DISPATCH_PROBED]
        if any(e.intent_id == intent.intent_id for e in probed):
            self.faults.append(f"{intent.intent_id} was sent after it was probed")


def _most_within(times: Sequence[datetime], stretch: timedelta) -> int:
    """The most of these that lie in one stretch of time, open at its end."""
    return max((sum(t <= u < t + stretch for u in times) for t in times), default=0)
