-- The union of what was dispatched and what the accepted stream entitles, with what reconciliation finds about it.
create view audit.dispatched_vs_accepted with (security_barrier) as
select s.shard, s.commit_key, s.branch, s.intent_id, s.attempt, s.tool, s.sent_as, s.span_start, s.span_end,
    s.attempt is not null as dispatched, s.dispatched_seq, s.accepted_seq is not null as accepted, s.accepted_seq, s.over,
    s.unsent, s.outcome, s.status, s.finding, s.finding_seq, s.redacted
from ledger.audited_sides s;
comment on view audit.dispatched_vs_accepted is
    'The union of what was dispatched and what the accepted stream entitles: a row for each dispatch, for each accepted'
    ' intent that was never dispatched, and one more for each finding beyond the first. Acceptance is worked out from token'
    ' events alone. What waits for approval is not lost. The findings are those of "commitgate reconcile run", but for what needs a tool''s log (unknown_to_us,'
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
comment on column audit.dispatched_vs_accepted.over is 'Whether the intent is final, voided, refused or denied.';
comment on column audit.dispatched_vs_accepted.unsent is 'Recorded as certainly not sent.';
comment on column audit.dispatched_vs_accepted.outcome is 'Outcome of the dispatch, as in audit.dispatches.';
comment on column audit.dispatched_vs_accepted.status is 'Status of its answer.';
comment on column audit.dispatched_vs_accepted.finding is
    'orphan_effect, lost_effect, duplicate, in_doubt, argument_mismatch, stale_read_final, key_divergence, late_evidence or'
    ' unreadable_stream; null where there is nothing to say.';
comment on column audit.dispatched_vs_accepted.finding_seq is 'Seq of the event that the finding hangs on.';
comment on column audit.dispatched_vs_accepted.redacted is 'An event about the intent is redacted.';
