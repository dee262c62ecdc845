-- No licence is granted for a call of a tool that is paused. Whoever pauses waits for the transactions that may not have
-- seen it, by their numbers: so one is taken before the pauses are looked at.
create or replace function ledger.check_pause() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform pg_current_xact_id();
    if exists (select from ledger.pauses p where p.shard = ledger.tenant_shard(new.tenant) and p.tenant = new.tenant)
        and exists (
            select from ledger.pauses p
            where p.shard = ledger.tenant_shard(new.tenant) and p.tenant = new.tenant and (p.tool = '*' or p.tool in (
                select e.payload::json ->> 'tool' from ledger.events e
                where e.shard = new.shard and e.tenant = new.tenant and e.commit_key = new.commit_key
                    and e.intent_id = new.intent_id and e.type = 'intent.held' and e.payload is not null
            ))
        )
    then
        perform ledger.refuse_licence('licence_not_paused', new.intent_id, new.attempt, 'its tool is paused');
    end if;
    return new;
end
$$;
comment on function ledger.check_pause() is 'Refuses a dispatch of a tool that is paused.';
