"""Nobody but a redactor takes a payload away, and a redactor nothing but what a recorded redaction names."""

from contextlib import ExitStack

import psycopg
import pytest
from psycopg import errors

from ledger.access.duty import Duty
from ledger.redaction.purging import Purger
from ledger.sharding import StreamName
from tests.ledger.redaction.secret import recorded, secret_turn
from tests.ledger.roles.logins import KINDS, login, refused
from tests.postgres import libpq

NOBODY_ELSE = [kind for kind in KINDS if kind is not Duty.REDACTOR]
NO_GRANT, BY_TRIGGER = errors.InsufficientPrivilege, errors.RestrictViolation


def where(turn, *seqs: int) -> str:
    name = StreamName.of(turn.tenant, turn.key)
    key = f"shard = {name.shard} and tenant = '{name.tenant}' and commit_key = '{name.commit_key}'"
    return f"{key} and seq in ({', '.join(map(str, seqs))})"


def nulling(turn, *seqs: int) -> str:
    return f"update ledger.events set payload = null, salt = null where {where(turn, *seqs)}"


@pytest.fixture
def named(turn) -> tuple[int, ...]:
    """The seqs that a recorded redaction names."""
    recorded(turn)
    return tuple(sorted(turn.state.redacted))


@pytest.fixture
def spared(turn, named) -> int:
    """One that it does not name."""
    return next(event.seq for event in turn.events if event.seq not in named)


@pytest.mark.parametrize("kind", NOBODY_ELSE)
def test_nobody_else_takes_away_what_is_named(turn, named, people, kind):
    with people[kind].connection() as connection:
        error = refused(connection, nulling(turn, *named))
    assert isinstance(error, BY_TRIGGER if kind is Duty.MIGRATOR else NO_GRANT)


@pytest.mark.parametrize("kind", NOBODY_ELSE)
def test_nobody_else_does_with_the_grant_but_without_the_role(turn, named, people, kind):
    """The trigger looks at the role, whatever was granted."""
    login_ = people[kind]
    login_.admin("grant usage on schema ledger to {}")
    login_.admin("grant select, update on ledger.events to {}")
    try:
        with login_.connection() as connection:
            assert isinstance(refused(connection, nulling(turn, *named)), BY_TRIGGER)
    finally:
        login_.admin("revoke select, update on ledger.events from {}")
        login_.admin("revoke usage on schema ledger from {}")


def test_the_owner_does_not_either(turn, named, module_database):
    with psycopg.connect(libpq(module_database.owner_url), autocommit=True) as connection:
        assert isinstance(refused(connection, nulling(turn, *named)), BY_TRIGGER)


def test_a_redactor_takes_away_what_is_named(turn, named, people):
    """The control: the same statement, under the right login."""
    with people[Duty.REDACTOR].connection() as connection:
        assert refused(connection, nulling(turn, *named)) is None


def test_a_member_of_the_role_may_have_to_become_it(turn, named, module_database):
    with ExitStack() as stack:
        someone = stack.enter_context(login(module_database, "commitgate_redactor", attributes="noinherit"))
        connection = stack.enter_context(someone.connection())
        assert isinstance(refused(connection, nulling(turn, *named)), NO_GRANT)
        connection.execute("set role commitgate_redactor")
        assert refused(connection, nulling(turn, *named)) is None


def test_a_redactor_takes_nothing_away_that_no_event_names(turn, named, spared, people):
    with people[Duty.REDACTOR].connection() as connection:
        assert isinstance(refused(connection, nulling(turn, spared)), BY_TRIGGER)
        assert isinstance(refused(connection, nulling(turn, *named, spared)), BY_TRIGGER), "all or nothing"


def test_what_is_named_in_one_stream_is_not_named_in_another(turn, named, people, ledger, engine, tenant):
    other = secret_turn(ledger, engine, tenant, "turn-2")
    with people[Duty.REDACTOR].connection() as connection:
        assert isinstance(refused(connection, nulling(other, *named)), BY_TRIGGER)


