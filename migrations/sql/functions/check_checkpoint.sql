-- What may be kept as a checkpoint: a note that begins as one of this log does, of no more than is sealed. Whether it is signed
-- only who has the key can say.
create or replace function ledger.check_checkpoint() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if not exists (
        select from ledger.log l
        where new.size <= l.size and starts_with(new.note, 'commitgate/' || l.log_id || E'\n' || new.size || E'\n')
    ) then
        raise exception using
            errcode = 'restrict_violation',
            message = 'a checkpoint is a note of this log, of no more than is sealed',
            constraint = tg_name,
            schema = tg_table_schema,
            table = tg_table_name;
    end if;
    return new;
end
$$;
comment on function ledger.check_checkpoint() is 'Refuses checkpoints of another log, and beyond the end of this one.';
