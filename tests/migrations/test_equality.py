"""Revisions and models describe one database; every kind of object is compared."""

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from tests.migrations.equality import build_from_models, difference


@pytest.fixture(scope="module")
def modelled(database_server):
    """Nothing here changes it."""
    database_server.prepare_roles()
    with database_server.database("modelled") as made:
        build_from_models(made.owner_url)
        yield made


def test_revisions_build_what_the_models_say(database, modelled):
    assert difference(database, modelled) == ""


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("drop trigger events_append_only on ledger.events", "events_append_only"),
        ("alter table ledger.events enable trigger events_append_only", "ENABLE ALWAYS"),
        ("revoke insert on ledger.events from commitgate_writer", "GRANT"),
        ("grant delete on ledger.events to commitgate_service", "GRANT"),
        ("grant usage on schema ledger to public", "GRANT"),
        ("alter table ledger.pauses owner to current_user", "OWNER"),
        ("alter table ledger.dispatches drop constraint dispatches_once", "dispatches_once"),
        ("alter table ledger.dispatches drop constraint dispatches_write_once", "dispatches_write_once"),
        ("drop index ledger.intents_released", "intents_released"),
        ("alter table ledger.events alter column payload set not null", "payload"),
        ("comment on column ledger.events.seq is 'else'", "COMMENT"),
        (
            "create or replace function ledger.refuse_change() returns trigger language plpgsql"
            " as $$ begin return null; end $$",
            "return null",
        ),
    ],
)
def test_a_difference_is_found(database, modelled, statement, named):
    """The negative control: each of these is a database that the check has to refuse."""
    engine = create_engine(database.owner_url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text(statement))
    found = difference(database, modelled)
    assert any(line[0] in "+-" and named in line for line in found.splitlines() if line)
