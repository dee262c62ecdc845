"""The database and Python spell one event as the same bytes; both are RFC 8785."""

import json
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, text

from effects.canonical import canonical
from ledger.evidence.envelope import envelope

# What a text column cannot hold is no event: NUL and lone surrogates.
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
NUMBERS = st.none() | st.integers(1, 2**53 - 1)
ROWS = st.fixed_dictionaries(
    {
        "tenant": TEXTS,
        "commit_key": TEXTS,
        "seq": st.integers(1, 2**53 - 1),
        "type": TEXTS,
        "at": st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45))])).filter(
            lambda at: 1 < at.year < 9999
        ),
        "payload_digest": st.binary(min_size=32, max_size=32),
        "branch": st.none() | TEXTS,
        "intent_id": st.none() | TEXTS,
        "attempt": st.none() | st.integers(1, 2**31 - 1),
        "head_after": NUMBERS,
        "cut_at": NUMBERS,
    }
)
NASTY = '"\\/\b\f\n\r\t\x01\x1f\x7f\x80\u2028\u2029é\U0001f600\ufeff\uffff'
PLAIN = {
    "tenant": NASTY,
    "commit_key": NASTY,
    "seq": 1,
    "type": NASTY,
    "at": datetime(2025, 1, 2, 3, 4, 5, 0, tzinfo=UTC),
    "payload_digest": bytes(range(32)),
    "branch": NASTY,
    "intent_id": "",
    "attempt": None,
    "head_after": None,
    "cut_at": None,
}

_QUERY = text("""
select ledger.envelope(row(0, :tenant, :commit_key, :seq, :type, :branch, :intent_id, :attempt, :head_after, :cut_at,
    :at, null, null, :payload_digest)::ledger.events)
""")


@given(row=ROWS)
@example(row=PLAIN)
@example(row=PLAIN | {"at": datetime(204, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)})
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_database_spells_an_envelope_as_python_does(
    module_engine: Engine, row: dict[str, object]
) -> None:
    with module_engine.connect() as connection:
        connection.exec_driver_sql("set time zone 'Asia/Kathmandu'")
        spelled = connection.execute(_QUERY, row).scalar_one()
    assert spelled.encode() == envelope(**row)  # type: ignore[arg-type]
    assert spelled.encode() == canonical(json.loads(spelled))


@given(code=st.integers(1, 0x2FFF) | st.integers(0x10000, 0x10FFFF))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_single_characters(module_engine: Engine, code: int) -> None:
    row = PLAIN | {"tenant": chr(code)}
    with module_engine.connect() as connection:
        assert connection.execute(_QUERY, row).scalar_one().encode() == envelope(**row)  # type: ignore[arg-type]


def test_a_function_of_columns_is_inlined_and_fetches_no_payload(module_engine: Engine) -> None:
    query = text("explain (verbose, costs off) select ledger.envelope(e) from ledger.events e")
    with module_engine.connect() as connection:
        plan = "\n".join(connection.execute(query).scalars())
    assert "ledger.envelope" not in plan
    assert "payload_digest" in plan
    assert "e.payload," not in plan
    assert "salt" not in plan
