-- A row for each dispatch that was ever in doubt.
create view audit.doubts with (security_barrier) as
select n.shard, n.commit_key, found.*
from (
    select distinct e.shard, e.tenant, e.commit_key from ledger.audited_events e where e.type = 'dispatch.in_doubt'
) n
cross join lateral (
    with calls as materialized (
        select i.* from ledger.audited_intents i
        where i.shard = n.shard and i.tenant = n.tenant and i.commit_key = n.commit_key
    ), dispatches as materialized (
        select d.* from ledger.audited_dispatches d
        where d.shard = n.shard and d.tenant = n.tenant and d.commit_key = n.commit_key and d.in_doubt_seq is not null
    ), trails as materialized (
        select t.seq, t.at, t.body from ledger.audited_trails t
        where t.shard = n.shard and t.tenant = n.tenant and t.commit_key = n.commit_key
    )
    select i.branch, d.intent_id, d.attempt, i.tool, i.arguments_raw, i.effect, i.idempotency_key,
        d.started_seq as dispatched_seq, d.in_doubt_seq, doubted.at as in_doubt_at, d.in_doubt ->> 'because' as because,
        d.doubt_open as open,
        case when d.resolved_seq is not null then 'resolved' when d.settled_late_seq is not null then 'answered_late' end
            as ended_by,
        coalesce(d.resolved_seq, d.settled_late_seq) as ended_seq, ended.at as ended_at,
        ended.body ->> 'status' as status, d.resolved ->> 'by' as resolved_by, d.resolved ->> 'reason' as reason,
        nullif((d.resolved -> 'evidence')::text, 'null') as evidence,
        case when d.late_seq > d.resolved_seq then d.late_seq end as late_evidence_seq,
        d.redacted or i.redacted as redacted
    from dispatches d
    join calls i on i.intent_id = d.intent_id
    join trails doubted on doubted.seq = d.in_doubt_seq
    left join trails ended on ended.seq = coalesce(d.resolved_seq, d.settled_late_seq)
) found;
comment on view audit.doubts is
    'A row for each dispatch that was ever in doubt: it may or may not have happened. Open ones, and how the others ended.';
comment on column audit.doubts.shard is 'Hash of tenant and commit key, 0 to 255: audit.shard(tenant, commit_key).';
comment on column audit.doubts.commit_key is 'Names one model message.';
comment on column audit.doubts.branch is 'Branch of the intent.';
comment on column audit.doubts.intent_id is 'Intent in doubt.';
comment on column audit.doubts.attempt is 'Number of the dispatch in doubt.';
comment on column audit.doubts.tool is 'Tool that may have been asked.';
comment on column audit.doubts.arguments_raw is 'Arguments that may have been sent.';
comment on column audit.doubts.effect is 'Effect class of the intent.';
comment on column audit.doubts.idempotency_key is 'Key that was sent with it.';
comment on column audit.doubts.dispatched_seq is 'Seq of its dispatch.started; null where the database has lost it.';
comment on column audit.doubts.in_doubt_seq is 'Seq at which it came to be in doubt.';
comment on column audit.doubts.in_doubt_at is 'When that was written.';
comment on column audit.doubts.because is 'Why nobody knows.';
comment on column audit.doubts.open is 'Whether it is in doubt still.';
comment on column audit.doubts.ended_by is
    'resolved (by a person, or by a probe) or answered_late (by the tool itself); null while open.';
comment on column audit.doubts.ended_seq is 'Seq of the event that ended it.';
comment on column audit.doubts.ended_at is 'When that was written.';
comment on column audit.doubts.status is 'What it was settled as.';
comment on column audit.doubts.resolved_by is 'Who resolved it; probe where the tool''s probe told.';
comment on column audit.doubts.reason is 'The reason that they gave.';
comment on column audit.doubts.evidence is 'The evidence that they gave, as JSON.';
comment on column audit.doubts.late_evidence_seq is 'Seq of the last answer that came in after the resolution.';
comment on column audit.doubts.redacted is 'An event about it is redacted: what that said is null here.';
