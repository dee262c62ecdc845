-- What may become of a tile: hashes are added behind those that are there. Its place and its hashes stay.
create or replace function ledger.check_tile_growth() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if (new.level, new.tile) is distinct from (old.level, old.tile)
        or octet_length(new.hashes) < octet_length(old.hashes)
        or substring(new.hashes from 1 for octet_length(old.hashes)) <> old.hashes
    then
        raise exception using
            errcode = 'restrict_violation',
            message = 'tile ' || old.tile || ' of level ' || old.level || ' only grows: what it holds is not changed',
            constraint = tg_name,
            schema = tg_table_schema,
            table = tg_table_name;
    end if;
    return new;
end
$$;
comment on function ledger.check_tile_growth() is 'Refuses any change of a tile but hashes added at its end.';
