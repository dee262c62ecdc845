"""The writer of exports: what it writes verifies, and what would not verify it refuses."""

import io

import pytest

from ledger.errors import CheckpointRefused, ExportRefused, NoteRefused
from ledger.evidence.exportfile import ExportWriter, Header, parse_header
from ledger.evidence.verify import verify
from tests.ledger.evidence.making import KEY, checkpoint, sealed, split

EVENTS = [sealed("acme", "turn-1", seq, "text") for seq in (1, 2)]
LEAF = EVENTS[0].leaf


@pytest.fixture
def file():
    return io.BytesIO()


def test_the_lines_of_the_format(file):
    writer = ExportWriter(file, checkpoint(EVENTS), "acme")
    writer.event(LEAF, b"{envelope}", "{payload}", b"\x01\xab")
    writer.checkpoint(checkpoint(EVENTS, 1))
    writer.hash_only(LEAF)
    writer.checkpoint(checkpoint(EVENTS, 2))
    header, event, first, hidden, last = split(file.getvalue())
    assert parse_header(header) == Header(checkpoint(EVENTS), "acme")
    assert event == b"0\t" + LEAF.hex().encode() + b"\t{envelope}\t{payload}\t01ab\n"
    assert hidden == b"1\t" + LEAF.hex().encode() + b"\n"
    assert first.endswith(b',"number":1}\n')
    assert last.endswith(b',"number":2}\n')
    assert writer.size == 2


def test_a_redacted_event_has_its_tabs_and_nothing_between(file):
    writer = ExportWriter(file, checkpoint(EVENTS))
    writer.event(LEAF, EVENTS[0].envelope, None, None)
    assert split(file.getvalue())[1].endswith(EVENTS[0].envelope + b"\t\t\n")


def test_what_it_writes_verifies(file):
    writer = ExportWriter(file, checkpoint(EVENTS))
    for event in EVENTS:
        writer.event(event.leaf, event.envelope, event.payload, event.salt)
    writer.checkpoint(checkpoint(EVENTS))
    assert verify(split(file.getvalue()), KEY.verifier()).ok


@pytest.mark.parametrize(
    "write",
    [
        lambda writer: writer.event(LEAF, b"{}", "{}", None),
        lambda writer: writer.event(LEAF, b"{}", None, b"salt"),
        lambda writer: writer.event(LEAF, b"{\t}", "{}", b"salt"),
        lambda writer: writer.event(LEAF, b"{}", "{\n}", b"salt"),
        lambda writer: writer.checkpoint(checkpoint(EVENTS, 1)),
        lambda writer: [writer.hash_only(LEAF) for _ in range(3)],
    ],
)
def test_what_would_not_verify_is_refused(file, write):
    writer = ExportWriter(file, checkpoint(EVENTS))
    with pytest.raises(ExportRefused) as refused:
        write(writer)
    assert refused.value.code == "export_refused"


def test_an_export_needs_a_checkpoint(file):
    with pytest.raises(NoteRefused):
        ExportWriter(file, "nonsense")
    with pytest.raises(CheckpointRefused):
        ExportWriter(file, KEY.sign("no checkpoint\n"))
    assert not file.getvalue(), "nothing is begun that cannot be finished"