def test_the_redaction_itself_stays(turn, named, people):
    with people[Duty.REDACTOR].connection() as connection:
        assert isinstance(refused(connection, nulling(turn, turn.state.seq)), BY_TRIGGER)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("set payload = null", BY_TRIGGER),
        ("set salt = null", BY_TRIGGER),
        ("set payload = '{}'", BY_TRIGGER),
        ("set payload = '{}', salt = salt", BY_TRIGGER),
        ("set salt = repeat('x', 16)::bytea", BY_TRIGGER),
        ("set payload = null, salt = null, type = 'x'", NO_GRANT),
        ("set payload = null, salt = null, payload_digest = repeat('x', 32)::bytea", NO_GRANT),
        ("set intent_id = null", NO_GRANT),
        ("set seq = seq + 1000", NO_GRANT),
        ("set at = now()", NO_GRANT),
    ],
)
def test_a_redactor_changes_nothing_else(turn, named, people, change, why):
    statement = f"update ledger.events {change} where {where(turn, *named)}"
    redactor = people[Duty.REDACTOR]
    with redactor.connection() as connection:
        assert isinstance(refused(connection, statement), why)
    redactor.admin("grant update on ledger.events to {}")
    try:
        with redactor.connection() as connection:
            assert isinstance(refused(connection, statement), BY_TRIGGER), "the trigger refuses it too"
    finally:
        redactor.admin("revoke update on ledger.events from {}")


def test_what_is_gone_is_not_put_back(turn, named, people, redactor):
    assert Purger(redactor).purge(turn.tenant, turn.key) == len(named)
    back = f"update ledger.events set payload = '{{}}', salt = repeat('x', 16)::bytea where {where(turn, *named)}"
    with people[Duty.REDACTOR].connection() as connection:
        assert isinstance(refused(connection, back), BY_TRIGGER)


@pytest.mark.parametrize(
    "statement",
    [
        "delete from ledger.events",
        "truncate ledger.events",
        "insert into ledger.events select * from ledger.events",
        "delete from ledger.batches",
        "select * from ledger.batches",
        "select * from ledger.intents",
        "update ledger.intents set arguments_raw = null",
        "select ledger.forget_batches()",
        "alter table ledger.events disable trigger events_only_redacted",
        "set session_replication_role = replica",
    ],
)
def test_a_redactor_can_do_nothing_else(turn, named, people, statement):
    with people[Duty.REDACTOR].connection() as connection:
        assert isinstance(refused(connection, statement), NO_GRANT)


def test_an_event_of_the_same_transaction_counts_and_none_of_an_unfinished_one(turn, module_database):
    name = StreamName.of(turn.tenant, turn.key)
    seq = turn.state.seq + 1
    naming = f"""
        insert into ledger.events (shard, tenant, commit_key, seq, type, at, payload, salt, payload_digest)
        values ({name.shard}, '{name.tenant}', '{name.commit_key}', {seq}, 'payload.redacted', now(),
            '{{"intents":[],"remains":{{}},"seqs":[2]}}', repeat('s', 16)::bytea, repeat('d', 32)::bytea)
    """
    with login(module_database, "commitgate_writer", "commitgate_redactor") as both, both.connection() as one:
        with one.transaction(force_rollback=True):
            one.execute(naming)
            assert one.execute(nulling(turn, 2)).rowcount == 1
            assert isinstance(refused(one, nulling(turn, 3)), BY_TRIGGER)
            with both.connection() as another:
                another.execute("set lock_timeout = '100ms'")
                error = refused(another, nulling(turn, 2))
                assert isinstance(error, BY_TRIGGER | errors.LockNotAvailable)
                assert isinstance(refused(another, nulling(turn, 3)), BY_TRIGGER)
        assert isinstance(refused(one, nulling(turn, 2)), BY_TRIGGER)


def test_deleting_and_truncating_stay_refused_for_everybody(turn, named, module_database):
    for url in (module_database.owner_url, module_database.admin_url):
        with psycopg.connect(libpq(url), autocommit=True) as connection:
            for statement in (
                f"delete from ledger.events where {where(turn, *named)}",
                "truncate ledger.events",
            ):
                assert isinstance(refused(connection, statement), BY_TRIGGER)
