-- A row for each dispatch, in the union of the events that tell of it and the licences that allowed it.
create view audit.dispatches with (security_barrier) as
select d.shard, d.commit_key, d.intent_id, d.attempt, coalesce(d.started_branch, d.licensed_branch) as branch, c.tool,
    c.arguments_raw, coalesce(d.started ->> 'effect', d.licensed_effect) as effect, d.started ->> 'release' as release,
    coalesce(d.started ->> 'worker', d.licensed_worker) as worker, c.accepted_seq,
    coalesce(d.started_seq, d.licensed_seq) as started_seq, d.started_at, d.outcome,
    case when d.outcome is distinct from 'dispatched' then d.last_seq end as outcome_seq,
    case when d.outcome is distinct from 'dispatched' then d.last_at end as outcome_at,
    d.answer ->> 'status' as status, d.unsent, (d.answer ->> 'tries')::integer as tries,
    nullif((d.answer -> 'content')::text, 'null') as content, d.started_seq is not null as recorded, d.licensed, d.lease_until,
    d.licence_open, coalesce(d.redacted, false) or coalesce(c.redacted, false) as redacted
from ledger.audited_dispatches d
left join ledger.audited_calls c on c.shard = d.shard and c.tenant = d.tenant and c.commit_key = d.commit_key
    and c.intent_id = d.intent_id;
comment on view audit.dispatches is
    'A row for each dispatch: one attempt to run an intent, in the union of the events that tell of it and the licences'
    ' that allowed it.';
comment on column audit.dispatches.shard is 'Hash of tenant and commit key, 0 to 255: audit.shard(tenant, commit_key).';
comment on column audit.dispatches.commit_key is 'Names one model message.';
comment on column audit.dispatches.intent_id is 'Intent that was sent.';
comment on column audit.dispatches.attempt is 'Number of the attempt, from 1.';
comment on column audit.dispatches.branch is 'Branch of the intent.';
comment on column audit.dispatches.tool is 'Tool that was asked.';
comment on column audit.dispatches.arguments_raw is 'Arguments that were sent.';
comment on column audit.dispatches.effect is 'Effect class under which it was sent.';
comment on column audit.dispatches.release is 'early (on drafts) or committed (on accepted tokens).';
comment on column audit.dispatches.worker is 'Who sent it.';
comment on column audit.dispatches.accepted_seq is
    'Seq of the event that accepted its block, worked out from token events; null where it is not accepted.';
comment on column audit.dispatches.started_seq is 'Seq of its dispatch.started.';
comment on column audit.dispatches.started_at is 'When that was written.';
comment on column audit.dispatches.outcome is
    'dispatched (awaited), settled, expired (lost, may be sent again), in_doubt, resolved (by a person or a probe) or late (an answer'
    ' that came when it was not awaited any more). Null for a licence of which no event tells.';
comment on column audit.dispatches.outcome_seq is 'Seq of the last event about its outcome.';
comment on column audit.dispatches.outcome_at is 'When that was written.';
comment on column audit.dispatches.status is 'ok, tool_error, unavailable, not_happened or happened_unknown_result.';
comment on column audit.dispatches.unsent is 'Recorded as certainly not sent.';
comment on column audit.dispatches.tries is 'Transmissions made, where recorded.';
comment on column audit.dispatches.content is 'What came back, as JSON.';
comment on column audit.dispatches.recorded is 'Whether a dispatch.started tells of it.';
comment on column audit.dispatches.licensed is 'Whether there is a licence for it.';
comment on column audit.dispatches.lease_until is 'End of its lease, by the database''s clock.';
comment on column audit.dispatches.licence_open is 'Whether the licence still awaits an outcome.';
comment on column audit.dispatches.redacted is 'An event about it or its intent is redacted: what that said is null here.';
