"""The offline verifier: an exported file and a public key, nothing else; one pass, constant memory.

Stored bytes are hashed as they stand: nothing is made canonical again. What each event shows by itself (index, leaf
hash, payload digest, seq) names the exact first bad index. Somebody who recomputes all of that cannot sign: the first
checkpoint behind the forgery has another root, and names the range. Checkpoints that were kept outside of the database
bind also somebody who holds the signing key.
"""

from binascii import Error as HexError
from binascii import hexlify, unhexlify
from collections.abc import Iterable, Iterator
from hashlib import sha256

from effects.canonical import canonical
from effects.wording import counted
from ledger.errors import CheckpointRefused, ExportRefused, KeptRefused, NoteRefused
from ledger.evidence.blanks import Blanks, is_redaction, named_by
from ledger.evidence.checkpoint import Checkpoint
from ledger.evidence.envelope import identity
from ledger.evidence.exportfile import CheckpointLine, EventLine, HashLine, Header, parse_header, parse_line
from ledger.evidence.note import VerifierKey
from ledger.evidence.report import Fault, Report, Wrong
from ledger.evidence.seqs import Seqs, Stream, stream_named
from ledger.evidence.tree import HASH_BYTES, CompactRange
from ledger.payload import SALT_BYTES

_SHOWN = 300

Named = Iterable[tuple[Stream, Iterable[int]]]
"""Streams, and seqs in them that a redaction names."""


def verify(
    lines: Iterable[bytes], key: VerifierKey, *, kept: Iterable[str] = (), named: Named = ()
) -> Report:
    """Check an export down to the first thing that is wrong.

    ``lines``: the file's, each with its newline, as ``exportfile.lines_of`` gives them. ``kept``: notes of checkpoints kept
    outside of the database, as they were made, sizes never going back; each is compared with the tree at its size.
    KeptRefused that comes instead of one is a fault. ``named``: what redactions name that are younger than the export,
    asked at its end; who has nothing but the file leaves it out. Raises nothing for bad input: the report says what is
    wrong.
    """
    with Seqs() as seqs, Blanks() as blanks:
        run = Verification(key, seqs, blanks, kept, named)
        try:
            run.all(iter(lines))
        except Found as found:
            return run.report(found)
        return run.report(None)


class Found(Exception):
    """Something is wrong; ends the run. ``index`` and ``until`` as in ``Fault``."""

    def __init__(self, code: Wrong, index: int, until: int, message: str, *, line: bool = True) -> None:
        super().__init__(message)
        self.code = code
        self.index = index
        self.until = until
        self.line = line


