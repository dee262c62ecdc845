"""What counts as asking for shards, and what does not."""

import pytest

from tests.lint.bodies import DYNAMIC, of_plpgsql
from tests.lint.scopes import Unreadable, tables, unbound

HOT = frozenset({"events", "streams", "intents", "dispatches", "seals"})

ASKED = [
    "select seq from ledger.events where shard = %(shard)s and tenant = %(tenant)s::VARCHAR",
    "select ledger.events.seq from ledger.events where ledger.events.shard = %s",
    "select 1 from ledger.intents where shard = any(%(later)s::smallint[]) and state = 'released' limit 5 for update",
    "select 1 from ledger.streams s where s.shard in (1, 2) and (s.seq = 1 or s.finished is null)",
    "select 1 from ledger.streams s where (s.shard = 1 and s.seq = 2) or (s.seq = 3 and s.shard = 4)",
    "select shard from ledger.events where (shard, tenant, commit_key) > (%s, %s, %s) order by shard limit 9",
    "select exists (select from ledger.events e where e.shard = new.shard) or exists"
    " (select 1 from ledger.dispatches d where d.shard = 2)",
    "select 1 from ledger.streams s join ledger.events e on e.shard = s.shard and e.tenant = s.tenant where s.shard = 1",
    "select 1 from generate_series(0, 255) as all_of (shard) join ledger.events e on e.shard = all_of.shard",
    "select 1 from ledger.streams s left join ledger.events e on e.shard = s.shard where s.shard = 1",
    "select 1 from ledger.streams s where shard = 1 and not exists (select 1 from ledger.events e where e.shard = s.shard)",
    "select 1 from ledger.streams s cross join lateral (select max(seq) from ledger.events e where e.shard = s.shard) m"
    " where s.shard = 7",
    "with told as materialized (select * from json_to_recordset(%s::json) as r (shard smallint, seq bigint))"
    " update ledger.streams s set seq = t.seq from told t where s.shard = t.shard and s.seq = 4 returning s.seq",
    "insert into ledger.streams (shard, tenant) values (1, 't') on conflict (shard, tenant) do update set seq = 1",
    "insert into ledger.streams (shard, tenant) select r.shard, r.tenant from json_to_recordset(%s::json)"
    " as r (shard smallint, tenant text) on conflict do nothing",
    "select 1 from unnest(%s::smallint[], %s::text[]) as given (shard, tenant) join ledger.streams s using (shard, tenant)",
    "select 1 from ledger.seals p join ledger.events e on e.shard = p.shard where p.first_index >= %s and p.first_index < 9",
    "delete from ledger.streams where streams.shard = %s",
    "delete from ledger.streams s using told t where t.shard = s.shard",
    "copy ledger.events (shard, tenant, seq) from stdin",
    "select version_num from ledger.alembic_version",
    "set lock_timeout = '10s'",
]
NOT_ASKED = [
    "select seq from ledger.events where tenant = %s",
    "select seq from ledger.events where tenant = 'shard = 1' -- and shard = 1",
    "select shard from ledger.events where not shard = 1",
    "select 1 from ledger.streams s join ledger.events e using (shard)",
    "select 1 from ledger.seals p join ledger.events e on e.shard = p.shard where p.last_seq >= %s",
    "select 1 from ledger.events where shard = 1 or tenant = 't'",
    "select 1 from ledger.events where shard > 4",
    "select 1 from ledger.events e where e.shard = e.shard",
    "select 1 from ledger.streams s join ledger.events e on e.shard = s.shard",
    "select 1 from ledger.streams s, ledger.events e where s.shard = 1",
    "select 1 from ledger.streams s left join ledger.events e on s.shard = 1 and e.shard = s.shard",
    "select 1 from ledger.streams s where shard = 1 and exists (select 1 from ledger.events e where e.tenant = s.tenant)",
    "select shard from ledger.events where (tenant, shard) > (%s, %s)",
    "update ledger.streams set seq = 1 where tenant = 't'",
    "update ledger.streams s set seq = 1 from told t where s.tenant = t.tenant",
    "delete from ledger.dispatches",
    "insert into ledger.streams (tenant) values ('t')",
    "insert into ledger.streams (shard, tenant) values (1, 't') on conflict (tenant) do nothing",
    "insert into ledger.streams select * from told",
    "copy ledger.events (tenant, seq) from stdin",
    "copy ledger.events from stdin",
    "with some as (select * from ledger.intents where state = 'released' limit 5) select * from some where shard = 1",
]


@pytest.mark.parametrize("statement", ASKED)
def test_it_is_asked_for_shards(statement: str) -> None:
    assert unbound(statement, HOT) == []


@pytest.mark.parametrize("statement", NOT_ASKED)
def test_it_is_not_asked_for_shards(statement: str) -> None:
    assert unbound(statement, HOT)


def test_what_cannot_be_read_is_said() -> None:
    with pytest.raises(Unreadable):
        unbound("select from where ledger.events ((", HOT)
    with pytest.raises(Unreadable):
        unbound("vacuum ledger.events", HOT)


def test_verbs_and_tables() -> None:
    moved = "with t as (select 1) update ledger.streams s set seq = 1 from ledger.events e where s.shard = e.shard"
    assert tables(moved) == {("update", "streams"), ("select", "events")}
    assert tables("copy ledger.events (shard) from stdin") == {("copy", "events")}
    assert tables("insert into ledger.batches (shard) values (1)") == {("insert", "batches")}
    assert tables("delete from ledger.streams where shard = 1") == {("delete", "streams")}


def test_statements_of_a_function_are_found() -> None:
    body = """
    declare
        recorded record;
    begin
        if new.unsent then
            perform ledger.refuse('x', case when new.open then 1 else 2 end);
        end if;
        select e.seq, e.at into strict found_seq, found_at from ledger.events e where e.shard = 1;
        for recorded in select d.* from ledger.dispatches d where d.shard = new.shard for update loop
            if not exists (select from ledger.streams s where s.shard = 1) then
                update ledger.streams set seq = 1 where shard = 3 returning seq into moved;
            end if;
            n := (select count(*) from ledger.intents where tenant = 't');
        end loop;
        insert into ledger.streams (shard) values (1) on conflict do nothing;
        execute 'select ' || what;
        return new;
    end
    """
    found = list(of_plpgsql(body))
    assert len(found) == 8
    assert found.count(DYNAMIC) == 1
    read = [statement for statement in found if statement != DYNAMIC]
    assert {table for statement in read for table in tables(statement)} == {
        ("select", "events"),
        ("select", "dispatches"),
        ("select", "streams"),
        ("update", "streams"),
        ("select", "intents"),
        ("insert", "streams"),
    }
    assert [bool(unbound(statement, HOT)) for statement in read] == [False] * 5 + [True, False]
