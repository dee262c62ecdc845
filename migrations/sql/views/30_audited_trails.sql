-- Events about one intent, each with what follows from the ones before it: the highest class recorded so far, and
-- whether a late outcome settles an open doubt. A class that is not known counts as a WRITE.
create view ledger.audited_trails as
select e.shard, e.tenant, e.commit_key, e.intent_id, e.seq, e.type, e.branch, e.attempt, e.at, e.body, e.redacted,
    max(case
        when e.type not in ('intent.held', 'intent.released', 'dispatch.started') or e.body -> 'effect' is null then null
        when e.body ->> 'effect' = 'READ_ONLY' then 1
        when e.body ->> 'effect' = 'IDEMPOTENT' then 2
        else 3
    end) over (partition by e.shard, e.tenant, e.commit_key, e.intent_id order by e.seq) as rank,
    e.type = 'dispatch.late' and coalesce(lag(e.type) over (
        partition by e.shard, e.tenant, e.commit_key, e.intent_id, e.attempt,
            starts_with(e.type, 'dispatch.') and e.type <> 'dispatch.probed'
        order by e.seq) = 'dispatch.in_doubt', false) as settles_late
from ledger.audited_events e
where e.intent_id is not null;
comment on view ledger.audited_trails is
    'Events about an intent, with what the ones before them amount to. For the views of schema audit alone.';
comment on column ledger.audited_trails.shard is 'Hash of tenant and commit key.';
comment on column ledger.audited_trails.tenant is 'Whose stream it is.';
comment on column ledger.audited_trails.commit_key is 'Names one model message.';
comment on column ledger.audited_trails.intent_id is 'Intent it concerns.';
comment on column ledger.audited_trails.seq is 'Place in the stream.';
comment on column ledger.audited_trails.type is 'What happened.';
comment on column ledger.audited_trails.branch is 'Token lane of the intent.';
comment on column ledger.audited_trails.attempt is 'Dispatch attempt it concerns.';
comment on column ledger.audited_trails.at is 'When it was written.';
comment on column ledger.audited_trails.body is 'Its payload, or what remains of it; null where nothing does.';
comment on column ledger.audited_trails.redacted is 'Its payload is gone.';
comment on column ledger.audited_trails.rank is 'Highest effect class recorded up to here: 1 READ_ONLY, 2 IDEMPOTENT, 3 WRITE.';
comment on column ledger.audited_trails.settles_late is 'Whether it is a late outcome that settles a doubt.';
