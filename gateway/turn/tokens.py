"""Token events: what a writer may say about a branch, and what follows for its blocks (interface.md, "Token events")."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.errors import (
    DraftsPending,
    InvalidRequest,
    NotSupported,
    StaleWriter,
    StreamFinished,
    UnknownBranch,
    WrongEnd,
    WrongRound,
    WrongStart,
)
from gateway.turn.blocks import follow_tokens, void_open_blocks
from gateway.turn.opening import void_undecided
from gateway.turn.scanner import BlockScanner
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.events import EventType, Payload
from ledger.state import Branch


@dataclass(frozen=True, slots=True)
class TokenEvent:
    """One token event as a writer sends it: its type, its branch, and the members of its payload, shapes checked."""

    type: EventType
    payload: Payload
    branch: str = "main"


def write_tokens(
    unfolding: Unfolding,
    writer_epoch: int,
    events: Sequence[TokenEvent],
    scanner: BlockScanner,
    force: TableInForce,
) -> None:
    """Add a batch of token events, each checked against what the ones before it made of the stream.

    Raises a ``Conflict`` or ``BadInput`` at the first event that does not fit; then nothing of the batch may be kept.
    """
    if writer_epoch != unfolding.state.writer_epoch:
        raise StaleWriter(
            f"writer epoch {writer_epoch} is not the stream's", writer_epoch=unfolding.state.writer_epoch
        )
    for event in events:
        if unfolding.state.finished is not None:
            raise StreamFinished(f"the stream is finished: {unfolding.state.finished}")
        if event.type is EventType.STREAM_FINISHED:
            _finish(unfolding, event, scanner)
        else:
            _move_branch(unfolding, event, scanner, force)


def finish_stream(unfolding: Unfolding, reason: str) -> None:
    """End the stream: whatever is undecided is voided."""
    unfolding.emit(EventType.STREAM_FINISHED, {"reason": reason})
    for name in unfolding.state.branches:
        void_undecided(unfolding, name, because="stream_ended")


def _finish(unfolding: Unfolding, event: TokenEvent, scanner: BlockScanner) -> None:
    finish_stream(unfolding, str(event.payload["reason"]))
    void_open_blocks(unfolding, scanner)


def _move_branch(unfolding: Unfolding, event: TokenEvent, scanner: BlockScanner, force: TableInForce) -> None:
    branch = unfolding.state.branches.get(event.branch)
    if branch is None:
        raise UnknownBranch(f"the stream has no branch {event.branch!r}")
    check = _CHECKS.get(event.type)
    if check is None:
        raise NotSupported(f"events of type {event.type} are not supported yet")
    if event.payload["round"] != branch.round:
        raise WrongRound(f"the branch is in round {branch.round}", round=branch.round)
    check(branch, event.payload)
    unfolding.emit(event.type, event.payload, branch=event.branch)
    cut_at = unfolding.events[-1].cut_at
    follow_tokens(unfolding, event.branch, cut_at, scanner, force)


def _check_drafted(branch: Branch, body: Payload) -> None:
    if body["start"] != branch.drafted_end:
        raise WrongStart(
            f"drafts start at the drafted end, {branch.drafted_end}", expected=branch.drafted_end
        )


def _check_ruled(branch: Branch, body: Payload) -> None:
    start, end, accepted = int(str(body["start"])), int(str(body["end"])), int(str(body["accepted"]))
    if start != branch.head:
        raise WrongStart(f"a ruling starts at head, {branch.head}", expected=branch.head)
    if not start <= end <= branch.drafted_end:
        raise WrongEnd(
            f"a ruling ends within [{start}, {branch.drafted_end}]", drafted_end=branch.drafted_end
        )
    if accepted > end - start:
        raise InvalidRequest(f"{accepted} accepted of {end - start} judged drafts")
    if start == end and body.get("token") is None:
        raise InvalidRequest("a ruling over no drafts must carry a token")


def _check_accepted(branch: Branch, _body: Payload) -> None:
    if branch.pending:
        raise DraftsPending(f"{len(branch.pending)} drafts wait for a ruling", drafted_end=branch.drafted_end)


_CHECKS = {
    EventType.TOKENS_DRAFTED: _check_drafted,
    EventType.TOKENS_RULED: _check_ruled,
    EventType.TOKENS_ACCEPTED: _check_accepted,
}
