-- The events of the tenant whose auditor asks, and of nobody else: every view of schema audit reads events here. The tenant
-- follows from the login of the session, which its holder cannot change. One shard after the other, so that every plan is
-- led by the shard, as every index is: the second half of the union has no rows, and keeps the planner from another way.
-- A payload that is not what its readers take it for is shown as null, and its stream as unreadable; so is a head that no
-- stream reaches. Of a redacted payload there is what a later payload.redacted says remains of it.
create view ledger.audited_events as
select shards.shard::smallint as shard, e.tenant, e.commit_key, e.seq, e.type, e.branch, e.intent_id, e.attempt,
    case when e.head_after between 0 and 2000000000 then e.head_after end as head_after,
    case when e.cut_at between 0 and 2000000000 then e.cut_at end as cut_at, e.at,
    case
        when e.payload is null then (
            select ledger.told_payload((ledger.told_payload(r.payload) -> 'remains' -> e.seq::text)::text)
            from ledger.events r
            where r.shard = shards.shard and r.tenant = e.tenant and r.commit_key = e.commit_key and r.seq > e.seq
                and r.type = 'payload.redacted' and ledger.told_payload(r.payload) -> 'remains' -> e.seq::text is not null
            limit 1
        )
        else ledger.told_payload(e.payload)
    end as body,
    e.payload is null as redacted
from generate_series(0, 255) as shards (shard)
cross join lateral (
    select e.tenant, e.commit_key, e.seq, e.type, e.branch, e.intent_id, e.attempt, e.head_after, e.cut_at, e.at, e.payload
    from ledger.events e
    where e.shard = shards.shard and e.tenant = (select a.tenant from ledger.auditors a where a.login = session_user)
    union all
    select e.tenant, e.commit_key, e.seq, e.type, e.branch, e.intent_id, e.attempt, e.head_after, e.cut_at, e.at, e.payload
    from ledger.events e
    where e.shard = shards.shard and false
) e;
comment on view ledger.audited_events is
    'Events of the tenant that the session''s login may audit. For the views of schema audit alone.';
comment on column ledger.audited_events.shard is 'Hash of tenant and commit key.';
comment on column ledger.audited_events.tenant is 'Whose stream it is.';
comment on column ledger.audited_events.commit_key is 'Names one model message.';
comment on column ledger.audited_events.seq is 'Place in the stream.';
comment on column ledger.audited_events.type is 'What happened.';
comment on column ledger.audited_events.branch is 'Token lane it concerns.';
comment on column ledger.audited_events.intent_id is 'Intent it concerns.';
comment on column ledger.audited_events.attempt is 'Dispatch attempt it concerns.';
comment on column ledger.audited_events.head_after is 'Accepted tokens of the branch after it.';
comment on column ledger.audited_events.cut_at is 'First rejected position, where it rejects drafts.';
comment on column ledger.audited_events.at is 'When it was written.';
comment on column ledger.audited_events.body is 'Its payload, or what remains of it; null where nothing does, and where it cannot be read.';
comment on column ledger.audited_events.redacted is 'Its payload is gone.';
