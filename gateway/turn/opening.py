"""Opening a stream, and taking it over."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from effects.intent import BlockState, IntentState
from gateway.errors import ExistsWithDifferent
from gateway.turn.unfolding import Unfolding
from ledger.events import EventType


@dataclass(frozen=True, slots=True)
class StreamTerms:
    """What a stream is opened with. Terms left None were not given: the first opening takes its default."""

    format: str | None = None
    source: str | None = None
    binding: Mapping[str, object] | None = None
    branches: tuple[str, ...] | None = None
    branches_mode: str | None = None
    threshold: float | None = None
    parent: str | None = None
    fork_of: str | None = None
    prompt: Mapping[str, object] | None = None
    sampling: Mapping[str, object] | None = None
    labels: Mapping[str, object] = field(default_factory=dict)


def open_stream(unfolding: Unfolding, terms: StreamTerms) -> bool:
    """Open the stream, or take it over if it exists. True if it is new.

    A takeover raises the writer epoch and voids undecided drafts (round + 1 where there were any). Raises
    ``ExistsWithDifferent`` if terms given again are not equal.
    """
    if not unfolding.state.exists:
        unfolding.emit(EventType.STREAM_OPENED, _opening(terms))
        return True
    _check_equal(unfolding, terms)
    unfolding.emit(EventType.STREAM_TAKEN_OVER, {"writer_epoch": unfolding.state.writer_epoch + 1})
    if unfolding.state.finished is None:
        for name in unfolding.state.branches:
            void_drafts(unfolding, name)
    return False


def void_drafts(unfolding: Unfolding, name: str) -> None:
    """Void the undecided drafts of a branch and every block that holds one."""
    branch = unfolding.branch(name)
    if not branch.pending:
        return
    body = {"round": branch.round, "start": branch.head, "end": branch.drafted_end, "because": "taken_over"}
    unfolding.emit(EventType.DRAFTS_VOIDED, body, branch=name)
    void_undecided(unfolding, name, because="taken_over")


def void_undecided(unfolding: Unfolding, name: str, *, because: str, beyond: int = 0) -> None:
    """Void every undecided block of a branch that ends after position ``beyond``, and its intents."""
    doomed = [
        intent
        for intent in unfolding.state.intents.values()
        if intent.branch == name and intent.block is BlockState.UNDECIDED and intent.end > beyond
    ]
    for intent in sorted(doomed, key=lambda i: i.place):
        body = {"span": [intent.start, intent.end], "round": intent.round, "intents": [intent.intent_id]}
        unfolding.emit(EventType.BLOCK_VOIDED, {**body, "because": because}, branch=name)
        if intent.state is not IntentState.VOIDED:
            unfolding.emit_for(EventType.INTENT_VOIDED, intent, reason=because)


def _opening(terms: StreamTerms) -> dict[str, object]:
    return {
        "writer_epoch": 1,
        "format": terms.format or "hermes",
        "from": terms.source or "posted",
        "binding": dict(terms.binding or {"kind": "single"}),
        "branches": list(terms.branches or ("main",)),
        "branches_mode": terms.branches_mode or "agree",
        "threshold": terms.threshold,
        "parent": terms.parent,
        "fork_of": terms.fork_of,
        "prompt": None if terms.prompt is None else dict(terms.prompt),
        "sampling": None if terms.sampling is None else dict(terms.sampling),
        "labels": dict(terms.labels),
    }


def _check_equal(unfolding: Unfolding, terms: StreamTerms) -> None:
    state = unfolding.state
    asked: tuple[tuple[str, object, object], ...] = (
        ("branches", None if terms.branches is None else list(terms.branches), list(state.branches)),
        ("branches_mode", terms.branches_mode, state.branches_mode),
        ("threshold", terms.threshold, state.threshold),
        ("binding", None if terms.binding is None else terms.binding.get("kind"), state.binding),
        ("format", terms.format, state.format),
        ("from", terms.source, state.source),
        ("fork_of", terms.fork_of, state.fork_of),
    )
    for name, given, known in asked:
        if given is not None and given != known:
            raise ExistsWithDifferent(name, f"the stream was opened with {name} {known!r}, not {given!r}")
