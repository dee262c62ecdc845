"""audit.shard is ledger.sharding: whoever names the shard looks into the right one."""

from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from ledger.sharding import shard_of
from tests.gateway.turn.desk import spell
from tests.ledger.audit.asking import VIEWS
from tests.ledger.liveturn import LiveTurn

NAMES = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=9)


def test_the_shard_is_the_same_in_sql_and_in_python(module_database):
    engine = create_engine(module_database.admin_url, poolclass=NullPool)
    with engine.connect() as connection:

        @settings(max_examples=300, deadline=None)
        @given(NAMES, NAMES)
        def check(tenant: str, key: str) -> None:
            query = text("select audit.shard(:tenant, :key)")
            assert connection.execute(query, {"tenant": tenant, "key": key}).scalar_one() == shard_of(
                tenant, key
            )

        check()


def test_a_query_may_name_the_shard(auditor, ledger, tenant):
    turn = LiveTurn(ledger, tenant)
    turn.draft(spell("read", name="a"))
    turn.call("read")
    turn.rule_all()
    for view in VIEWS:
        everything = auditor.ask(f"select * from audit.{view} where commit_key = %(key)s", key=turn.key)
        named = "shard = audit.shard(%(tenant)s, %(key)s) and commit_key = %(key)s"
        here = auditor.ask(f"select * from audit.{view} where {named}", tenant=tenant, key=turn.key)
        assert sorted(map(str, here)) == sorted(map(str, everything))
        elsewhere = "shard <> audit.shard(%(tenant)s, %(key)s)"
        assert auditor.ask(f"select * from audit.{view} where {elsewhere}", tenant=tenant, key=turn.key) == []
