-- A dispatch is licensed only by what is recorded in events; projections are not asked. Rows of the same transaction
-- count. Every dispatch: the intent is held on this branch, in no higher a class than the dispatch, and its
-- dispatch.started is recorded. IDEMPOTENT and WRITE: a ruling has taken head to the end of the block after the block
-- closed, and no later event cuts below that end. WRITE: no other dispatch of the intent that may have been sent.
create or replace function ledger.check_licence() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    recorded record;
    held_branch text;
    held_payload text;
    closed_seq bigint;
    span_end bigint;
begin
    if new.unsent or not new.open then
        perform ledger.refuse_licence('licence_begins_open', new.intent_id, new.attempt,
            'it has to begin open and not yet known as unsent');
    end if;

    for recorded in
        select e.seq, e.type, e.branch, e.payload
        from ledger.events e
        where e.shard = new.shard and e.tenant = new.tenant and e.commit_key = new.commit_key
            and e.intent_id = new.intent_id and e.type in ('intent.held', 'intent.released')
        order by e.seq
    loop
        if recorded.payload is null then
            perform ledger.refuse_licence('licence_payload_present', new.intent_id, new.attempt,
                'the ' || recorded.type || ' of seq ' || recorded.seq || ' is redacted');
        end if;
        if held_payload is null and recorded.type = 'intent.held' then
            held_branch := recorded.branch;
            held_payload := recorded.payload;
        end if;
        if ledger.effect_rank(new.effect) >= ledger.effect_rank(recorded.payload::json ->> 'effect') then
            continue;
        end if;
        perform ledger.refuse_licence('licence_effect_not_lowered', new.intent_id, new.attempt,
            new.effect || ' is lower than, or not comparable with, the class in the ' || recorded.type
            || ' of seq ' || recorded.seq);
    end loop;

    if held_payload is null then
        perform ledger.refuse_licence('licence_intent_held', new.intent_id, new.attempt, 'no intent.held is recorded');
    end if;
    if new.branch is distinct from held_branch then
        perform ledger.refuse_licence('licence_same_branch', new.intent_id, new.attempt,
            'the intent is held on another branch');
    end if;

    if not exists (
        select from ledger.events e
        where e.shard = new.shard and e.tenant = new.tenant and e.commit_key = new.commit_key
            and e.intent_id = new.intent_id and e.type = 'dispatch.started' and e.attempt = new.attempt
            and e.seq = new.started_seq
    ) then
        perform ledger.refuse_licence('licence_started', new.intent_id, new.attempt,
            'no dispatch.started is recorded at seq ' || new.started_seq);
    end if;

    if new.effect = 'READ_ONLY' then
        return new;
    end if;

    closed_seq := (held_payload::json ->> 'closed_seq')::bigint;
    span_end := (held_payload::json -> 'span' ->> 1)::bigint;
    if closed_seq is null or span_end is null then
        perform ledger.refuse_licence('licence_block_known', new.intent_id, new.attempt,
            'its intent.held does not say when and where its block closed');
    end if;
    if not exists (
        select from ledger.events e
        where e.shard = new.shard and e.tenant = new.tenant and e.commit_key = new.commit_key
            and e.seq >= closed_seq and e.branch = new.branch
            and e.type in ('tokens.ruled', 'tokens.accepted') and e.head_after >= span_end
    ) then
        perform ledger.refuse_licence('licence_block_accepted', new.intent_id, new.attempt,
            'no ruling takes head to ' || span_end || ', the end of its block');
    end if;
    if exists (
        select from ledger.events e
        where e.shard = new.shard and e.tenant = new.tenant and e.commit_key = new.commit_key
            and e.seq > closed_seq and e.branch = new.branch and e.cut_at < span_end
    ) then
        perform ledger.refuse_licence('licence_block_uncut', new.intent_id, new.attempt,
            'a token of its block was rejected');
    end if;

    if new.effect = 'WRITE' and exists (
        select from ledger.dispatches d
        where d.shard = new.shard and d.tenant = new.tenant and d.commit_key = new.commit_key
            and d.intent_id = new.intent_id and not d.unsent
    ) then
        perform ledger.refuse_licence('licence_write_once', new.intent_id, new.attempt,
            'an earlier dispatch of it may have been sent');
    end if;
    return new;
end
$$;
comment on function ledger.check_licence() is
    'Refuses a dispatch that the recorded events do not license (the rule, design.md).';
