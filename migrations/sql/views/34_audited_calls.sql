-- Every intent with the event that accepted its block, worked out from tokens, and what is recorded of its last
-- dispatch. Where the token events of its stream cannot be read, no acceptance counts.
create view ledger.audited_calls as
select i.shard, i.tenant, i.commit_key, i.intent_id, coalesce(i.branch, 'main') as branch, i.held_seq,
    coalesce(i.span_start, 0) as span_start, coalesce(i.span_end, 0) as span_end, coalesce(i.ordinal, 0) as ordinal,
    i.byte_start, i.byte_end, i.tool, i.arguments_raw, i.held_footprint, i.is_over, i.only_voided, i.final_seq,
    i.final_attempt, i.final_rank, i.attempts, i.redacted,
    greatest(case when i.held_seq is null then 3 else 1 end, i.rank) as rank,
    t.decided_seq as accepted_seq,
    d.attempt, d.answer_seq as settled_seq, coalesce(d.doubt_open, false) as doubt_open, d.in_doubt_seq,
    coalesce(d.awaited, false) as awaited, d.lease_until, d.licensed_seq,
    coalesce(d.doubt_open or d.awaited, false) as exposed,
    s.ended, s.quiet
from ledger.audited_intents i
join ledger.audited_streams s on s.shard = i.shard and s.tenant = i.tenant and s.commit_key = i.commit_key
left join ledger.audited_tokens t on t.shard = i.shard and t.tenant = i.tenant and t.commit_key = i.commit_key
    and t.branch = coalesce(i.branch, 'main') and t.position = i.span_end - 1 and t.seq = i.closed_seq
    and t.verdict = 'accepted' and s.unreadable_seq is null
left join ledger.audited_dispatches d on d.shard = i.shard and d.tenant = i.tenant and d.commit_key = i.commit_key
    and d.intent_id = i.intent_id and d.attempt = i.attempts;
comment on view ledger.audited_calls is
    'Every intent with its acceptance and its last dispatch. For the views of schema audit alone.';
comment on column ledger.audited_calls.shard is 'Hash of tenant and commit key.';
comment on column ledger.audited_calls.tenant is 'Whose stream it is.';
comment on column ledger.audited_calls.commit_key is 'Names one model message.';
comment on column ledger.audited_calls.intent_id is 'Opaque name of one tool call.';
comment on column ledger.audited_calls.branch is 'Branch of its block.';
comment on column ledger.audited_calls.held_seq is 'Seq of its first intent.held.';
comment on column ledger.audited_calls.span_start is 'First token of its block.';
comment on column ledger.audited_calls.span_end is 'One past the last token of its block.';
comment on column ledger.audited_calls.ordinal is 'Place among the calls of one block.';
comment on column ledger.audited_calls.byte_start is 'First byte of its block.';
comment on column ledger.audited_calls.byte_end is 'One past the last byte of its block.';
comment on column ledger.audited_calls.tool is 'Tool asked for.';
comment on column ledger.audited_calls.arguments_raw is 'Arguments that were held.';
comment on column ledger.audited_calls.held_footprint is 'Keys it reads and writes, as first held.';
comment on column ledger.audited_calls.is_over is 'Final, voided or refused.';
comment on column ledger.audited_calls.only_voided is 'Voided, and neither refused nor final.';
comment on column ledger.audited_calls.final_seq is 'Seq of its intent.final.';
comment on column ledger.audited_calls.final_attempt is 'Attempt whose answer was made final.';
comment on column ledger.audited_calls.final_rank is 'Highest class recorded by then.';
comment on column ledger.audited_calls.attempts is 'Dispatches started.';
comment on column ledger.audited_calls.redacted is 'Part of it cannot be read any more.';
comment on column ledger.audited_calls.rank is 'Highest class recorded; WRITE where it was never held.';
comment on column ledger.audited_calls.accepted_seq is 'Seq of the event that accepted its block.';
comment on column ledger.audited_calls.attempt is 'Its last attempt.';
comment on column ledger.audited_calls.settled_seq is 'Seq at which that was settled.';
comment on column ledger.audited_calls.doubt_open is 'It is in doubt.';
comment on column ledger.audited_calls.in_doubt_seq is 'Since then.';
comment on column ledger.audited_calls.awaited is 'Its outcome is awaited.';
comment on column ledger.audited_calls.lease_until is 'Until then.';
comment on column ledger.audited_calls.licensed_seq is 'Seq of dispatch.started that its licence names.';
comment on column ledger.audited_calls.exposed is 'Sent and without an outcome, or in doubt.';
comment on column ledger.audited_calls.ended is 'How its stream ended.';
comment on column ledger.audited_calls.quiet is 'Whether its stream has been quiet for the grace time.';
