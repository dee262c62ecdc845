-- What the events of an intent amount to: one row an intent that any event names, also the voided ones.
create view ledger.audited_intents as
with gathered as not materialized (
    select t.shard, t.tenant, t.commit_key, t.intent_id,
        json_object_agg(t.seq, t.body) filter (where t.body is not null) as told,
        (array_agg(t.branch order by t.seq) filter (where t.type = 'intent.held'))[1] as branch,
        (array_agg(t.body order by t.seq) filter (where t.type = 'intent.held'))[1] as held,
        (array_agg(t.body order by t.seq desc) filter (where t.type = 'intent.released'))[1] as released,
        min(t.seq) filter (where t.type = 'intent.held') as held_seq,
        max(t.seq) filter (where t.type = 'intent.released') as released_seq,
        max(t.seq) filter (where t.type = 'dispatch.started') as dispatch_seq,
        max(t.attempt) filter (where t.type in ('dispatch.started', 'dispatch.expired', 'dispatch.in_doubt')) as attempts,
        max(t.seq) filter (where t.type = 'intent.call_id') as call_id_seq,
        min(t.seq) filter (where t.type = 'intent.final') as final_seq,
        (array_agg(t.attempt order by t.seq) filter (where t.type = 'intent.final'))[1] as final_attempt,
        (array_agg(t.rank order by t.seq) filter (where t.type = 'intent.final'))[1] as final_rank,
        max(t.seq) filter (where t.type = 'intent.stale') as stale_seq,
        max(t.seq) filter (where t.type in ('intent.voided', 'intent.refused', 'intent.denied')) as ended_seq,
        max(t.seq) filter (where t.type in ('intent.held', 'intent.released', 'intent.awaiting_approval', 'intent.approved'))
            as loosed_seq,
        max(t.seq) filter (where t.type in ('intent.held', 'dispatch.started')) as begun_seq,
        max(t.seq) filter (where t.type = 'intent.adopted') as adopted_seq,
        (array_agg(t.body order by t.seq desc) filter (where t.type = 'intent.adopted'))[1] as adopted,
        max(t.seq) filter (where t.type = 'dispatch.expired') as expired_seq,
        max(t.seq) filter (where t.settles_late or t.type in ('dispatch.settled', 'dispatch.resolved')) as answer_seq,
        max(t.seq) filter (where t.type in ('intent.held', 'intent.released', 'intent.voided', 'intent.refused',
            'intent.awaiting_approval', 'intent.approved', 'intent.denied', 'intent.adopted', 'dispatch.started',
            'dispatch.in_doubt')) as state_seq,
        (array_agg(t.type order by t.seq desc) filter (where t.type in ('intent.held', 'intent.released', 'intent.voided',
            'intent.refused', 'intent.awaiting_approval', 'intent.approved', 'intent.denied', 'intent.adopted',
            'dispatch.started', 'dispatch.in_doubt')))[1] as state_type,
        bool_or(t.type = 'intent.final') as is_final,
        bool_or(t.type in ('intent.final', 'intent.voided', 'intent.refused', 'intent.denied')) as is_over,
        bool_or(t.type = 'intent.voided')
            and not bool_or(t.type in ('intent.final', 'intent.refused', 'intent.denied')) as only_voided,
        max(t.rank) as rank,
        bool_or(t.redacted) as redacted
    from ledger.audited_trails t
    group by t.shard, t.tenant, t.commit_key, t.intent_id
), blocks as not materialized (
    select e.shard, e.tenant, e.commit_key, named.intent_id,
        substring((array_agg(e.type order by e.seq desc))[1] from 'block\.(.*)') as block
    from ledger.audited_events e
    cross join lateral json_array_elements_text(e.body -> 'intents') as named (intent_id)
    where e.type in ('block.cleared', 'block.voided')
    group by e.shard, e.tenant, e.commit_key, named.intent_id
), standing as not materialized (
    select g.*,
        coalesce(greatest(g.answer_seq, g.expired_seq) > g.state_seq, false) and g.state_type <> 'intent.voided'
            as answered_last
    from gathered g
)
select s.shard, s.tenant, s.commit_key, s.intent_id, s.branch,
    (held.span ->> 0)::bigint as span_start, (held.span ->> 1)::bigint as span_end, held.ordinal, held.round,
    held.byte_start, held.byte_end, held.closed_seq, coalesce(b.block, 'undecided') as block, held.tool, held.arguments_raw,
    held.arguments_digest, held.problem, coalesce(s.told -> s.call_id_seq::text ->> 'call_id', held.call_id) as call_id,
    coalesce(released.effect, held.effect) as effect, coalesce(released.effect_version, held.effect_version) as effect_version,
    held.footprint as held_footprint, coalesce(released.footprint, held.footprint) as footprint,
    case
        when s.answered_last and s.answer_seq > coalesce(s.expired_seq, 0) then 'settled'
        when s.answered_last then 'held'
        when s.state_type = 'dispatch.started' then 'dispatched'
        when s.state_type = 'intent.adopted' then case when source.answer_seq is null then 'dispatched' else 'settled' end
        when s.state_type = 'intent.approved' then 'held'
        else substring(s.state_type from '\.(.*)')
    end as state,
    case
        when s.stale_seq > greatest(s.state_seq, case when s.answered_last then greatest(s.answer_seq, s.expired_seq) end,
            s.final_seq) then 'stale'
        when s.final_seq > greatest(s.state_seq, case when s.answered_last then greatest(s.answer_seq, s.expired_seq) end)
            then null
        when s.answered_last and s.answer_seq > coalesce(s.expired_seq, 0) then null
        when s.answered_last then s.told -> s.expired_seq::text ->> 'because'
        when s.state_type in ('dispatch.in_doubt', 'intent.awaiting_approval')
            then s.told -> s.state_seq::text ->> 'because'
        when s.state_type in ('intent.held', 'intent.voided', 'intent.refused', 'intent.denied')
            then s.told -> s.state_seq::text ->> 'reason'
    end as reason,
    case when s.released_seq = greatest(s.loosed_seq, case when s.expired_seq < s.ended_seq or s.ended_seq is null
        then s.expired_seq end) then released.release end as release,
    coalesce(s.is_final, false) as final,
    coalesce(s.stale_seq > greatest(s.released_seq, s.ended_seq, 0), false) as stale,
    coalesce(s.attempts, 0) as attempts, released.idempotency_key,
    s.held_seq, case when s.adopts then source.started_seq else s.dispatch_seq end as dispatch_seq,
    case when s.adopts then source.answer_seq else s.answered_seq end as settled_seq, s.final_seq,
    case when s.expired_seq > greatest(s.released_seq, s.ended_seq, 0) and s.state_type <> 'intent.voided'
        then (s.told -> s.expired_seq::text ->> 'retry_at')::timestamptz end as retry_at,
    answered.status as result_status, answered.content as result_content,
    case when s.adopts then s.adopted ->> 'from' end as adopted_from,
    case when s.adopts then (s.adopted ->> 'attempt')::integer end as adopted_attempt,
    s.adopts and source.started_seq is not null and source.outcome_seq is null as adopts_in_flight,
    s.final_attempt, s.final_rank, s.rank, s.is_over, s.only_voided, s.redacted
