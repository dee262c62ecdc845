-- The union of what was dispatched and what the accepted stream entitles, with what reconciliation finds about it.
create view audit.dispatched_vs_accepted with (security_barrier) as
with sides as not materialized (
    select d.shard, d.tenant, d.commit_key, d.intent_id, d.attempt, true as dispatched,
        coalesce(d.started_seq, d.licensed_seq) as dispatched_seq, d.unsent, d.outcome, d.answer ->> 'status' as status,
        coalesce(d.started ->> 'effect', d.licensed_effect) as effect, null::text as finding, null::bigint as finding_seq
    from ledger.audited_dispatches d
    union all
    select c.shard, c.tenant, c.commit_key, c.intent_id, null, false, null, null, null, null, null, null, null
    from ledger.audited_calls c
    where c.accepted_seq is not null
    union all
    select f.shard, f.tenant, f.commit_key, f.intent_id, f.attempt, false, null, null, null, null, null, f.finding, f.seq
    from ledger.audited_findings f
), gathered as not materialized (
    select s.shard, s.tenant, s.commit_key, s.intent_id, s.attempt, bool_or(s.dispatched) as dispatched,
        max(s.dispatched_seq) as dispatched_seq, bool_or(s.unsent) as unsent, max(s.outcome) as outcome,
        max(s.status) as status, max(s.effect) as effect,
        json_agg(json_build_array(s.finding, s.finding_seq) order by s.finding, s.finding_seq)
            filter (where s.finding is not null) as findings,
        max(s.attempt) over of_intent as last_attempt
    from sides s
    group by s.shard, s.tenant, s.commit_key, s.intent_id, s.attempt
    window of_intent as (partition by s.shard, s.tenant, s.commit_key, s.intent_id)
)
select g.shard, g.commit_key, c.branch, g.intent_id, g.attempt, c.tool, g.effect as sent_as,
    c.span_start, c.span_end, g.dispatched, g.dispatched_seq, c.accepted_seq is not null as accepted, c.accepted_seq,
    c.is_over as over, g.unsent, g.outcome, g.status, found.finding ->> 0 as finding,
    (found.finding ->> 1)::bigint as finding_seq, coalesce(c.redacted, false) as redacted
from gathered g
left join ledger.audited_calls c on c.shard = g.shard and c.tenant = g.tenant and c.commit_key = g.commit_key
    and c.intent_id = g.intent_id
left join lateral json_array_elements(g.findings) as found (finding) on true
-- An accepted intent that was dispatched has a row for each dispatch, and none beside them without a finding.
where g.attempt is not null or g.last_attempt is null or g.findings is not null;
comment on view audit.dispatched_vs_accepted is
    'The union of what was dispatched and what the accepted stream entitles: a row for each dispatch, for each accepted'
    ' intent that was never dispatched, and one more for each finding beyond the first. Acceptance is worked out from token'
    ' events alone. The findings are those of "commitgate reconcile run", but for what needs a tool''s log (unknown_to_us,'
    ' missing_at_tool) or a search for calls in accepted text (a call that was never held).';
comment on column audit.dispatched_vs_accepted.shard is
    'Hash of tenant and commit key, 0 to 255: audit.shard(tenant, commit_key).';
comment on column audit.dispatched_vs_accepted.commit_key is 'Names one model message.';
comment on column audit.dispatched_vs_accepted.branch is 'Branch of the intent.';
comment on column audit.dispatched_vs_accepted.intent_id is 'The intent; null for a finding about the stream as a whole.';
comment on column audit.dispatched_vs_accepted.attempt is 'Number of the dispatch; null where there is none.';
comment on column audit.dispatched_vs_accepted.tool is 'Tool asked for.';
comment on column audit.dispatched_vs_accepted.sent_as is 'Effect class under which it was sent.';
comment on column audit.dispatched_vs_accepted.span_start is 'First token of its block.';
comment on column audit.dispatched_vs_accepted.span_end is 'One past the last token of its block.';
comment on column audit.dispatched_vs_accepted.dispatched is 'Whether this row is a dispatch.';
comment on column audit.dispatched_vs_accepted.dispatched_seq is 'Seq of its dispatch.started.';
comment on column audit.dispatched_vs_accepted.accepted is 'Whether every token of its block is accepted.';
comment on column audit.dispatched_vs_accepted.accepted_seq is 'Seq of the event that accepted the last of them.';
comment on column audit.dispatched_vs_accepted.over is 'Whether the intent is final, voided or refused.';
comment on column audit.dispatched_vs_accepted.unsent is 'Recorded as certainly not sent.';
comment on column audit.dispatched_vs_accepted.outcome is 'Outcome of the dispatch, as in audit.dispatches.';
comment on column audit.dispatched_vs_accepted.status is 'Status of its answer.';
comment on column audit.dispatched_vs_accepted.finding is
    'orphan_effect, lost_effect, duplicate, in_doubt, argument_mismatch, stale_read_final, key_divergence, late_evidence or'
    ' unreadable_stream; null where there is nothing to say.';
comment on column audit.dispatched_vs_accepted.finding_seq is 'Seq of the event that the finding hangs on.';
comment on column audit.dispatched_vs_accepted.redacted is 'An event about the intent is redacted.';
