-- Every dispatch in the union of events and licences, with what is recorded of its outcome.
create view ledger.audited_dispatches as
with told as not materialized (
    select t.shard, t.tenant, t.commit_key, t.intent_id, t.attempt, t.seq, t.type, t.branch, t.at, t.body, t.redacted, t.rank,
        t.settles_late, null::text as licensed_effect, null::text as licensed_worker, null::timestamptz as lease_until,
        null::bigint as licensed_seq, null::boolean as licence_open, null::boolean as licence_unsent
    from ledger.audited_trails t
    where starts_with(t.type, 'dispatch.') and t.type <> 'dispatch.probed' and t.attempt is not null
    union all
    select l.shard, l.tenant, l.commit_key, l.intent_id, l.attempt, 0, 'licence', l.branch, null, null, false, null, false,
        l.effect, l.worker, l.lease_until, l.started_seq, l.open, l.unsent
    from ledger.audited_licences l
), gathered as not materialized (
    select t.shard, t.tenant, t.commit_key, t.intent_id, t.attempt,
        json_object_agg(t.seq, t.body) filter (where t.body is not null) as told,
        max(t.branch) filter (where t.type = 'dispatch.started') as started_branch,
        min(t.seq) filter (where t.type = 'dispatch.started') as started_seq,
        min(t.at) filter (where t.type = 'dispatch.started') as started_at,
        max(t.rank) filter (where t.type = 'dispatch.started') as rank,
        min(t.seq) filter (where t.type = 'dispatch.settled') as settled_seq,
        min(t.seq) filter (where t.type = 'dispatch.expired') as expired_seq,
        min(t.seq) filter (where t.type = 'dispatch.in_doubt') as in_doubt_seq,
        min(t.seq) filter (where t.type = 'dispatch.resolved') as first_resolved_seq,
        max(t.seq) filter (where t.type = 'dispatch.resolved') as resolved_seq,
        max(t.seq) filter (where t.settles_late) as settled_late_seq,
        max(t.seq) filter (where t.type = 'dispatch.late') as late_seq,
        min(t.seq) filter (where t.type <> 'licence') as first_seq,
        max(t.seq) filter (where t.type <> 'licence') as last_seq,
        max(t.at) as last_at,
        bool_or(t.type = 'dispatch.settled' and t.body ->> 'unsent' = 'true') as unsent,
        bool_or(t.redacted) as redacted,
        bool_or(t.type = 'licence') as licensed,
        max(t.branch) filter (where t.type = 'licence') as licensed_branch,
        max(t.licensed_effect) as licensed_effect, max(t.licensed_worker) as licensed_worker,
        max(t.lease_until) as lease_until, max(t.licensed_seq) as licensed_seq,
        bool_or(t.licence_open) as licence_open, bool_or(t.licence_unsent) as licence_unsent
    from told t
    group by t.shard, t.tenant, t.commit_key, t.intent_id, t.attempt
)
select g.shard, g.tenant, g.commit_key, g.intent_id, g.attempt, g.started_branch, g.started_seq, g.started_at, g.rank,
    g.told -> g.started_seq::text as started, g.settled_seq, g.expired_seq, g.in_doubt_seq, g.first_resolved_seq,
    g.resolved_seq, g.settled_late_seq, g.late_seq, g.last_seq, g.last_at, g.unsent,
    g.redacted, g.licensed, g.licensed_branch, g.licensed_effect, g.licensed_worker, g.lease_until, g.licensed_seq,
    g.licence_open, g.licence_unsent,
    case
        when g.resolved_seq > coalesce(g.settled_late_seq, 0) then 'resolved'
        when g.settled_late_seq is not null then 'late'
        when g.in_doubt_seq is not null then 'in_doubt'
        when g.settled_seq is not null then 'settled'
        when g.expired_seq is not null then 'expired'
        when g.started_seq is not null then 'dispatched'
        when g.late_seq is not null then 'late'
    end as outcome,
    case
        when g.in_doubt_seq is not null and g.resolved_seq is null and g.settled_late_seq is null then null
        else greatest(g.resolved_seq, g.settled_late_seq, g.settled_seq)
    end as answer_seq,
    g.told -> coalesce(greatest(g.resolved_seq, g.settled_late_seq), g.settled_seq, g.late_seq)::text as answer,
    g.told -> g.in_doubt_seq::text as in_doubt,
    g.told -> g.resolved_seq::text as resolved,
    g.in_doubt_seq is not null and g.resolved_seq is null and g.settled_late_seq is null as doubt_open,
    coalesce(g.settled_seq, g.expired_seq, g.in_doubt_seq, g.resolved_seq, g.late_seq) is null as awaited,
    g.started_seq is null and not g.licensed
        and coalesce(g.told -> g.first_seq::text ->> 'because' = 'database_restored', false) as lost
