"""The verifier: what is untouched passes, each kind of wrong has its code, and each check is what finds its kind."""

import tracemalloc
from functools import partialmethod
from io import BytesIO
from random import Random

import pytest

from ledger.errors import ExportRefused
from ledger.evidence import blanks, exportfile, seqs
from ledger.evidence.exportfile import CheckpointLine, Header, lines_of, parse_line, read
from ledger.evidence.note import SigningKey, VerifierKey, body_of
from ledger.evidence.report import Wrong
from ledger.evidence.tree import leaf_hash
from ledger.evidence.verify import Verification, verify
from tests.ledger.evidence.making import KEY, TENANTS, checkpoint, exported, log, sealed

VERIFIER = KEY.verifier()
STRANGER = SigningKey.generate(KEY.name)
EVENTS = log(Random(1), 40)
PLAIN = log(Random(2), 40, redacted=0)


@pytest.mark.parametrize("tenant", [None, *TENANTS])
@pytest.mark.parametrize("size", [0, 1, 2, 7, 8, 40])
def test_an_untouched_export_passes(tenant, size):
    events = EVENTS[:size]
    report = verify(exported(events, tenant=tenant), VERIFIER)
    assert report.ok, report.fault
    mine = [event for event in events if tenant in (None, event.columns["tenant"])]
    assert (report.events, report.vouched, report.tenant) == (size, size, tenant)
    assert report.hashes_only == size - len(mine)
    assert report.redacted == sum(event.payload is None for event in mine)
    assert report.streams == len({event.columns["commit_key"] for event in mine})
    assert report.checkpoints == max(1, -(-size // 7))
    assert checkpoint(events) == KEY.sign(body_of(checkpoint(events)))


def test_every_event_may_be_redacted_that_a_redaction_names():
    events = log(Random(3), 30, redacted=1)
    report = verify(exported(events), VERIFIER)
    assert report.ok, report.fault
    assert report.redacted == 25 == sum(event.payload is None for event in events)


def test_it_reads_a_file_and_nothing_of_it_twice(tmp_path):
    path = tmp_path / "export"
    path.write_bytes(b"".join(exported(EVENTS)))
    with path.open("rb") as file:
        assert verify(file, VerifierKey.parse(VERIFIER.text())).ok
    assert verify(iter(exported(EVENTS)), VERIFIER).ok


def place(lines, index):
    """Where in the file the event stands."""
    return next(at for at, line in enumerate(lines) if line.startswith(b"%d\t" % index))


def changed(index, field, value):
    """One field of one event is another."""
    lines = exported(PLAIN)
    fields = lines[place(lines, index)][:-1].split(b"\t")
    fields[field] = value(fields[field])
    lines[place(lines, index)] = b"\t".join(fields) + b"\n"
    return lines


def mixed(index, one, other):
    """One event of ``one`` export is that of ``other``."""
    at = place(one, index)
    return [*one[:at], other[at], *one[at + 1 :]]


def blank(event):
    """The event without payload and salt."""
    return type(event)(event.columns, None, None)


def forged_events(index):
    """A history in which one event is another, with digests and hashes that fit."""
    was = PLAIN[index].columns
    forged = sealed(was["tenant"], was["commit_key"], was["seq"], "forged")
    return [*PLAIN[:index], forged, *PLAIN[index + 1 :]]


def swapped_payloads():
    lines = exported(PLAIN)
    one, two = place(lines, 3), place(lines, 5)
    a, b = lines[one].split(b"\t"), lines[two].split(b"\t")
    lines[one], lines[two] = b"\t".join(a[:3] + b[3:]), b"\t".join(b[:3] + a[3:])
    return lines


def other_checkpoints(**changes):
    """The header is the log's, the checkpoints behind it are not."""
    lines, others = exported(PLAIN), exported(PLAIN, **changes)
    return [
        other if at and line.startswith(b"{") else line
        for at, (line, other) in enumerate(zip(lines, others, strict=True))
    ]


def without(at):
    lines = exported(PLAIN)
    return lines[:at] + lines[at + 1 :]


SECOND = next(at for at, event in enumerate(PLAIN) if event.columns["seq"] == 2)
THIRD = next(
    at
    for at, event in enumerate(PLAIN)
    if event.columns["seq"] == 3 and event.columns["commit_key"] == PLAIN[SECOND].columns["commit_key"]
)
OTHERS = next(at for at, event in enumerate(PLAIN) if event.columns["tenant"] == TENANTS[1])
FIRST_CHECKPOINT = 8

WRONG = {
    "another index": (lambda: changed(4, 0, lambda _: b"5"), Wrong.INDEX, 4, 5, "check_index"),
    "another leaf hash": (
        lambda: changed(4, 1, lambda text: text[::-1]),
        Wrong.LEAF_HASH,
        4,
        5,
        "check_leaf_hash",
    ),
    "payloads swapped": (swapped_payloads, Wrong.PAYLOAD_DIGEST, 3, 4, "check_payload"),
    "payload gone and salt left": (
        lambda: changed(4, 3, lambda _: b""),
        Wrong.PAYLOAD_DIGEST,
        4,
        5,
        "check_payload",
    ),
    "a payload taken away": (
        lambda: mixed(4, exported(PLAIN), exported([*PLAIN[:4], blank(PLAIN[4]), *PLAIN[5:]])),
        Wrong.REDACTION,
        4,
        5,
        "check_redactions",
    ),
    "a gap that was sealed": (
        lambda: exported(PLAIN[:SECOND] + PLAIN[SECOND + 1 :], sizes=[]),
        Wrong.SEQ,
        THIRD - 1,
        THIRD,
        "check_seq",
    ),
    "another tenant's event shown": (
        lambda: mixed(OTHERS, exported(PLAIN, tenant=TENANTS[0]), exported(PLAIN)),
        Wrong.TENANT,
        OTHERS,
        OTHERS + 1,
        "check_tenant",
    ),
    "an event hidden": (
        lambda: mixed(39, exported(PLAIN), exported(PLAIN, tenant="nobody")),
        Wrong.CONTENT,
        39,
        40,
        "check_may_hide",
    ),
    "checkpoints of another log": (
        lambda: other_checkpoints(origin="other"),
        Wrong.ORIGIN,
        0,
        7,
        "check_origin",
    ),
    "two checkpoints of one size": (
        lambda: [*exported(PLAIN), CheckpointLine(checkpoint(PLAIN), 7).line()],
        Wrong.MISPLACED,
        40,
        40,
        "check_place",
    ),
    "a checkpoint taken out": (lambda: without(FIRST_CHECKPOINT), Wrong.MISSING, 0, 14, "check_number"),
    "a careful forger": (
        lambda: mixed(10, exported(PLAIN), exported(forged_events(10))),
        Wrong.ROOT,
        7,
        14,
        "check_root",
    ),
    "cut behind a checkpoint": (
        lambda: exported(PLAIN)[: FIRST_CHECKPOINT + 1],
        Wrong.TRUNCATED,
        7,
        40,
        "check_end",
    ),
    "the last checkpoint gone": (lambda: exported(PLAIN)[:-1], Wrong.TRUNCATED, 40, 40, "check_end"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_found_by_its_check_and_passes_without_it(wrong, monkeypatch):
    spoiled, code, index, until, check = WRONG[wrong]
    report = verify(spoiled(), VERIFIER)
    assert report.fault is not None
    assert (report.fault.code, report.fault.index, report.fault.until) == (code, index, until)
    assert not report.ok
    monkeypatch.setattr(Verification, check, lambda *_: None)
    assert verify(spoiled(), VERIFIER).ok, (
        "another check finds it too: then this says nothing about the check"
    )


@pytest.mark.parametrize("key", [STRANGER, SigningKey.generate("other")])
def test_another_s_signature_is_found_and_passes_where_signatures_are_not_checked(key, monkeypatch):
    for lines, until in ((exported(PLAIN, key=key), 0), (other_checkpoints(key=key), 7)):
        fault = verify(lines, VERIFIER).fault
        assert fault is not None
        assert (fault.code, fault.index, fault.until) == (Wrong.SIGNATURE, 0, until)
    monkeypatch.setattr(VerifierKey, "open", lambda _, note: body_of(note))
    assert verify(exported(PLAIN, key=key), VERIFIER).ok


@pytest.mark.parametrize(
    ("lines", "code", "index", "line"),
    [
        ([], Wrong.HEADER, 0, 1),
        (exported(PLAIN)[1:], Wrong.HEADER, 0, 1),
        ([b"{}\n"], Wrong.HEADER, 0, 1),
        ([b"[]\n"], Wrong.HEADER, 0, 1),
        ([b"[" * 100_000], Wrong.HEADER, 0, 1),
        ([Header(checkpoint(PLAIN)).line().replace(b"/1", b"/2")], Wrong.HEADER, 0, 1),
        ([Header(checkpoint(PLAIN)).line().replace(b":", b": ", 1)], Wrong.HEADER, 0, 1),
        ([Header(KEY.sign("no checkpoint\n")).line()], Wrong.CHECKPOINT, 0, 1),
        (changed(4, 2, lambda _: b"{}"), Wrong.LEAF_HASH, 4, 6),
        (changed(4, 4, bytes.upper), Wrong.LINE, 4, 6),
        (changed(4, 4, lambda salt: salt[:-1]), Wrong.LINE, 4, 6),
        (changed(4, 4, lambda salt: salt + b"\t"), Wrong.LINE, 4, 6),
        ([*exported(PLAIN)[:5], b"\n"], Wrong.LINE, 4, 6),
        ([*exported(PLAIN)[:5], b'{"checkpoint":1}\n'], Wrong.LINE, 4, 6),
        ([*exported(PLAIN)[:5], exported(PLAIN)[5][:-1]], Wrong.LINE, 4, 6),
        ([*exported(PLAIN), b"40\t" + b"00" * 32 + b"\n"], Wrong.BEYOND_END, 40, 48),
    ],
)
def test_what_cannot_be_read_is_named(lines, code, index, line):
    fault = verify(lines, VERIFIER).fault
    assert fault is not None
    assert (fault.code, fault.index, fault.line) == (code, index, line)


def test_a_leaf_hash_that_fits_no_envelope_is_named():
    lines = changed(4, 2, lambda _: b"{}")
    fields = lines[5].split(b"\t")
    fields[1] = leaf_hash(b"{}").hex().encode()
    lines[5] = b"\t".join(fields)
    fault = verify(lines, VERIFIER).fault
    assert fault is not None
    assert (fault.code, fault.index) == (Wrong.ENVELOPE, 4)


def test_two_events_that_claim_one_index_are_both_named():
    lines = exported(PLAIN)
    lines.insert(5, exported([*PLAIN[:4], sealed("acme", "new", 1, "slipped in"), *PLAIN[4:]])[5])
    fault = verify(lines, VERIFIER).fault
    assert fault is not None
    assert (fault.code, fault.index, fault.until) == (Wrong.INDEX, 4, 6)


class TestKept:
    """Checkpoints that were kept outside bind also whoever holds the signing key."""

    def test_those_of_this_history_pass(self):
        for sizes in ([], [0], [0, 0, 7, 7, 9, 40], [40]):
            assert verify(exported(PLAIN), VERIFIER, kept=[checkpoint(PLAIN, size) for size in sizes]).ok

    def test_a_history_signed_again_is_found(self, monkeypatch):
        rewritten, kept = exported(forged_events(10)), [checkpoint(PLAIN, 7), checkpoint(PLAIN, 14)]
        assert verify(rewritten, VERIFIER).ok, "the signatures are good: nothing else shows it"
        fault = verify(rewritten, VERIFIER, kept=kept).fault
        assert fault is not None
        assert (fault.code, fault.index, fault.until, fault.line) == (Wrong.KEPT_ROOT, 7, 14, 0)
        monkeypatch.setattr(Verification, "check_kept", lambda *_: None)
        assert verify(rewritten, VERIFIER, kept=kept).ok

    def test_a_log_that_was_taken_back_is_found(self):
        fault = verify(
            exported(PLAIN[:20]), VERIFIER, kept=[checkpoint(PLAIN, 20), checkpoint(PLAIN, 25)]
        ).fault
        assert fault is not None
        assert (fault.code, fault.index, fault.until) == (Wrong.KEPT_BEYOND, 20, 25)

    @pytest.mark.parametrize(
        "kept",
        [
            ["nonsense"],
            [checkpoint(PLAIN, 7, key=STRANGER)],
            [checkpoint(PLAIN, 7, origin="other")],
            [checkpoint(PLAIN, 14), checkpoint(PLAIN, 7)],
            [KEY.sign("no checkpoint\n")],
        ],
    )
    def test_those_that_are_none_are_refused(self, kept):
        fault = verify(exported(PLAIN), VERIFIER, kept=kept).fault
        assert fault is not None
        assert (fault.code, fault.line) == (Wrong.KEPT, 0)


def test_more_streams_than_are_held_in_memory(monkeypatch):
    monkeypatch.setattr(seqs.Seqs, "__init__", partialmethod(seqs.Seqs.__init__, 3))
    events = log(Random(4), 400, streams=60)
    assert verify(exported(events), VERIFIER).ok
    gap = next(at for at, event in enumerate(events) if event.columns["seq"] == 4)
    report = verify(exported(events[:gap] + events[gap + 1 :]), VERIFIER)
    assert report.fault is not None
    assert report.fault.code == Wrong.SEQ


def test_memory_does_not_grow_with_the_log(monkeypatch):
    monkeypatch.setattr(blanks.Blanks, "__init__", partialmethod(blanks.Blanks.__init__, 30))

    def peak(events):
        lines = exported(log(Random(5), events, streams=4), every=50)
        tracemalloc.start()
        try:
            assert verify(iter(lines), VERIFIER).ok
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    small, large = peak(300), peak(6000)
    assert large < small * 1.5 + 20_000


def test_a_line_without_an_end_was_read_into_memory(monkeypatch):
    monkeypatch.setattr(exportfile, "LARGEST_LINE", 10_000)
    lines = exported(PLAIN)
    for at in (0, 5):
        before, endless = b"".join(lines[:at]), lines[at][:1] + b"x" * 1_000_000
        tracemalloc.start()
        try:
            fault = verify(lines_of(BytesIO(before + endless)), VERIFIER).fault
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert fault is not None
        assert fault.code == (Wrong.LINE if at else Wrong.HEADER)
        assert peak < 1_500_000, "the file itself is a million of it"
    with pytest.raises(ExportRefused, match="more bytes"):
        exported([sealed("acme", "long", 1, "x" * 10_000)])


def test_names_of_streams_of_any_length_were_remembered(monkeypatch):
    events = [sealed("acme", f"{number}" + "x" * 20_000, 1, "a") for number in range(20)]
    monkeypatch.setattr(seqs.Seqs, "set", lambda _, stream, __: held.append(stream))
    held = []
    report = verify(exported(events), VERIFIER)
    assert (report.ok, report.streams, len({*held})) == (True, 20, 20)
    assert max(len(name) for stream in held for name in stream) < 100


def test_a_size_of_thousands_of_digits_is_refused():
    body = f"{KEY.name}\n{'9' * 6000}\n{body_of(checkpoint(PLAIN)).splitlines()[2]}\n"
    fault = verify([Header(KEY.sign(body)).line()], VERIFIER).fault
    assert fault is not None
    assert fault.code == Wrong.CHECKPOINT


def test_every_line_of_an_export_is_read_back_as_it_was_written():
    lines = exported(EVENTS, tenant=TENANTS[0])
    kinds = {type(parse_line(line)).__name__ for line in lines[1:]}
    assert kinds == {"EventLine", "HashLine", "CheckpointLine"}
    assert [type(line).__name__ for line in read(lines)][:2] == [
        "Header",
        type(parse_line(lines[1])).__name__,
    ]


@pytest.mark.parametrize(
    ("size", "kept", "message"),
    [
        (1, 1, "the file should end with a checkpoint of 1 event"),
        (2, 2, "the file should end with a checkpoint of 2 events"),
    ],
)
def test_one_event_is_not_1_events(size, kept, message):
    lines = exported(PLAIN[:size])
    report = verify(lines[:-1], VERIFIER)
    assert report.fault is not None
    assert report.fault.message == message


def test_one_event_that_was_kept_is_not_1_events():
    other = checkpoint(forged_events(0), 1)
    report = verify(exported(PLAIN), VERIFIER, kept=[other])
    assert report.fault is not None
    assert report.fault.message == "the checkpoint of 1 event that was kept has another root"
