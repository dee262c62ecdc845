-- Every intent with the event that accepted its block, worked out from tokens, and what is recorded of its last
-- dispatch. Where the token events of its stream cannot be read, no acceptance counts. Stream by stream: what a stream
-- amounts to is worked out once for it.
create view ledger.audited_calls as
select s.shard, s.tenant, s.commit_key, s.ended, s.quiet, found.*
from ledger.audited_streams s
cross join lateral (
    with calls as materialized (
        select i.* from ledger.audited_intents i
        where i.shard = s.shard and i.tenant = s.tenant and i.commit_key = s.commit_key
    ), moves as materialized (
        select m.branch, m.seq, m.type, m.round, m.said_start, m.n, m.head_before, m.head_after, m.accepts_to, m.own_added
        from ledger.audited_moves m
        where m.shard = s.shard and m.tenant = s.tenant and m.commit_key = s.commit_key and s.unreadable_seq is null
    ), accepted as materialized (
        -- The event that brought the block's last token brought it to its place, and one accepted it there.
        select c.intent_id, min(a.seq) as seq
        from calls c
        join moves b on b.branch = coalesce(c.branch, 'main') and b.seq = c.closed_seq
        join moves a on a.branch = b.branch and case b.type
            when 'tokens.drafted' then c.span_end > b.said_start and c.span_end <= b.said_start + b.n
                and a.type = 'tokens.ruled' and a.round = b.round and a.seq > b.seq
                and a.head_before < c.span_end and c.span_end <= a.accepts_to
            when 'tokens.ruled' then a.seq = b.seq and b.own_added and b.head_after = c.span_end
            when 'tokens.accepted' then a.seq = b.seq and b.head_before < c.span_end and c.span_end <= b.head_after
        end
        group by c.intent_id
    ), dispatches as materialized (
        select d.* from ledger.audited_dispatches d
        where d.shard = s.shard and d.tenant = s.tenant and d.commit_key = s.commit_key
    )
    select c.intent_id, c.branch, c.round, c.span_start, c.span_end, c.ordinal, c.byte_start, c.byte_end, c.closed_seq,
        c.block, c.tool, c.arguments_raw, c.arguments_digest, c.problem, c.call_id, c.effect, c.effect_version,
        c.held_footprint, c.footprint, c.state, c.reason, c.release, c.final, c.stale, c.attempts, c.idempotency_key,
        c.held_seq, c.dispatch_seq, c.settled_seq, c.final_seq, c.retry_at, c.result_status, c.result_content,
        c.adopted_from, c.adopted_attempt, c.final_attempt, c.final_rank, c.is_over, c.only_voided, c.redacted,
        greatest(case when c.held_seq is null then 3 else 1 end, c.rank) as rank,
        a.seq as accepted_seq,
        d.attempt, d.answer_seq, coalesce(d.doubt_open, false) as doubt_open, d.in_doubt_seq,
        coalesce(d.awaited, false) as awaited, d.lease_until, d.licensed_seq,
        coalesce(d.doubt_open or d.awaited, false) or c.adopts_in_flight as exposed
    from calls c
    left join accepted a on a.intent_id = c.intent_id
    left join dispatches d on d.intent_id = c.intent_id and d.attempt = c.attempts
) found;
comment on view ledger.audited_calls is
    'Every intent with its acceptance and its last dispatch. For the views of schema audit alone.';
