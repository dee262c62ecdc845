-- Order of the effect classes: READ_ONLY < IDEMPOTENT < WRITE. Null for anything else.
create or replace function ledger.effect_rank(effect text) returns integer
language sql
immutable
parallel safe
as $$
    select case effect when 'READ_ONLY' then 1 when 'IDEMPOTENT' then 2 when 'WRITE' then 3 end
$$;
comment on function ledger.effect_rank(text) is 'Order of the effect classes: READ_ONLY < IDEMPOTENT < WRITE.';
