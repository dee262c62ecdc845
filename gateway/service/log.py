"""The sealed log for callers: its events in log order, and proofs of what was signed."""

import base64
import binascii
import json
from dataclasses import dataclass, replace

from gateway.errors import NoCheckpoint
from gateway.principal import Principal, Role
from gateway.service.views import View, event_view
from ledger.errors import BadCursor
from ledger.evidence.checkpoint import Checkpoint
from ledger.evidence.note import body_of
from ledger.log.entries import SealedEvent, Wanted
from ledger.log.reader import LogReader

READERS = (Role.AUDITOR, Role.OPERATOR)


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Events in log order, and the cursor to go on from. ``more``: the log goes on, also behind an empty page."""

    events: list[View]
    cursor: str
    more: bool


class SealedLog:
    """The log of one database. Callers see the events of their own tenant."""

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader
        self._log_id: str | None = None

    def events(self, principal: Principal, *, after: str | None, limit: int, wanted: Wanted) -> FeedPage:
        """Up to ``limit`` events behind the cursor ``after`` (None: from the beginning) that are ``wanted``.

        Raises ``BadCursor`` for what is no cursor of this log.
        """
        principal.require(*READERS)
        log_id = self._name()
        index = -1 if after is None else read_cursor(after, log_id)
        page = self._reader.events(index, limit, replace(wanted, tenant=principal.tenant))
        if index >= page.size:
            raise BadCursor(f"the cursor is ahead of the log, which ends at {page.size}: it was taken back")
        return FeedPage([sealed_view(event) for event in page.events], cursor(log_id, page.after), page.more)

    def checkpoint(self, principal: Principal) -> View:
        """The newest signed checkpoint. Raises ``NoCheckpoint``."""
        principal.require(*READERS)
        signed = self._reader.checkpoint()
        if signed is None:
            raise NoCheckpoint("no checkpoint is signed yet")
        read = Checkpoint.parse(body_of(signed.note))
        return {
            "checkpoint": signed.note,
            "origin": read.origin,
            "size": read.size,
            "root": read.root.hex(),
            "at": signed.at.isoformat(),
        }

    def inclusion(self, principal: Principal, commit_key: str, seq: int) -> View:
        """Proof that the newest checkpoint covers an event. Raises ``UnknownEvent``, ``NotSealed`` (try again)."""
        principal.require(*READERS)
        proof = self._reader.inclusion(principal.tenant, commit_key, seq)
        return {
            "index": proof.index,
            "size": proof.size,
            "leaf_hash": proof.leaf_hash.hex(),
            "envelope": proof.envelope,
            "path": [node.hex() for node in proof.path],
            "checkpoint": proof.checkpoint,
        }

    def consistency(self, principal: Principal, old: int, new: int | None) -> View:
        """Proof that the log of ``new`` events (None: the newest checkpoint's) extends that of ``old`` events.

        Raises ``ProofRefused`` where there is none, ``NoCheckpoint``.
        """
        principal.require(*READERS)
        if new is None:
            signed = self._reader.checkpoint()
            if signed is None:
                raise NoCheckpoint("no checkpoint is signed yet")
            new = signed.size
        path = self._reader.consistency(old, new)
        return {"from": old, "to": new, "path": [node.hex() for node in path]}

    def _name(self) -> str:
        if self._log_id is None:
            self._log_id = self._reader.state().log_id
        return self._log_id


def sealed_view(sealed: SealedEvent) -> View:
    """An event and its place in the log, as callers see it."""
    return {**event_view(sealed.event), "index": sealed.index, "commit_key": sealed.commit_key}


def cursor(log_id: str, index: int) -> str:
    """The text that stands for the place behind ``index``, for ever: the log never changes what lies before it."""
    return base64.urlsafe_b64encode(json.dumps([log_id, index]).encode()).decode().rstrip("=")


def read_cursor(text: str, log_id: str) -> int:
    """The index that ``cursor`` was given. Raises ``BadCursor`` for any other text, and for one of another log."""
    try:
        found = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        found = None
    if not isinstance(found, list) or len(found) != 2 or type(found[1]) is not int or found[1] < -1:
        raise BadCursor("this is no cursor of a log")
    if found[0] != log_id or cursor(log_id, found[1]) != text:
        raise BadCursor("this is no cursor of this log")
    return int(found[1])
