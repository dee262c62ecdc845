"""Streams: opening them, writing token events, reading what they have become."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog
import uuid_utils
from sqlalchemy.exc import SQLAlchemyError

from effects.intent import IntentState
from gateway.alarms import alarm_doubts
from gateway.errors import BatchIdReused, Conflict, UnknownCommitKey
from gateway.failpoints import FailPoint, reached
from gateway.principal import Principal, Role
from gateway.service.forks import begin, check_fork
from gateway.service.tables import EffectTables
from gateway.service.views import (
    View,
    branches_view,
    intent_view,
    reasons_under,
    stream_view,
)
from gateway.turn.advance import advance
from gateway.turn.opening import StreamTerms, open_stream
from gateway.turn.scanner import BlockScanner
from gateway.turn.tokens import TokenEvent, write_tokens
from ledger.append import Appended, BatchReplay, Change, Ledger
from ledger.errors import BatchIdTaken, LedgerError
from ledger.events import Event
from ledger.state import StreamState

Wake = Callable[[], None]
Watch = Callable[[Appended], None]

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WrittenBatch:
    """The answer to a batch: its JSON text, and whether it is the replay of an earlier one."""

    body: str
    replayed: bool


@dataclass(frozen=True, slots=True)
class Followed:
    """Events of a stream in order. ``ended``: nothing more is to be expected behind them.

    That is when the stream is finished and every call rests: final, voided, refused, denied, or in doubt.
    """

    events: list[Event]
    ended: bool


class Streams:
    """The streams of all tenants. ``wake`` tells a dispatcher in this process that there may be work."""

    def __init__(
        self,
        ledger: Ledger,
        tables: EffectTables,
        scanner: BlockScanner,
        clock: Callable[[], datetime],
        wake: Wake = lambda: None,
        *,
        watch: Watch | None = None,
    ) -> None:
        """``watch``: told of every batch that was written."""
        self._watch = watch
        self._ledger = ledger
        self._tables = tables
        self._scanner = scanner
        self._clock = clock
        self._wake = wake

    def open(self, principal: Principal, commit_key: str | None, terms: StreamTerms) -> tuple[View, bool]:
        """Open a stream or take it over: (where it stands, whether it is new). Raises ``ExistsWithDifferent``."""
        principal.require(Role.RUNTIME)
        key = commit_key or str(uuid_utils.uuid7())
        created = False

        def decide(state: StreamState) -> Change:
            nonlocal created
            unfolding = begin(self._ledger, state, self._clock())
            if not state.exists:
                check_fork(self._ledger, principal.tenant, key, terms.fork_of)
            created = open_stream(unfolding, terms)
            advance(unfolding, self._tables.current(principal.tenant))
            return unfolding.change()

        state = self._ledger.append(principal.tenant, key, decide).state
        self._wake()
        view: View = {
            "commit_key": key,
            "writer_epoch": state.writer_epoch,
            "seq": state.seq,
            "branches": branches_view(state),
        }
        return view, created

    def show(self, principal: Principal, commit_key: str, *, with_ids: bool = False) -> View:
        """The whole stream. Raises ``UnknownCommitKey``."""
        principal.require(Role.RUNTIME, Role.DECODER, Role.AUDITOR, Role.OPERATOR)
        state = self.state(principal, commit_key)
        reasons = reasons_under(
            begin(self._ledger, state, self._clock()), self._tables.current(principal.tenant)
        )
        return stream_view(state, reasons, with_ids=with_ids)

    def state(self, principal: Principal, commit_key: str) -> StreamState:
        """The folded state. Raises ``UnknownCommitKey``."""
        state = self._ledger.read(principal.tenant, commit_key)
        if not state.exists:
            raise UnknownCommitKey(commit_key)
        return state

    def events(
        self, principal: Principal, commit_key: str, *, after: int, limit: int
    ) -> tuple[list[Event], int]:
        """Events with seq beyond ``after``, at most ``limit``, and the stream's seq. Raises ``UnknownCommitKey``."""
        principal.require(Role.RUNTIME, Role.DECODER, Role.AUDITOR, Role.OPERATOR)
        state = self.state(principal, commit_key)
        return self._ledger.events(principal.tenant, commit_key, after=after, limit=limit), state.seq

    def follow(self, principal: Principal, commit_key: str, *, after: int, limit: int) -> Followed:
        """As ``events``, for somebody who waits for more. Raises ``UnknownCommitKey``."""
        principal.require(Role.RUNTIME, Role.DECODER, Role.AUDITOR, Role.OPERATOR)
        state = self.state(principal, commit_key)
        events = self._ledger.events(principal.tenant, commit_key, after=after, limit=limit)
        # Events may be further than the state, which was read before: then there is another look before the end.
        newest = not events or events[-1].seq == state.seq
        return Followed(events, newest and _at_rest(state))

    def write(
        self,
        principal: Principal,
        commit_key: str,
        writer_epoch: int,
        events: Sequence[TokenEvent],
        *,
        batch_id: str | None = None,
        raw_body: bytes = b"",
        traceparent: str | None = None,
    ) -> WrittenBatch:
        """Append a batch of token events and all that follows from it, or nothing.

        The same ``batch_id`` with the same raw body is answered from what was written; raises ``BatchIdReused`` if the
        body differs. ``traceparent``: kept with the calls that the batch holds; no part of what makes a replay. Raises
        what ``gateway.turn.tokens.write_tokens`` raises, and ``UnknownCommitKey``.
        """
        principal.require(Role.DECODER)
        reached(FailPoint.RULING_RECEIVED)
        digest = hashlib.sha256(raw_body).digest()
        replay = self._replay(principal, commit_key, batch_id, digest)
        if replay is not None:
            return replay
        body = ""

        def decide(state: StreamState) -> Change:
            nonlocal body
            if not state.exists:
                raise UnknownCommitKey(commit_key)
            force = self._tables.current(principal.tenant)
            unfolding = begin(self._ledger, state, self._clock())
            unfolding.traceparent = traceparent
            write_tokens(unfolding, writer_epoch, events, self._scanner, force)
            advance(unfolding, force)
            reasons = reasons_under(unfolding, force)
            body = json.dumps(
                {
                    "seq": unfolding.state.seq,
                    "branches": branches_view(unfolding.state),
                    "intents": [
                        intent_view(unfolding.state, intent, reasons) for intent in unfolding.changed_intents
                    ],
                }
            )
            side = (
                ()
                if batch_id is None
                else (BatchReplay(batch_id=batch_id, body_digest=digest, response=body),)
            )
            reached(FailPoint.RULING_DECIDED)
            return unfolding.change(side)

        try:
            appended = self._ledger.append(principal.tenant, commit_key, decide)
        except (BatchIdTaken, Conflict):
            # A twin of this request may have been faster: what it wrote answers for both.
            replay = self._replay(principal, commit_key, batch_id, digest)
            if replay is None:
                raise
            return replay
        reached(FailPoint.RULING_COMMITTED)
        self._wake()
        alarm_doubts(appended)
        self._tell(appended)
        return WrittenBatch(body, replayed=False)

    def _tell(self, appended: Appended) -> None:
        try:
            if self._watch is not None:
                self._watch(appended)
        except (LedgerError, SQLAlchemyError) as error:
            # What was asked for is written; this is only watched.
            _log.warning("not_watched", commit_key=appended.state.commit_key, error=type(error).__name__)

    def _replay(
        self, principal: Principal, commit_key: str, batch_id: str | None, digest: bytes
    ) -> WrittenBatch | None:
        stored = None if batch_id is None else self._ledger.batch(principal.tenant, commit_key, batch_id)
        if stored is None:
            return None
        if stored.body_digest != digest:
            raise BatchIdReused(f"batch id {batch_id!r} was used with another body")
        return WrittenBatch(stored.response, replayed=True)


def _at_rest(state: StreamState) -> bool:
    rests = (intent.terminal or intent.state is IntentState.IN_DOUBT for intent in state.intents.values())
    return state.finished is not None and all(rests)
