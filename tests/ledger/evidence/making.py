"""Logs and their exports, made without a database: several tenants, streams that run side by side, redacted events."""

import hashlib
import io
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

from effects.canonical import canonical
from ledger.evidence.checkpoint import Checkpoint
from ledger.evidence.envelope import envelope
from ledger.evidence.exportfile import ExportWriter
from ledger.evidence.note import SigningKey
from ledger.evidence.tree import CompactRange, leaf_hash

ORIGIN = "commitgate/7f3b"
KEY = SigningKey.generate(ORIGIN)
TENANTS = ("acme", 'ü"\\\n')
BEGIN = datetime(2026, 7, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Sealed:
    """One sealed event as the log holds it."""

    columns: dict
    payload: str | None
    salt: bytes | None

    @cached_property
    def envelope(self):
        return envelope(**self.columns)

    @cached_property
    def leaf(self):
        return leaf_hash(self.envelope)


def sealed(tenant, commit_key, seq, text, *, redacted=False, members=None, **columns):
    """An event whose payload holds ``text``; the salt follows from it, so that a log can be made twice."""
    payload = canonical({"seq": seq, "text": text, **(members or {})}).decode()
    salt = hashlib.sha256(f"{tenant} {commit_key} {seq}".encode()).digest()[:16]
    columns = {
        "tenant": tenant,
        "commit_key": commit_key,
        "seq": seq,
        "type": "tokens.drafted",
        "branch": "main",
        "at": BEGIN + timedelta(milliseconds=seq),
        "payload_digest": hashlib.sha256(salt + payload.encode()).digest(),
    } | columns
    return Sealed(columns, None if redacted else payload, None if redacted else salt)


def log(random, events, *, streams=5, redacted=0.1):
    """A log of that many events: which stream goes on is drawn, and which events were redacted since.

    The last events name what is redacted, a stream each; a redaction is redacted by nobody.
    """
    seqs, gone = {}, {}
    made = []
    for left in range(events, 0, -1):
        number = random.randrange(streams)
        if left <= len(gone):
            name, missing = gone.popitem()
            seqs[name[1]] += 1
            made.append(redaction(*name, seqs[name[1]], missing))
            continue
        tenant, commit_key = TENANTS[number % len(TENANTS)], f"turn-{number}"
        seq = seqs[commit_key] = seqs.get(commit_key, 0) + 1
        text = "".join(random.choices('ab\t\n\r"\\ü€😀\u2028\x7f', k=random.randrange(12)))
        blank = random.random() < redacted and left > streams
        made.append(sealed(tenant, commit_key, seq, text, redacted=blank))
        if blank:
            gone.setdefault((tenant, commit_key), []).append(seq)
    return made


def redaction(tenant, commit_key, seq, names):
    """The event that says that the payloads of these events are gone."""
    columns = {"type": "payload.redacted", "branch": None}
    return sealed(tenant, commit_key, seq, "asked for", members={"seqs": names}, **columns)


def checkpoint(events, size=None, *, key=KEY, origin=ORIGIN):
    """The signed note over the first ``size`` events."""
    tree = CompactRange()
    tree.extend(b"".join(event.leaf for event in events[:size]))
    return signed(tree, key, origin)


def signed(tree, key=KEY, origin=ORIGIN):
    """The signed note over a tree."""
    return key.sign(Checkpoint(origin, tree.size, tree.root()).body())


def exported(events, *, every=7, tenant=None, key=KEY, origin=ORIGIN, sizes=None):
    """The lines of an export with a checkpoint after each ``every`` events, or after each of ``sizes``."""
    total = len(events)
    sizes = {*(sizes if sizes is not None else range(every, total, every)), total}
    file = io.BytesIO()
    writer = ExportWriter(file, checkpoint(events, key=key, origin=origin), tenant)
    tree = CompactRange()
    if not events:
        writer.checkpoint(signed(tree, key, origin))
    for number, event in enumerate(events, 1):
        tree.append(event.leaf)
        if tenant in (None, event.columns["tenant"]):
            writer.event(event.leaf, event.envelope, event.payload, event.salt)
        else:
            writer.hash_only(event.leaf)
        if number in sizes:
            writer.checkpoint(signed(tree, key, origin))
    return split(file.getvalue())


def split(data):
    """Lines as a file opened for reading bytes gives them."""
    return list(io.BytesIO(data))