comment on column ledger.audited_calls.shard is 'Hash of tenant and commit key.';
comment on column ledger.audited_calls.tenant is 'Whose stream it is.';
comment on column ledger.audited_calls.commit_key is 'Names one model message.';
comment on column ledger.audited_calls.ended is 'How its stream ended.';
comment on column ledger.audited_calls.quiet is 'Whether its stream has been quiet for the grace time.';
comment on column ledger.audited_calls.intent_id is 'Opaque name of one tool call.';
comment on column ledger.audited_calls.branch is 'Branch of its block.';
comment on column ledger.audited_calls.round is 'Round of the block''s last token.';
comment on column ledger.audited_calls.span_start is 'First token of its block.';
comment on column ledger.audited_calls.span_end is 'One past the last token of its block.';
comment on column ledger.audited_calls.ordinal is 'Place among the calls of one block.';
comment on column ledger.audited_calls.byte_start is 'First byte of its block.';
comment on column ledger.audited_calls.byte_end is 'One past the last byte of its block.';
comment on column ledger.audited_calls.closed_seq is 'Seq of the event that brought the block''s last token.';
comment on column ledger.audited_calls.block is 'undecided, cleared or voided.';
comment on column ledger.audited_calls.tool is 'Tool asked for.';
comment on column ledger.audited_calls.arguments_raw is 'Arguments that were held.';
comment on column ledger.audited_calls.arguments_digest is 'Digest of the canonical arguments.';
comment on column ledger.audited_calls.problem is 'Why it cannot be sent.';
comment on column ledger.audited_calls.call_id is 'The provider''s name of the call.';
comment on column ledger.audited_calls.effect is 'Effect class of its latest release, else as held.';
comment on column ledger.audited_calls.effect_version is 'Version of the effect table that gave the class.';
comment on column ledger.audited_calls.held_footprint is 'Keys it reads and writes, as first held.';
comment on column ledger.audited_calls.footprint is 'Keys it reads and writes, as last recorded.';
comment on column ledger.audited_calls.state is 'Where it stands.';
comment on column ledger.audited_calls.reason is 'Why it stands there.';
comment on column ledger.audited_calls.release is 'early or committed.';
comment on column ledger.audited_calls.final is 'The answer may be given to the runtime.';
comment on column ledger.audited_calls.stale is 'Its answer was overtaken.';
comment on column ledger.audited_calls.attempts is 'Dispatches started.';
comment on column ledger.audited_calls.idempotency_key is 'Sent with every attempt that is not a read.';
comment on column ledger.audited_calls.held_seq is 'Seq of its first intent.held.';
comment on column ledger.audited_calls.dispatch_seq is 'Seq of its last dispatch.started, or of the one that it has adopted.';
comment on column ledger.audited_calls.settled_seq is 'Seq at which that dispatch was settled.';
comment on column ledger.audited_calls.final_seq is 'Seq of its intent.final.';
comment on column ledger.audited_calls.retry_at is 'Not sent again before this.';
comment on column ledger.audited_calls.result_status is 'Status of the answer.';
comment on column ledger.audited_calls.result_content is 'The answer, as JSON.';
comment on column ledger.audited_calls.adopted_from is 'Intent whose answer it has taken for its own.';
comment on column ledger.audited_calls.adopted_attempt is 'Dispatch of that intent.';
comment on column ledger.audited_calls.final_attempt is 'Attempt whose answer was made final.';
comment on column ledger.audited_calls.final_rank is 'Highest class recorded by then.';
comment on column ledger.audited_calls.is_over is 'Final, voided, refused or denied.';
comment on column ledger.audited_calls.only_voided is 'Voided, and neither refused, denied nor final.';
comment on column ledger.audited_calls.redacted is 'Part of it cannot be read any more.';
comment on column ledger.audited_calls.rank is 'Highest class recorded; WRITE where it was never held.';
comment on column ledger.audited_calls.accepted_seq is 'Seq of the event that accepted its block.';
comment on column ledger.audited_calls.attempt is 'Its last attempt.';
comment on column ledger.audited_calls.answer_seq is 'Seq at which its last attempt was settled.';
comment on column ledger.audited_calls.doubt_open is 'It is in doubt.';
comment on column ledger.audited_calls.in_doubt_seq is 'Since then.';
comment on column ledger.audited_calls.awaited is 'Its outcome is awaited.';
comment on column ledger.audited_calls.lease_until is 'Until then.';
comment on column ledger.audited_calls.licensed_seq is 'Seq of dispatch.started that its licence names.';
comment on column ledger.audited_calls.exposed is 'Sent and without an outcome, or in doubt; or it has adopted such a dispatch.';
