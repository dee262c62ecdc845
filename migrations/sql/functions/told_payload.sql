-- A payload as the views of schema audit take it: null where it is no JSON object, so that one event that somebody wrote past
-- the ledger fails no query about the others. A NUL, which no SQL text can hold, is shown as U+001A. No statement stands in
-- it, for that would cost ten times as much.
create or replace function ledger.told_payload(payload text) returns json
language plpgsql
immutable
strict
set search_path = pg_catalog, pg_temp
as $$
declare
    body json;
begin
    body := case
        when strpos(payload, '\u0000') > 0 then regexp_replace(payload, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\u001a', 'g')::json
        else payload::json
    end;
    return case when json_typeof(body) = 'object' then body end;
exception
    when data_exception or program_limit_exceeded then
        return null;
end
$$;
comment on function ledger.told_payload(text) is 'A payload as JSON; null where it is no JSON object.';
