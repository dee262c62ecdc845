"""What the offline verifier found: the codes of what can be wrong, and the report."""

from dataclasses import dataclass
from enum import StrEnum

from ledger.evidence.tree import EMPTY_ROOT


class Wrong(StrEnum):
    """What is wrong with an export; the values are stable and part of the interface."""

    HEADER = "header_malformed"
    """The first line is no header that this version reads."""
    LINE = "line_malformed"
    """A line has no form of an export's line, or one of its fields is not spelled as it is written."""
    INDEX = "index_wrong"
    """An event does not have the next index: a line is missing, moved, or there twice."""
    BEYOND_END = "beyond_end"
    """A line follows that the checkpoint in the header does not cover."""
    LEAF_HASH = "leaf_hash_wrong"
    """The leaf hash is not SHA-256(0x00 || envelope)."""
    ENVELOPE = "envelope_malformed"
    """The envelope is not the JSON of an envelope."""
    PAYLOAD_DIGEST = "payload_digest_wrong"
    """The digest in the envelope is not SHA-256(salt || payload), or the salt does not have 16 bytes."""
    REDACTION = "redaction_missing"
    """A payload is gone, and no ``payload.redacted`` of its stream names it: nobody who may has taken it away."""
    SEQ = "seq_wrong"
    """An event does not have the next seq of its stream."""
    TENANT = "tenant_wrong"
    """An event of another tenant is shown in a tenant's export."""
    CONTENT = "content_missing"
    """An export of everyone's events has a line with nothing but a hash."""
    SIGNATURE = "signature_wrong"
    """A checkpoint is not signed by the key, or is no signed note."""
    CHECKPOINT = "checkpoint_malformed"
    """A signed note is no checkpoint."""
    ORIGIN = "origin_wrong"
    """A checkpoint, or the database, is of another log than the one that the key is named after."""
    MISPLACED = "checkpoint_misplaced"
    """A checkpoint does not cover exactly the events before it."""
    MISSING = "checkpoint_missing"
    """A checkpoint does not have the next number; or the database has none at all, and some were kept outside."""
    ROOT = "root_wrong"
    """The tree over the events is not the one that was signed: one of them was forged, together with its hash."""
    TRUNCATED = "truncated"
    """The file ends before the checkpoint in its header."""
    KEPT = "kept_checkpoint_refused"
    """A checkpoint kept outside cannot be read, is not signed by the key, names another log, or goes back in size; or there
    is none where some were named."""
    KEPT_ROOT = "kept_root_wrong"
    """A checkpoint kept outside was signed for another history."""
    UNMARKED = "never_sealed"
    """In the database: committed events have no place in the log, and nothing says that they wait for one."""
    TILES = "tiles_broken"
    """In the database: hashes of the tree are gone."""
    LOG = "log_missing"
    """In the database: what says how far the log goes, and what it is called, is gone."""
    KEPT_BEYOND = "kept_beyond_end"
    """A checkpoint kept outside covers events that the file does not have."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The first thing that is wrong.

    ``index``: the first bad index, as far as the lines show it. Where ``until`` is ``index`` + 1 just this event is bad or
    missing; where it is larger a checkpoint shows that something in [``index``, ``until``) is, and nothing shows which;
    where both are equal a line between the events is. Somebody who also renumbers and hashes again what follows can put
    the first bad event further up, never above the report's ``vouched`` and never behind ``until``.

    ``line``: where in the file it was noticed, from 1; 0 for a checkpoint kept outside.
    """

    code: Wrong
    index: int
    until: int
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Report:
    """What an export is worth. ``ok``: every event in it is what the log holds, and none before the end is missing. In a
    tenant's export a line with a hash alone may stand for one of its own events: whole streams, or their ends, can be missing.

    ``events``: lines of events read before the fault. ``vouched``: of these, how many a good checkpoint covers; what
    lies beyond is not proved by this file. ``redacted``: events without payload and salt, whose proof stays valid;
    ``hashes_only``: events of other tenants. ``kept``: checkpoints kept outside that were compared; 0: nothing binds whoever
    holds the signing key. ``root``: of the tree over ``events``, 32 bytes.
    """

    origin: str | None
    tenant: str | None
    events: int
    vouched: int
    redacted: int
    hashes_only: int
    streams: int
    checkpoints: int
    kept: int
    root: bytes
    fault: Fault | None

    @property
    def ok(self) -> bool:
        """Nothing is wrong."""
        return self.fault is None


def unread(fault: Fault) -> Report:
    """The report where the fault kept everything from being read."""
    return Report(None, None, 0, 0, 0, 0, 0, 0, 0, EMPTY_ROOT, fault)