from (
    select s.*, case when s.answer_seq > coalesce(s.dispatch_seq, 0) then s.answer_seq end as answered_seq,
        coalesce(s.adopted_seq > s.begun_seq, false) as adopts
    from standing s
) s
left join lateral (
    -- The dispatch whose answer it has taken for its own.
    select min(t.seq) filter (where t.type = 'dispatch.started') as started_seq,
        max(t.seq) filter (where t.settles_late or t.type in ('dispatch.settled', 'dispatch.resolved')) as answer_seq,
        min(t.seq) filter (where t.type not in ('dispatch.started', 'dispatch.probed')) as outcome_seq,
        (array_agg(t.body order by t.seq desc)
            filter (where t.settles_late or t.type in ('dispatch.settled', 'dispatch.resolved')))[1] as answer
    from ledger.audited_trails t
    where s.adopts and t.shard = s.shard and t.tenant = s.tenant and t.commit_key = s.commit_key
        and t.intent_id = s.adopted ->> 'from' and t.attempt::text = s.adopted ->> 'attempt'
        and starts_with(t.type, 'dispatch.')
) source on true
left join lateral json_to_record(s.held) as held (span json, ordinal integer, round bigint, byte_start bigint, byte_end bigint,
    closed_seq bigint, tool text, arguments_raw text, arguments_digest text, problem text, call_id text, effect text,
    effect_version bigint, footprint json) on true
