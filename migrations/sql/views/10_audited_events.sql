-- The events of the tenant whose auditor asks, and of nobody else: every view of schema audit reads events here. The tenant
-- follows from the login of the session, which its holder cannot change. One shard after the other, so that every plan is
-- led by the shard, as every index is: the second half of the union has no rows, and keeps the planner from another way.
-- A NUL, which no SQL text can hold, is shown as U+001A.
create view ledger.audited_events as
select shards.shard::smallint as shard, e.tenant, e.commit_key, e.seq, e.type, e.branch, e.intent_id, e.attempt,
    e.head_after, e.cut_at, e.at,
    case when strpos(e.payload, '\u0000') > 0
        then regexp_replace(e.payload, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\u001a', 'g')
        else e.payload
    end::json as body
from generate_series(0, 255) as shards (shard)
cross join lateral (
    select e.tenant, e.commit_key, e.seq, e.type, e.branch, e.intent_id, e.attempt, e.head_after, e.cut_at, e.at, e.payload
    from ledger.events e
    where e.shard = shards.shard and e.tenant = (select a.tenant from ledger.auditors a where a.login = session_user)
    union all
    select e.tenant, e.commit_key, e.seq, e.type, e.branch, e.intent_id, e.attempt, e.head_after, e.cut_at, e.at, e.payload
    from ledger.events e
    where false
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
comment on column ledger.audited_events.body is 'Its payload; null once redacted.';
