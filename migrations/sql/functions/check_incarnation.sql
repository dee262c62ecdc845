-- No licence for a call that is no read is granted on an incarnation of the database, or under a start of its server,
-- that no dispatcher has taken in yet: what an earlier one has sent may be missing here.
create or replace function ledger.check_incarnation() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if new.effect <> 'READ_ONLY' and not exists (
        select from ledger.incarnations i
        where i.shard = new.shard and i.identity = ledger.incarnation() and i.started_at = pg_postmaster_start_time()
    ) then
        perform ledger.refuse_licence('licence_incarnation_taken_in', new.intent_id, new.attempt,
            'the database may have come back without what was sent before, and no dispatcher has taken it in yet');
    end if;
    return new;
end
$$;
comment on function ledger.check_incarnation() is
    'Refuses a dispatch on an incarnation of the database that is not taken in.';