left join lateral json_to_record(s.released) as released (release text, effect text, effect_version bigint, footprint json,
    idempotency_key text) on true
left join lateral json_to_record(case when s.adopts then source.answer else s.told -> s.answered_seq::text end)
    as answered (status text, content json) on true
left join blocks b on b.shard = s.shard and b.tenant = s.tenant and b.commit_key = s.commit_key
    and b.intent_id = s.intent_id;
comment on view ledger.audited_intents is
    'What the events of each intent amount to. For the views of schema audit alone.';
comment on column ledger.audited_intents.shard is 'Hash of tenant and commit key.';
comment on column ledger.audited_intents.tenant is 'Whose stream it is.';
comment on column ledger.audited_intents.commit_key is 'Names one model message.';
comment on column ledger.audited_intents.intent_id is 'Opaque name of one tool call.';
comment on column ledger.audited_intents.branch is 'Branch of its block.';
comment on column ledger.audited_intents.span_start is 'First token of its block.';
comment on column ledger.audited_intents.span_end is 'One past the last token of its block.';
comment on column ledger.audited_intents.ordinal is 'Place among the calls of one block.';
comment on column ledger.audited_intents.round is 'Round of the block''s last token.';
comment on column ledger.audited_intents.byte_start is 'First byte of its block in the accepted text.';
comment on column ledger.audited_intents.byte_end is 'One past the last byte of its block.';
comment on column ledger.audited_intents.closed_seq is 'Seq of the event that brought the block''s last token.';
comment on column ledger.audited_intents.block is 'undecided, cleared or voided.';
comment on column ledger.audited_intents.tool is 'Tool asked for.';
comment on column ledger.audited_intents.arguments_raw is 'Arguments as the tokens spell them.';
comment on column ledger.audited_intents.arguments_digest is 'Digest of the canonical arguments.';
comment on column ledger.audited_intents.problem is 'Why it cannot be sent.';
comment on column ledger.audited_intents.call_id is 'The provider''s name of the call.';
comment on column ledger.audited_intents.effect is 'Effect class of its latest release, else as held.';
comment on column ledger.audited_intents.effect_version is 'Version of the effect table that gave the class.';
comment on column ledger.audited_intents.held_footprint is 'Keys it reads and writes, as first held.';
comment on column ledger.audited_intents.footprint is 'Keys it reads and writes, as last recorded.';
comment on column ledger.audited_intents.state is 'Where it stands.';
comment on column ledger.audited_intents.reason is 'Why it stands there.';
comment on column ledger.audited_intents.release is 'early or committed.';
comment on column ledger.audited_intents.final is 'The answer may be given to the runtime.';
comment on column ledger.audited_intents.stale is 'Its answer was overtaken.';
comment on column ledger.audited_intents.attempts is 'Dispatches started.';
comment on column ledger.audited_intents.idempotency_key is 'Sent with every attempt that is not a read.';
comment on column ledger.audited_intents.held_seq is 'Seq of its first intent.held.';
comment on column ledger.audited_intents.dispatch_seq is 'Seq of its last dispatch.started, or of the one that it has adopted.';
comment on column ledger.audited_intents.settled_seq is 'Seq at which that dispatch was settled.';
comment on column ledger.audited_intents.final_seq is 'Seq of its intent.final.';
comment on column ledger.audited_intents.retry_at is 'Not sent again before this.';
comment on column ledger.audited_intents.result_status is 'Status of the answer.';
comment on column ledger.audited_intents.result_content is 'The answer, as JSON.';
comment on column ledger.audited_intents.adopted_from is 'Intent whose answer it has taken for its own.';
comment on column ledger.audited_intents.adopted_attempt is 'Dispatch of that intent.';
comment on column ledger.audited_intents.adopts_in_flight is 'The outcome of that dispatch is awaited.';
comment on column ledger.audited_intents.final_attempt is 'Attempt whose answer was made final.';
comment on column ledger.audited_intents.final_rank is 'Highest effect class recorded by then.';
comment on column ledger.audited_intents.rank is 'Highest effect class recorded: 1 READ_ONLY, 2 IDEMPOTENT, 3 WRITE.';
comment on column ledger.audited_intents.is_over is 'Final, voided, refused or denied.';
comment on column ledger.audited_intents.only_voided is 'Voided, and neither refused, denied nor final.';
comment on column ledger.audited_intents.redacted is 'Part of it cannot be read any more.';