class Verification:
    """One run. Each ``check_…`` raises ``Found`` for one kind of wrong."""

    def __init__(
        self, key: VerifierKey, seqs: Seqs, blanks: Blanks, kept: Iterable[str], named: Named = ()
    ) -> None:
        self._key = key
        self._seqs = seqs
        self._blanks = blanks
        self._kept = iter(kept)
        self._named = named
        self._due: Checkpoint | None = None
        self._header: Header | None = None
        self._shown: bytes | None = None
        self._end = Checkpoint("", 0, b"")
        self._tree = CompactRange()
        self._leaf = b""
        self._line = 0
        self._vouched = 0
        self._redacted = self._hashes_only = self._streams = self._checkpoints = self._compared = 0

    def all(self, lines: Iterator[bytes]) -> None:
        """Read the file to its end. Raises Found."""
        self._begin(next(lines, b""))
        for line in lines:
            self._line += 1
            try:
                parsed = parse_line(line)
            except ExportRefused as error:
                raise self._here(Wrong.LINE, str(error)) from error
            if isinstance(parsed, EventLine):
                self._append(self._event(parsed))
            elif isinstance(parsed, HashLine):
                self._append(self._hash(parsed))
            else:
                self._checkpoint(parsed)
        self.check_end()
        self.check_redactions()

    def report(self, found: Found | None) -> Report:
        """What this run has seen."""
        fault = None
        if found is not None:
            line = self._line if found.line else 0
            fault = Fault(found.code, found.index, found.until, line, str(found))
        return Report(
            origin=self._end.origin or None,
            tenant=self._header.tenant if self._header else None,
            events=self._tree.size,
            vouched=self._vouched,
            redacted=self._redacted,
            hashes_only=self._hashes_only,
            streams=self._streams,
            checkpoints=self._checkpoints,
            kept=self._compared,
            root=self._tree.root(),
            fault=fault,
        )

    def _begin(self, line: bytes) -> None:
        self._line = 1
        try:
            self._header = parse_header(line)
        except ExportRefused as error:
            raise Found(Wrong.HEADER, 0, 0, str(error)) from error
        if self._header.tenant is not None:
            self._shown = canonical(self._header.tenant)
        self._end = self.opened(self._header.note, "the checkpoint in the header")
        self._next_kept()
        self._compare_kept()

    def _event(self, line: EventLine) -> bytes:
        self.check_index(line)
        leaf = sha256(b"\0" + line.envelope).digest()
        self.check_leaf_hash(leaf, line.leaf_hash)
        event = identity(line.envelope)
        if event is None:
            raise self._here(Wrong.ENVELOPE, "the envelope does not have the form of one")
        commit_key, payload_digest, seq_spelled, tenant = event
        redacted = not line.payload and not line.salt
        if redacted:
            self._redacted += 1
        else:
            self.check_payload(line, payload_digest)
        self.check_tenant(tenant)
        stream, seq = stream_named(tenant, commit_key), int(seq_spelled)
        self.check_seq(stream, seq)
        if redacted:
            self._blanks.add(stream, seq, self._tree.size)
        elif is_redaction(line.envelope):
            self._blanks.name(stream, named_by(line.payload))
        return leaf

    def _hash(self, line: HashLine) -> bytes:
        self.check_index(line)
        leaf = self._unhex(line.leaf_hash)
        if len(leaf) != HASH_BYTES:
            raise self._here(Wrong.LINE, f"a leaf hash has {HASH_BYTES} bytes")
        self.check_may_hide()
        self._hashes_only += 1
        return leaf

    def _append(self, leaf: bytes) -> None:
        self._tree.append(leaf)
        self._leaf = leaf
        if self._due is not None:
            self._compare_kept()

    def _checkpoint(self, line: CheckpointLine) -> None:
        checkpoint = self.opened(line.note, "the checkpoint")
        self.check_place(checkpoint)
        self.check_number(line)
        self.check_root(checkpoint)
        if checkpoint.size == self._end.size:
            self.check_root(self._end)
        self._checkpoints += 1
        self._vouched = checkpoint.size

    def check_index(self, line: EventLine | HashLine) -> None:
        """The event has the next index, and the header's checkpoint covers it."""
        size = self._tree.size
        if line.log_index != b"%d" % size:
            if line.log_index == b"%d" % (size - 1) and line.leaf_hash != self._leaf.hex().encode():
                raise Found(Wrong.INDEX, size - 1, size + 1, f"two events claim index {size - 1}")
            raise self._here(Wrong.INDEX, f"event {size} has to come here")
        if size == self._end.size:
            raise self._here(
                Wrong.BEYOND_END, f"the checkpoint in the header covers {counted(size, 'event')}"
            )

    def check_leaf_hash(self, computed: bytes, written: bytes) -> None:
        """The leaf hash is that of the envelope."""
        if hexlify(computed) != written:
            raise self._here(Wrong.LEAF_HASH, "the leaf hash is not that of the envelope")

    def check_payload(self, line: EventLine, digest: bytes) -> None:
        """The digest in the envelope is that of a salt of 16 bytes and the payload."""
        salt = self._unhex(line.salt)
        if len(salt) != SALT_BYTES:
            # The digest is that of both together: it does not see a byte that moved from one to the other.
            message = f"the salt has {len(salt)} bytes and not {SALT_BYTES}: what is shown is not the payload"
            raise self._here(Wrong.PAYLOAD_DIGEST, message)
        if hexlify(sha256(salt + line.payload).digest()) != digest:
            raise self._here(
                Wrong.PAYLOAD_DIGEST, "the digest in the envelope is not that of salt and payload"
            )

    def check_tenant(self, tenant: bytes) -> None:
        """A tenant's export shows no event of another."""
        if self._shown is not None and tenant != self._shown:
            raise self._here(Wrong.TENANT, f"the event belongs to tenant {_short(tenant)}")

    def check_seq(self, stream: Stream, seq: int) -> None:
        """The event has the next seq of its stream."""
        last = self._seqs.last(stream)
        if seq != last + 1:
            raise self._here(
                Wrong.SEQ, f"stream {_short(stream[1])}: seq {last + 1} has to come next, found {seq}"
            )
        self._streams += not last
        self._seqs.set(stream, seq)

    def check_may_hide(self) -> None:
        """Only a tenant's export may leave out what an event is."""
        if self._shown is None:
            raise self._here(Wrong.CONTENT, "an export of everyone's events shows each of them")

    def opened(self, note: str, what: str) -> Checkpoint:
        """The checkpoint in ``note``, signed by the key."""
        try:
            checkpoint = Checkpoint.parse(self._key.open(note))
        except NoteRefused as error:
            raise self._unproved(Wrong.SIGNATURE, f"{what}: {error}") from error
        except CheckpointRefused as error:
            raise self._unproved(Wrong.CHECKPOINT, f"{what}: {error}") from error
        self.check_origin(checkpoint, what)
        return checkpoint

    def check_origin(self, checkpoint: Checkpoint, what: str) -> None:
        """The checkpoint was made for the log that the key is named after (C2SP tlog-checkpoint)."""
        if checkpoint.origin != self._key.name:
            raise self._unproved(
                Wrong.ORIGIN, f"{what} is one of {checkpoint.origin}, the key of {self._key.name}"
            )

    def check_place(self, checkpoint: Checkpoint) -> None:
        """The checkpoint covers exactly the events before it, and none before it did."""
        size = self._tree.size
        if checkpoint.size != size:
            message = f"a checkpoint of {counted(checkpoint.size, 'event')} stands after {size}"
            first = max(self._vouched, min(size, checkpoint.size))
            raise Found(Wrong.MISPLACED, first, max(size, checkpoint.size), message)
        if self._checkpoints and self._vouched == size:
            raise Found(Wrong.MISPLACED, size, size, "there are two checkpoints of one size")

    def check_number(self, line: CheckpointLine) -> None:
        """No checkpoint between this and the last was taken out."""
        if line.number != self._checkpoints + 1:
            message = f"checkpoint {self._checkpoints + 1} has to come next, found {line.number}"
            raise self._unproved(Wrong.MISSING, message)

    def check_root(self, checkpoint: Checkpoint) -> None:
        """What was signed is the tree over the events before it."""
        if checkpoint.root != self._tree.root():
            raise self._unproved(Wrong.ROOT, "the tree over the events is not the one that was signed")

    def check_kept(self, checkpoint: Checkpoint) -> None:
        """What was signed and kept outside is the tree over the events so far; the next one covers no fewer."""
        if checkpoint.size < self._tree.size:
            message = (
                f"a checkpoint of {counted(checkpoint.size, 'event')} was kept after one of {self._tree.size}"
            )
            raise Found(Wrong.KEPT, checkpoint.size, self._tree.size, message, line=False)
        if checkpoint.root != self._tree.root():
            message = f"the checkpoint of {counted(checkpoint.size, 'event')} that was kept has another root"
            raise Found(Wrong.KEPT_ROOT, self._vouched, self._tree.size, message, line=False)

    def check_end(self) -> None:
        """The file reaches the checkpoint in its header, and all that was kept outside."""
        size, end = self._tree.size, self._end.size
        if size < end or not self._checkpoints or self._vouched < end:
            message = f"the file should end with a checkpoint of {counted(end, 'event')}"
            raise Found(Wrong.TRUNCATED, size, end, message)
        if self._due is not None:
            message = (
                f"a checkpoint of {counted(self._due.size, 'event')} was kept, the file ends after {size}"
            )
            raise Found(Wrong.KEPT_BEYOND, size, self._due.size, message, line=False)

    def check_redactions(self) -> None:
        """Every payload that is gone is named by a redaction behind it."""
        for stream, seqs in self._named:
            self._blanks.name(stream, seqs)
        first = self._blanks.first()
        if first is not None:
            message = f"the payload of event {first} is gone, and no redaction of its stream names it"
            raise Found(Wrong.REDACTION, first, first + 1, message)

    def _compare_kept(self) -> None:
        while self._due is not None and self._due.size <= self._tree.size:
            self.check_kept(self._due)
            self._compared += 1
            self._next_kept()

    def _next_kept(self) -> None:
        try:
            note = next(self._kept, None)
            self._due = None if note is None else self.opened(note, "a checkpoint that was kept")
        except KeptRefused as error:
            raise self._unproved(Wrong.KEPT, str(error), line=False) from error
        except Found as found:
            raise Found(Wrong.KEPT, found.index, found.until, str(found), line=False) from found

    def _unhex(self, text: bytes) -> bytes:
        try:
            raw = unhexlify(text)
        except HexError:
            raw = b""
        if hexlify(raw) != text:
            raise self._here(Wrong.LINE, "hex is lower case, two digits a byte")
        return raw

    def _here(self, code: Wrong, message: str) -> Found:
        return Found(code, self._tree.size, self._tree.size + 1, message)

    def _unproved(self, code: Wrong, message: str, *, line: bool = True) -> Found:
        """What lies between the last good checkpoint and here is not proved; nothing shows what of it is wrong."""
        return Found(code, self._vouched, self._tree.size, message, line=line)


def _short(name: bytes) -> str:
    """A name for people; a hostile file may hold one of any length."""
    return name[:_SHOWN].decode(errors="replace")
