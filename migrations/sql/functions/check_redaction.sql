-- What may become of an event: payload and salt go, both at once, by a member of commitgate_redactor, where a
-- payload.redacted of the same stream names its seq (committed, or of the same transaction). Everything else of it stays.
create or replace function ledger.check_redaction() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    kept record;
    why text;
begin
    kept := old;
    kept.payload := null;
    kept.salt := null;
    if new is distinct from kept then
        why := 'only payload and salt may go from an event, and nothing may take their place';
    elsif not pg_has_role(current_user, 'commitgate_redactor', 'USAGE') then
        why := current_user || ' is no redactor';
    elsif not exists (
        select from ledger.events r cross join lateral json_array_elements_text(r.payload::json -> 'seqs') named (seq)
        where r.shard = old.shard and r.tenant = old.tenant and r.commit_key = old.commit_key and r.seq > old.seq
            and r.type = 'payload.redacted' and named.seq = old.seq::text
    ) then
        why := 'no payload.redacted names seq ' || old.seq;
    else
        return new;
    end if;
    raise exception using
        errcode = 'restrict_violation',
        message = 'UPDATE on ledger.events is refused: it is append-only, and ' || why,
        constraint = tg_name,
        schema = tg_table_schema,
        table = tg_table_name;
end
$$;
comment on function ledger.check_redaction() is
    'Refuses any change of an event but a redactor''s taking away what a payload.redacted names.';
