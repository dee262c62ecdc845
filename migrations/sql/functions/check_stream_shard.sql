-- A stream's row stands in the shard that ledger.sharding names, and in no other: from such a row alone its events are
-- sealed, and what is sealed once stays so for ever.
create or replace function ledger.check_stream_shard() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    due integer := get_byte(sha256(
        int4send(octet_length(convert_to(new.tenant, 'UTF8'))) || convert_to(new.tenant, 'UTF8')
        || int4send(octet_length(convert_to(new.commit_key, 'UTF8'))) || convert_to(new.commit_key, 'UTF8')
    ), 0);
begin
    if new.shard = due then
        return new;
    end if;
    raise exception using
        errcode = 'check_violation',
        message = 'stream ' || new.commit_key || ' is refused in shard ' || new.shard || ': its shard is ' || due,
        constraint = tg_name,
        schema = tg_table_schema,
        table = tg_table_name;
end
$$;
comment on function ledger.check_stream_shard() is 'Refuses the row of a stream in another shard than its own.';