from gathered g;
comment on view ledger.audited_dispatches is
    'Every dispatch in the union of events and licences. For the views of schema audit alone.';
comment on column ledger.audited_dispatches.shard is 'Hash of tenant and commit key.';
comment on column ledger.audited_dispatches.tenant is 'Whose stream it is.';
comment on column ledger.audited_dispatches.commit_key is 'Names one model message.';
comment on column ledger.audited_dispatches.intent_id is 'Intent that is sent.';
comment on column ledger.audited_dispatches.attempt is 'Number of the dispatch, from 1.';
comment on column ledger.audited_dispatches.started_branch is 'Branch that its dispatch.started names.';
comment on column ledger.audited_dispatches.started_seq is 'Seq of its dispatch.started.';
comment on column ledger.audited_dispatches.started_at is 'When that was written.';
comment on column ledger.audited_dispatches.rank is 'Highest class recorded of the intent by then.';
comment on column ledger.audited_dispatches.started is 'Payload of its dispatch.started.';
comment on column ledger.audited_dispatches.settled_seq is 'Seq of its first dispatch.settled.';
comment on column ledger.audited_dispatches.expired_seq is 'Seq of its first dispatch.expired.';
comment on column ledger.audited_dispatches.in_doubt_seq is 'Seq of its first dispatch.in_doubt.';
comment on column ledger.audited_dispatches.first_resolved_seq is 'Seq of its first dispatch.resolved.';
comment on column ledger.audited_dispatches.resolved_seq is 'Seq of its last dispatch.resolved.';
comment on column ledger.audited_dispatches.settled_late_seq is 'Seq of the late outcome that settled its doubt.';
comment on column ledger.audited_dispatches.late_seq is 'Seq of its last dispatch.late.';
comment on column ledger.audited_dispatches.last_seq is 'Seq of its last event.';
comment on column ledger.audited_dispatches.last_at is 'When that was written.';
comment on column ledger.audited_dispatches.unsent is 'An outcome says that it certainly never left.';
comment on column ledger.audited_dispatches.redacted is 'Part of it cannot be read any more.';
comment on column ledger.audited_dispatches.licensed is 'Whether there is a licence for it.';
comment on column ledger.audited_dispatches.licensed_branch is 'Branch that its licence names.';
comment on column ledger.audited_dispatches.licensed_effect is 'Effect class that its licence names.';
comment on column ledger.audited_dispatches.licensed_worker is 'Worker that its licence names.';
comment on column ledger.audited_dispatches.lease_until is 'End of its lease.';
comment on column ledger.audited_dispatches.licensed_seq is 'Seq of dispatch.started that its licence names.';
comment on column ledger.audited_dispatches.licence_open is 'Its licence awaits an outcome.';
comment on column ledger.audited_dispatches.licence_unsent is 'Its licence records it as unsent.';
comment on column ledger.audited_dispatches.outcome is 'What is recorded last of its outcome.';
comment on column ledger.audited_dispatches.answer_seq is 'Seq of the event that settled it.';
comment on column ledger.audited_dispatches.answer is 'Payload of the event that brought its answer.';
comment on column ledger.audited_dispatches.in_doubt is 'Payload of its first dispatch.in_doubt.';
comment on column ledger.audited_dispatches.resolved is 'Payload of its last dispatch.resolved.';
comment on column ledger.audited_dispatches.doubt_open is 'In doubt, and nothing settled it.';
comment on column ledger.audited_dispatches.awaited is 'No outcome of any kind is recorded.';
comment on column ledger.audited_dispatches.lost is 'The database has forgotten that it was sent, if it was.';
