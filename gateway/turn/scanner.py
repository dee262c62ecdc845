"""Finds the call blocks of a branch, without reading accepted text twice.

Accepted tokens of a branch never change, so the detector's state behind a number of them can be kept for as long as one
likes; drafts are scanned anew from there.
"""

from collections import OrderedDict
from dataclasses import dataclass, replace
from threading import Lock
from typing import Generic, TypeVar, cast

from decoding.calls.block import Block, Detector
from decoding.calls.formats import detector_for
from ledger.state import Branch, StreamState
from ledger.tokens import NO_TOKENS, Tokens

BranchName = tuple[str, str, str]
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class _Scanned(Generic[S]):
    tokens: Tokens
    state: S
    blocks: tuple[Block, ...]


class BlockScanner:
    """Scans branches; remembers the accepted part of the ``capacity`` branches used last. Safe to share among threads."""

    def __init__(self, capacity: int = 4096) -> None:
        self._capacity = capacity
        self._kept: OrderedDict[BranchName, _Scanned[object]] = OrderedDict()
        self._lock = Lock()

    def blocks(self, stream: StreamState, branch: Branch) -> tuple[Block, ...]:
        """All closed blocks of accepted and pending tokens, in order."""
        detector = cast("Detector[object]", detector_for(stream.format))
        name = (stream.tenant, stream.commit_key, branch.name)
        settled = self._advance(name, detector, branch.accepted)
        return _feed(detector, settled, branch.pending).blocks

    def open_at(self, stream: StreamState, branch: Branch) -> int | None:
        """The first token of a block that accepted and pending tokens leave open; None if there is none."""
        detector = cast("Detector[object]", detector_for(stream.format))
        name = (stream.tenant, stream.commit_key, branch.name)
        settled = self._advance(name, detector, branch.accepted)
        return detector.open_at(_feed(detector, settled, branch.pending).state)

    def settled(self, stream: StreamState, branch: Branch, block: Block) -> bool:
        """Whether accepted tokens alone close the block."""
        detector = cast("Detector[object]", detector_for(stream.format))
        name = (stream.tenant, stream.commit_key, branch.name)
        return block in self._advance(name, detector, branch.accepted).blocks

    def _advance(self, name: BranchName, detector: Detector[object], accepted: Tokens) -> _Scanned[object]:
        with self._lock:
            kept = self._kept.get(name)
        # What was scanned may never have been written: a batch that was refused, a commit that failed.
        if kept is None or not accepted.begins_with(kept.tokens):
            kept = _Scanned(NO_TOKENS, detector.start(), ())
        scanned = replace(_feed(detector, kept, accepted.after(len(kept.tokens))), tokens=accepted)
        with self._lock:
            self._kept[name] = scanned
            self._kept.move_to_end(name)
            while len(self._kept) > self._capacity:
                self._kept.popitem(last=False)
        return scanned


def _feed(detector: Detector[S], scanned: _Scanned[S], tokens: Tokens) -> _Scanned[S]:
    state, found = scanned.state, list(scanned.blocks)
    for text in tokens.texts:
        state, closed = detector.feed(state, text)
        found.extend(closed)
    return replace(scanned, state=state, blocks=tuple(found))
