"""A payload that is gone is accounted for by a redaction behind it in its stream, and by nothing else."""

from random import Random

import pytest

from ledger.evidence.blanks import Blanks, is_redaction, named_by
from ledger.evidence.report import Wrong
from ledger.evidence.verify import verify
from tests.ledger.evidence.making import KEY, TENANTS, exported, log, redaction, sealed

ACME, OTHER = TENANTS
MUTATIONS = 200


def fault_of(events, tenant=None, **options):
    return verify(exported(events, tenant=tenant), KEY.verifier(), **options).fault


def blank(events, at):
    return [*events[:at], type(events[at])(events[at].columns, None, None), *events[at + 1 :]]


def stream_of(event):
    return event.columns["tenant"], event.columns["commit_key"]


def unnamed(events):
    """The first index of a blank event that no later redaction of its stream names, worked out from what was made."""
    named = set()
    found = None
    for index in range(len(events) - 1, -1, -1):
        event = events[index]
        if event.columns["type"] == "payload.redacted" and event.payload is not None:
            named |= {(*stream_of(event), seq) for seq in named_by(event.payload.encode())}
        if event.payload is None and (*stream_of(event), event.columns["seq"]) not in named:
            found = index
    return found


@pytest.mark.parametrize("tenant", [None, *TENANTS])
def test_what_is_blank_and_unnamed_is_found_with_its_index(tenant, record_property):
    done = 0
    for number in range(MUTATIONS):
        random = Random(number)
        events = log(random, 60, redacted=0.2)
        for _ in range(random.randrange(1, 4)):
            events = blank(events, random.randrange(60))
        shown = [event if tenant in (None, event.columns["tenant"]) else None for event in events]
        expected = unnamed(events) if tenant is None else _unnamed_of(shown)
        fault = fault_of(events, tenant)
        if expected is None:
            assert fault is None
            continue
        done += 1
        assert (fault.code, fault.index, fault.until) == (Wrong.REDACTION, expected, expected + 1), number
    assert done > MUTATIONS / 3
    record_property("counted", f"{done:,} exports of {tenant or 'all'} with payloads taken away, each found")


def _unnamed_of(shown):
    places = [index for index, event in enumerate(shown) if event is not None]
    found = unnamed([shown[index] for index in places])
    return None if found is None else places[found]


def test_a_log_with_named_blanks_passes_and_says_how_many():
    events = log(Random(1), 60, redacted=0.3)
    report = verify(exported(events), KEY.verifier())
    assert report.ok
    assert report.redacted == sum(event.payload is None for event in events) > 5


@pytest.mark.parametrize(
    "naming",
    [
        [],
        [redaction(ACME, "turn", 3, [1])],
        [redaction(ACME, "turn-2", 1, [2])],
        [redaction(OTHER, "turn", 1, [2])],
        [redaction(ACME, "turn", 3, "2")],
        [redaction(ACME, "turn", 3, {"2": True})],
        [redaction(ACME, "turn", 3, ["2", 2.5, True, None, -2, 2**53 - 1])],
        [sealed(ACME, "turn", 3, "no redaction", members={"seqs": [2]})],
        [sealed(ACME, "turn", 3, 'x"type":"payload.redacted"}', members={"seqs": [2]})],
    ],
)
def test_nothing_else_accounts_for_it(naming):
    gone = [sealed(ACME, "turn", 1, "stays"), sealed(ACME, "turn", 2, "goes", redacted=True)]
    assert fault_of([*gone, redaction(ACME, "turn", 3, [2])]) is None
    fault = fault_of([*gone, *naming])
    assert (fault.code, fault.index) == (Wrong.REDACTION, 1)


def test_a_redaction_names_nothing_that_comes_after_it():
    events = [redaction(ACME, "turn", 1, [2]), sealed(ACME, "turn", 2, "goes", redacted=True)]
    assert fault_of(events).code == Wrong.REDACTION


def test_a_redaction_that_is_gone_names_nothing():
    events = [sealed(ACME, "turn", 1, "goes", redacted=True), redaction(ACME, "turn", 2, [1])]
    assert fault_of(events) is None
    fault = fault_of(blank(events, 1))
    assert (fault.code, fault.index) == (Wrong.REDACTION, 0)


def test_other_tenants_redactions_are_not_missed():
    """Of others a tenant's export shows nothing, neither what is gone nor who took it away."""
    events = [sealed(OTHER, "turn", 1, "goes", redacted=True), sealed(ACME, "turn", 1, "stays")]
    assert fault_of(events, ACME) is None
    assert fault_of(events).code == Wrong.REDACTION


def test_what_is_known_beside_the_file_counts():
    events = [sealed(ACME, "turn", 1, "goes", redacted=True)]
    stream = (b'"acme"', b'"turn"')
    assert fault_of(events, named=[(stream, [1])]) is None
    assert fault_of(events, named=[(stream, [2])]).code == Wrong.REDACTION


def test_a_type_is_read_where_it_stands():
    assert is_redaction(redaction(ACME, "turn", 1, []).envelope)
    assert not is_redaction(sealed(ACME, "turn", 1, "x", branch='"type":"payload.redacted"}').envelope)
    assert not is_redaction(sealed(ACME, "turn", 1, "x", type='"type":"payload.redacted"}').envelope)


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b"{}", b'{"seqs":null}', b"[" * 100_000])
def test_what_cannot_be_read_names_nothing(payload):
    assert named_by(payload) == []


@pytest.mark.parametrize("held", [1, 3, 1000])
def test_blanks_are_remembered_however_many(held):
    random = Random(held)
    model = {}
    with Blanks(held) as blanks:
        for index in range(1, 2000):
            stream = (b"t", str(random.randrange(5)).encode())
            if random.random() < 0.6:
                blanks.add(stream, index, index)
                model[stream, index] = index
            else:
                seqs = [random.randrange(max(1, index - 50), index + 1) for _ in range(8)]
                blanks.name(stream, seqs)
                for seq in seqs:
                    model.pop((stream, seq), None)
            if index % 100 == 0:
                assert blanks.first() == min(model.values(), default=None)
        assert blanks.first() == min(model.values())
        for stream, seq in list(model):
            blanks.name(stream, [seq])
        assert blanks.first() is None
