"""Envelopes: byte for byte RFC 8785, whatever the columns hold."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effects.canonical import canonical
from effects.strict_json import MAX_INTEGER
from ledger.errors import UnwritableValue
from ledger.evidence.envelope import envelope, identity
from ledger.evidence.tree import leaf_hash

texts = st.text(st.characters(exclude_categories=["Cs"]))
numbers = st.none() | st.integers(-MAX_INTEGER, MAX_INTEGER)
zones = st.integers(-840, 840).map(lambda minutes: timezone(timedelta(minutes=minutes)))
rows = st.fixed_dictionaries(
    {
        "tenant": texts,
        "commit_key": texts,
        "seq": st.integers(1, MAX_INTEGER),
        "type": texts,
        "at": st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=zones),
        "payload_digest": st.binary(min_size=32, max_size=32),
        "branch": st.none() | texts,
        "intent_id": st.none() | texts,
        "attempt": numbers,
        "head_after": numbers,
        "cut_at": numbers,
    }
)
ROW = {
    "tenant": "default",
    "commit_key": "turn-1",
    "seq": 3,
    "type": "tokens.ruled",
    "at": datetime(2026, 7, 1, 12, 0, 0, 50, UTC),
    "payload_digest": bytes(range(32)),
}


def test_a_fixed_envelope_and_its_leaf_never_change():
    made = envelope(**ROW, branch="main", head_after=8, cut_at=8)
    assert made == (
        b'{"at":"2026-07-01T12:00:00.000050Z","attempt":null,"branch":"main","commit_key":"turn-1","cut_at":8,'
        b'"head_after":8,"intent_id":null,'
        b'"payload_digest":"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",'
        b'"seq":3,"tenant":"default","type":"tokens.ruled"}'
    )
    assert leaf_hash(made).hex() == "d1bda2e677f45d68f597ee9ff12d3627a7a2325660b01f842d4f45a2db5e3049"


@given(rows)
@settings(max_examples=400, deadline=None)
def test_it_is_the_canonical_json_of_its_columns(row):
    at = row["at"].astimezone(UTC)
    value = {
        **row,
        "at": at.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z",
        "payload_digest": row["payload_digest"].hex(),
    }
    made = envelope(**row)
    assert made == canonical(value)
    assert identity(made) == (
        canonical(row["commit_key"]),
        row["payload_digest"].hex().encode(),
        b"%d" % row["seq"],
        canonical(row["tenant"]),
    )


@pytest.mark.parametrize(
    "change",
    [
        {"seq": MAX_INTEGER + 1},
        {"head_after": -MAX_INTEGER - 1},
        {"tenant": "\ud800"},
        {"at": datetime(2026, 7, 1)},
    ],
)
def test_what_has_no_canonical_form_is_refused(change):
    with pytest.raises(UnwritableValue):
        envelope(**(ROW | change))


ENVELOPE = envelope(**ROW)


@pytest.mark.parametrize(
    "other",
    [
        b"",
        b"{}",
        ENVELOPE + b" ",
        ENVELOPE.replace(b",", b", "),
        ENVELOPE.replace(b'"seq":3', b'"seq":03'),
        ENVELOPE.replace(b'"seq":3', b'"seq":-3'),
        ENVELOPE.replace(b'"seq":3', b'"seq":"3"'),
        ENVELOPE.replace(b'"seq":3,', b""),
        ENVELOPE.replace(b'"seq":3,', b'"seq":3,"seq":4,'),
        ENVELOPE.replace(b"0001", b"000G"),
        ENVELOPE.replace(b"0001", b""),
        ENVELOPE.replace(b'"default"', b'"de"fault"'),
        ENVELOPE.replace(b'"default"', b"null"),
    ],
)
def test_other_texts_are_no_envelope(other):
    assert identity(other) is None
