"""Checking the database itself: its events against its tree, its tree and what was signed against one another.

What is checked is what an export would hold, by the verifier of exports; then what an export does not have: events that
are sealed and not signed for yet, the upper tiles, and that whatever is not sealed yet will be.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from json import loads

from sqlalchemy import Connection, Engine

from effects.wording import counted
from ledger.errors import EvidenceRefused, ExportRefused, KeptRefused, LogMissing, NotSealed, TilesBroken
from ledger.evidence.blanks import spelled_stream
from ledger.evidence.note import VerifierKey
from ledger.evidence.report import Fault, Report, Wrong, unread
from ledger.evidence.seqs import Stream
from ledger.evidence.tiles import HEIGHT, WIDTH, TileReader, width
from ledger.evidence.tree import HASH_BYTES, leaf_hash, perfect_root
from ledger.evidence.verify import verify
from ledger.exporting import PAGE, export
from ledger.log.due import find_beyond, find_stray, find_unmarked
from ledger.log.entries import Entry, StoredCheckpoint
from ledger.log.places import LogState
from ledger.log.reader import LogReader
from ledger.log.store import tile_reader
from ledger.payload import SALT_BYTES
from ledger.read import read_redactions
from ledger.session import single

NOTHING_SIGNED = (
    "nothing is signed yet: is a gateway or a worker running? `ledger checkpoint --sign` signs now"
)

Progress = Callable[[int], None]
"""Told how many events are checked."""


@dataclass(frozen=True, slots=True)
class SelfCheck:
    """``report``: on all that is signed for; ``size``: events checked, also those sealed since. ``fault``: the first."""

    report: Report
    size: int
    fault: Fault | None


def check_database(
    engine: Engine, until: StoredCheckpoint | None, key: VerifierKey, kept: Iterable[str], progress: Progress
) -> SelfCheck:
    """Check everything that is sealed now.

    ``until``: the newest checkpoint, None where there is none; ``kept``: notes of checkpoints kept outside, by size, none
    larger than the log. Raises NotSealed where nothing is signed, neither there nor outside; LedgerUnavailable.
    """
    reader = LogReader(engine)
    try:
        state = reader.state()
        fault = _check_name(state, key) or _check_end(state, until, kept)
        if fault is not None or until is None:
            return _unread(fault or Fault(Wrong.MISSING, 0, state.size, 0, "there is no checkpoint"))
        report = verify(_lines(reader, until, progress), key, kept=kept, named=_named(engine))
        size = reader.size()
        fault = report.fault or _check_tail(reader, until.size, size)
    except LogMissing as error:
        return _unread(Fault(Wrong.LOG, 0, 0, 0, str(error)))
    except EvidenceRefused as error:
        # No export can be made: a stored checkpoint is not even one of its own size, or the tree has holes.
        return _unread(_refused(error, state.size))
    if fault is None:
        with single(engine) as connection:
            fault = _check_tiles(tile_reader(connection), size) or _check_marks(connection, size)
    return SelfCheck(report, size if fault is None else report.events, fault)


def _unread(fault: Fault) -> SelfCheck:
    return SelfCheck(unread(fault), 0, fault)


def _check_name(state: LogState, key: VerifierKey) -> Fault | None:
    """The log is the one that the key signs for: under another name nothing that was kept would be looked up."""
    if state.origin == key.name:
        return None
    message = f"the database calls its log {state.origin}, and the key is that of {key.name}"
    return Fault(Wrong.ORIGIN, 0, state.size, 0, message)


def _check_end(state: LogState, until: StoredCheckpoint | None, kept: Iterable[str]) -> Fault | None:
    """The log reaches as far as was signed for, and what was kept outside was not forgotten inside."""
    if until is not None:
        if until.size <= state.size:
            return None
        message = f"a checkpoint of {counted(until.size, 'event')} is signed, and the log has {state.size}"
        return Fault(Wrong.TRUNCATED, state.size, until.size, 0, message)
    try:
        count = sum(1 for _ in kept)
    except KeptRefused as error:
        return Fault(Wrong.KEPT, 0, state.size, 0, str(error))
    if not count:
        raise NotSealed(NOTHING_SIGNED)
    message = f"{count} checkpoints were kept outside, and the database has none: do not sign again, look what happened to it"
    return Fault(Wrong.MISSING, 0, state.size, 0, message)


def _refused(error: EvidenceRefused, size: int) -> Fault:
    if isinstance(error, TilesBroken):
        first = (error.tile * WIDTH + error.found) << HEIGHT * error.level
        return Fault(Wrong.TILES, min(first, size), size, 0, str(error))
    if isinstance(error, ExportRefused) and error.index is not None:
        return Fault(Wrong.LINE, error.index, error.index + 1, 0, str(error))
    return Fault(Wrong.CHECKPOINT, 0, size, 0, str(error))


def _lines(reader: LogReader, until: StoredCheckpoint, progress: Progress) -> Iterator[bytes]:
    for size, lines in export(reader, until):
        progress(size)
        # Not splitlines: an escaped text may hold what that takes for the end of a line.
        yield from (line + b"\n" for line in lines.split(b"\n")[:-1])


def _named(engine: Engine) -> Iterator[tuple[Stream, list[int]]]:
    """What redactions name that nothing signs for yet: asked last, so that none is missed."""
    with single(engine) as connection:
        for stream, seqs in read_redactions(connection):
            yield spelled_stream(stream.tenant, stream.commit_key), seqs


def _check_tail(reader: LogReader, first: int, size: int) -> Fault | None:
    """Events that are sealed and that nothing signs for yet."""
    while first < size:
        for entry in reader.entries(first - 1, min(PAGE, size - first)):
            wrong = _wrong(entry)
            if wrong is not None:
                return Fault(
                    wrong, entry.index, entry.index + 1, 0, "an event sealed since the last checkpoint"
                )
        first = min(first + PAGE, size)
    return None


def _wrong(entry: Entry) -> Wrong | None:
    if entry.envelope is None:
        return Wrong.CONTENT
    envelope = entry.envelope.encode()
    if leaf_hash(envelope) != entry.leaf_hash:
        return Wrong.LEAF_HASH
    if entry.payload is not None or entry.salt is not None:
        salt, payload = entry.salt or b"", entry.payload or ""
        digest = sha256(salt + payload.encode()).hexdigest()
        if len(salt) != SALT_BYTES or digest != loads(envelope)["payload_digest"]:
            return Wrong.PAYLOAD_DIGEST
    return None


def _check_marks(connection: Connection, size: int) -> Fault | None:
    """Whatever is committed and not sealed is marked and stands where its stream's row says, so that sealing finds it."""
    if (stream := find_beyond(connection)) is not None:
        why = "events of it count as sealed at places beyond the log's end, where nobody reads them"
    elif (stream := find_unmarked(connection)) is not None:
        why = "no round would ever seal its last events; `ledger rebuild` mends it"
    else:
        stream = find_stray(connection)
        if stream is None:
            return None
        why = f"no round seals its events in shard {stream.shard}: its row there is missing, wrong, or one of them is missing"
    message = f"stream {stream.commit_key} of tenant {stream.tenant}: {why}"
    return Fault(Wrong.UNMARKED, size, size, 0, message)


def _check_tiles(read: TileReader, size: int) -> Fault | None:
    """Every hash of an upper tile is the root of the tile below it."""
    level = 1
    while size >> HEIGHT * level:
        for tile in range(((size >> HEIGHT * level) + WIDTH - 1) // WIDTH):
            hashes = read(level, tile)
            for place in range(width(level, tile, size)):
                below = tile * WIDTH + place
                found = hashes[place * HASH_BYTES :][:HASH_BYTES]
                if found != perfect_root(read(level - 1, below)):
                    leaves = 1 << HEIGHT * level
                    message = f"hash {place} of tile {tile}, level {level}, is not that of the tile below it"
                    return Fault(Wrong.ROOT, below * leaves, (below + 1) * leaves, 0, message)
        level += 1
    return None
