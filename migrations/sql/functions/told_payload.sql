-- A payload as the views of schema audit take it: null where it is no JSON object, and where a member that they count with or
-- go through is of another kind, so that one event that somebody wrote past the ledger fails no query about the others.
-- The members are looked at by name, whatever the type of the event: each is of one kind wherever it occurs. A NUL,
-- which no SQL text can hold, is shown as U+001A. No statement stands in it, for that would cost ten times as much.
create or replace function ledger.told_payload(payload text) returns json
language plpgsql
immutable
strict
set search_path = pg_catalog, pg_temp
as $$
declare
    -- Nothing is longer, has more parts or was tried more often.
    largest constant bigint := 2000000000;
    told json;
    body jsonb;
    said text;
    numbers bigint[];
    at timestamptz;
    measured numeric;
begin
    said := case
        when strpos(payload, '\u0000') > 0 then regexp_replace(payload, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\u001a', 'g')
        else payload
    end;
    told := said::json;
    body := said::jsonb;
    if jsonb_typeof(body) <> 'object' then
        return null;
    end if;
    -- Whatever is no whole number fails here, and ends below. What reads the text takes a number as it is spelled, and 1e0 for
    -- none; so where one may be spelled so, it is the text that is looked at.
    numbers := array_remove(
        case when said ~ '[:,[][[:space:]]*-?[0-9.]+[eE]' then array[
            told ->> 'round', told ->> 'start', told ->> 'end', told ->> 'accepted', told ->> 'ordinal', told ->> 'byte_start',
            told ->> 'byte_end', told ->> 'closed_seq', told ->> 'effect_version', told ->> 'version', told ->> 'attempt',
            told ->> 'tries', told -> 'span' ->> 0, told -> 'span' ->> 1
        ]
        else array[
            body ->> 'round', body ->> 'start', body ->> 'end', body ->> 'accepted', body ->> 'ordinal', body ->> 'byte_start',
            body ->> 'byte_end', body ->> 'closed_seq', body ->> 'effect_version', body ->> 'version', body ->> 'attempt',
            body ->> 'tries', body -> 'span' ->> 0, body -> 'span' ->> 1
        ] end, null)::bigint[];
    at := (body ->> 'retry_at')::timestamptz;
    measured := greatest((body ->> 'draft_ms')::numeric, (body ->> 'verify_ms')::numeric, (body ->> 'min_margin')::numeric);
    if not (0 <= all (numbers) and largest >= all (numbers))
        or jsonb_typeof(body -> 'tokens') <> 'array'
        or jsonb_typeof(body -> 'intents') <> 'array' or jsonb_typeof(body -> 'branches') <> 'array'
        or jsonb_typeof(body -> 'seqs') <> 'array' or jsonb_typeof(body -> 'table' -> 'tools') <> 'object'
    then
        return null;
    end if;
    return told;
exception
    -- The last is what is said of a value that would not fit into memory in one piece.
    when data_exception or program_limit_exceeded or internal_error then
        return null;
end
$$;
comment on function ledger.told_payload(text) is
    'A payload as JSON; null where it is no JSON object, or a member is of another kind than the views take it for.';
