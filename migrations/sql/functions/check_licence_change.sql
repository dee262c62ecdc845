-- What may become of a licence: its lease moves on, it closes, and it is marked unsent only where a dispatch.settled
-- of the attempt says so; only then its once_key is freed. Everything else stays as it was granted.
create or replace function ledger.check_licence_change() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if (new.shard, new.tenant, new.commit_key, new.intent_id, new.attempt, new.branch, new.effect, new.started_seq)
        is distinct from
        (old.shard, old.tenant, old.commit_key, old.intent_id, old.attempt, old.branch, old.effect, old.started_seq)
    then
        perform ledger.refuse_licence('licence_identity_kept', old.intent_id, old.attempt,
            'what it licenses does not change');
    end if;
    if new.epoch < old.epoch then
        perform ledger.refuse_licence('licence_epoch_kept', old.intent_id, old.attempt, 'its epoch never decreases');
    end if;
    if new.open and not old.open then
        perform ledger.refuse_licence('licence_stays_closed', old.intent_id, old.attempt, 'it is closed');
    end if;
    if old.unsent and not new.unsent then
        perform ledger.refuse_licence('licence_unsent_kept', old.intent_id, old.attempt, 'it is recorded as unsent');
    end if;
    if new.once_key is distinct from old.once_key and not (new.unsent and new.once_key is null) then
        perform ledger.refuse_licence('licence_once_key_kept', old.intent_id, old.attempt,
            'its once_key is freed only when it is recorded as unsent');
    end if;
    if new.unsent and not old.unsent and not exists (
        select from ledger.events e
        where e.shard = old.shard and e.tenant = old.tenant and e.commit_key = old.commit_key
            and e.intent_id = old.intent_id and e.type = 'dispatch.settled' and e.attempt = old.attempt
            and e.payload::json ->> 'unsent' = 'true'
    ) then
        perform ledger.refuse_licence('licence_unsent_recorded', old.intent_id, old.attempt,
            'no dispatch.settled says that it was not sent');
    end if;
    return new;
end
$$;
comment on function ledger.check_licence_change() is 'Refuses changes of a licence that the recorded events do not allow.';
