"""The reference model of one stream, from design.md and interface.md alone: plain lists and dicts, no events, no fold."""

import copy
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tests.ledger.model import spelling
from tests.ledger.model.calls import Call, end
from tests.ledger.model.gate import ABORTED, Gate
from tests.ledger.model.lanes import Lane
from tests.ledger.model.tools import TOOLS, UNKNOWN, Policy

IDLE = timedelta(minutes=10)
TRIES = 5
"""A read that is lost so often is ``unavailable`` (design.md, "Dispatch")."""

Place = tuple[str, int, int, int]
"""(branch, start, ordinal, round): the identity of an intent within its stream."""

Said = dict[str, object]
"""A token event as interface.md spells it."""


@dataclass
class Model:
    """``last_word``: when the writer last showed itself. Methods that can be refused return the code, else None."""

    policy: Policy
    source: str
    lanes: dict[str, Lane]
    last_word: datetime
    epoch: int = 1
    finished: str | None = None
    calls: dict[Place, Call] = field(default_factory=dict)
    facts: int = 0

    # --- the writer

    def take_over(self, now: datetime) -> None:
        self.epoch += 1
        self.last_word = now
        if self.finished is None:
            for name, lane in self.lanes.items():
                if lane.void_drafts():
                    self._void_blocks(name, 0, "taken_over")
        self.settle_down(now)

    def write(self, epoch: int, events: list[Said], now: datetime) -> str | None:
        """The whole batch or nothing."""
        if epoch != self.epoch:
            return "stale_writer"
        trial = self._copy()
        for event in events:
            code = trial._event(event)
            if code is not None:
                return code
        trial.last_word = now
        trial.settle_down(now)
        self.__dict__.update(trial.__dict__)
        return None

    def fall_silent(self, now: datetime) -> None:
        """Silence for ``idle_timeout`` ends it as ``error``."""
        if self.finished is None and now - self.last_word >= IDLE:
            self._finish("error")
            self.last_word = now
            self.settle_down(now)

    def settle_down(self, now: datetime) -> None:
        Gate(list(self.calls.values()), self.policy, self.finished, now).run()

    def _copy(self) -> "Model":
        lanes = {name: lane.copy() for name, lane in self.lanes.items()}
        calls = {place: copy.copy(call) for place, call in self.calls.items()}
        return Model(
            self.policy, self.source, lanes, self.last_word, self.epoch, self.finished, calls, self.facts
        )

    def _event(self, event: Said) -> str | None:
        if self.finished is not None:
            return "stream_finished"
        if event["type"] == "stream.finished":
            self._finish(str(event["reason"]))
            return None
        name = str(event["branch"])
        lane = self.lanes.get(name)
        if lane is None:
            return "unknown_branch"
        if event["round"] != lane.round:
            return "wrong_round"
        return {
            "tokens.drafted": self._drafted,
            "tokens.ruled": self._ruled,
            "tokens.accepted": self._accepted,
        }[str(event["type"])](name, lane, event)

    def _drafted(self, name: str, lane: Lane, event: Said) -> str | None:
        if event["start"] != lane.drafted_end:
            return "wrong_start"
        lane.draft(event["tokens"])  # type: ignore[arg-type]
        self._find(name)
        return None

    def _accepted(self, name: str, lane: Lane, event: Said) -> str | None:
        if lane.pending:
            return "drafts_pending"
        lane.accept(event["tokens"])  # type: ignore[arg-type]
        self._find(name)
        return None

    def _ruled(self, name: str, lane: Lane, event: Said) -> str | None:
        start, stop, accepted = (int(str(event[word])) for word in ("start", "end", "accepted"))
        if start != lane.head:
            return "wrong_start"
        if not start <= stop <= lane.drafted_end:
            return "wrong_end"
        if accepted > stop - start or (start == stop and event.get("token") is None):
            return "invalid_request"
        cut = lane.rule(stop, accepted, event.get("token"))  # type: ignore[arg-type]
        if cut is not None:
            self._void_blocks(name, cut, "token_rejected")
        self._find(name)
        return None

    def _finish(self, reason: str) -> None:
        self.finished = reason
        for name in self.lanes:
            self._void_blocks(name, 0, "stream_ended")

    # --- blocks

    def spelled(self, name: str) -> list[spelling.Spelled]:
        return spelling.blocks(self.lanes[name].texts())

    def _find(self, name: str) -> None:
        lane = self.lanes[name]
        if self.source == "detected":
            for block in self.spelled(name):
                if block.payload is None and block.known >= block.end and block.known >= lane.head:
                    continue  # ended by the opener of the next, which may still be rejected
                self._hold(name, block)
        self._clear(name)

    def _hold(self, name: str, block: spelling.Spelled, call_id: str | None = None) -> Call:
        round_ = self.lanes[name].tokens[block.end - 1].round
        place = (name, block.start, block.ordinal, round_)
        if place not in self.calls:
            tool, arguments = block.call()
            asked = TOOLS.get(tool or "", UNKNOWN).asked_for(arguments)
            self.calls[place] = Call(
                lane=name,
                round=round_,
                start=block.start,
                end=block.end,
                ordinal=block.ordinal,
                byte_start=block.byte_start,
                byte_end=block.byte_end,
                tool_name=tool,
                arguments=arguments,
                call_id=call_id,
                asked=asked,
            )
        return self.calls[place]

    def _clear(self, name: str) -> None:
        for call in self.calls.values():
            if call.lane == name and call.block == "undecided" and call.end <= self.lanes[name].head:
                call.block = "cleared"

    def _void_blocks(self, name: str, beyond: int, why: str) -> None:
        for call in self.calls.values():
            if call.lane == name and call.block == "undecided" and call.end > beyond:
                call.block = "voided"
                end(call, "voided", why)

    # --- posting

    def post(self, said: Said, now: datetime) -> str:
        """ "replay", "held", or the code of the refusal; the checks stand in the order of interface.md."""
        name, (start, stop) = str(said["branch"]), said["span"]  # type: ignore[misc]
        known = self._known(said)
        if known is not None and self._equal(known, said):
            known.call_id = said.get("call_id") or known.call_id  # type: ignore[assignment]
            self.settle_down(now)
            return "replay"
        code = self._refuse_place(said, start, stop, known)
        if code is not None:
            return code
        if known is not None or self.source == "detected":
            return "diverges_from_tokens"
        for block in self.spelled(name):
            if (block.start, block.end, block.ordinal) == (start, stop, said["ordinal"]):
                if block.call() != (said["tool"], said["arguments"]):
                    return "diverges_from_tokens"
                self._hold(name, block, said.get("call_id"))  # type: ignore[arg-type]
                self._clear(name)
                self.settle_down(now)
                return "held"
        return "diverges_from_tokens"

    def _known(self, said: Said) -> Call | None:
        start = said["span"][0]  # type: ignore[index]
        for call in self.calls.values():
            if (call.lane, call.start, call.ordinal) != (said["branch"], start, said["ordinal"]):
                continue
            if call.block != "voided" if said["round"] is None else call.round == said["round"]:
                return call
        return None

    def _equal(self, call: Call, said: Said) -> bool:
        there = (call.end, call.tool_name, call.arguments)
        return there == (said["span"][1], said["tool"], said["arguments"])  # type: ignore[index]

    def _refuse_place(self, said: Said, start: int, stop: int, known: Call | None) -> str | None:
        lane = self.lanes[str(said["branch"])]
        if self.finished is not None and (self.finished in ABORTED or stop > lane.head):
            return "stream_finished"
        if said["round"] is None:
            if stop > lane.head:
                return "wrong_round"
        elif said["round"] != (lane.tokens[stop - 1].round if stop <= lane.drafted_end else lane.round):
            return "wrong_round"
        if stop > lane.drafted_end:
            return "span_not_drafted"
        living = [c for c in self.calls.values() if c.lane == said["branch"] and c.block != "voided"]
        for call in living:
            shared = set(range(start, stop)) & set(range(call.start, call.end))
            if (
                shared
                and (start, stop) != (call.start, call.end)
                and shared not in self._seams(call, start, stop)
            ):
                return "span_overlap"
        behind = [call for call in living if call.place > (start, said["ordinal"])]
        if behind and known is None and self.source == "posted":
            return "span_order"
        return None

    def _seams(self, call: Call, start: int, stop: int) -> list[set[int]]:
        """The one token that may be shared: it ends the earlier and begins the later."""
        seams = []
        if call.end - 1 == start:
            seams.append({start})
        if stop - 1 == call.start:
            seams.append({call.start})
        return seams
