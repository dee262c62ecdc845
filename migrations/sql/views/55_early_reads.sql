-- A row for each read that was sent on drafts, also the thrown-away ones.
create view audit.early_reads with (security_barrier) as
select n.shard, n.commit_key, found.*
from (
    select distinct e.shard, e.tenant, e.commit_key from ledger.audited_events e where e.type = 'dispatch.started'
) n
cross join lateral (
    with calls as materialized (
        select i.* from ledger.audited_intents i
        where i.shard = n.shard and i.tenant = n.tenant and i.commit_key = n.commit_key
    ), dispatches as materialized (
        select d.*, max(d.attempt) over (partition by d.intent_id) as last_attempt from ledger.audited_dispatches d
        where d.shard = n.shard and d.tenant = n.tenant and d.commit_key = n.commit_key
    ), trails as materialized (
        select t.intent_id, t.attempt, t.seq, t.type, t.body ->> 'release' as release, t.body ->> 'from' as source,
            t.body ->> 'attempt' as of_attempt
        from ledger.audited_trails t
        where t.shard = n.shard and t.tenant = n.tenant and t.commit_key = n.commit_key
            and t.type in ('intent.released', 'intent.stale', 'intent.adopted')
    )
    select i.branch, d.intent_id, d.attempt, i.round, i.span_start, i.span_end, i.tool, i.arguments_raw,
        i.arguments_digest, i.block, i.state, d.started_seq as dispatched_seq, d.started_at as dispatched_at, d.outcome,
        d.answer ->> 'status' as status, nullif((d.answer -> 'content')::text, 'null') as content,
        case
            when i.final_attempt = d.attempt then 'used'
            when exists (
                select from trails t where t.intent_id = d.intent_id and t.type = 'intent.stale' and t.attempt = d.attempt
            ) then 'stale'
            when exists (
                select from trails t where t.type = 'intent.adopted' and t.source = d.intent_id and t.of_attempt = d.attempt::text
            ) then 'adopted'
            when i.is_over or d.attempt <> d.last_attempt then 'wasted'
        end as fate,
        i.final_seq, d.redacted or i.redacted as redacted
    from dispatches d
    join calls i on i.intent_id = d.intent_id
    where d.started_seq is not null and coalesce(d.started ->> 'release', (
        -- What an older dispatch.started does not say, the release before it does.
        select t.release from trails t
        where t.intent_id = d.intent_id and t.type = 'intent.released' and t.seq < d.started_seq
        order by t.seq desc limit 1
    )) = 'early'
) found;
comment on view audit.early_reads is
    'A row for each read that was sent on drafts, before its block was decided, also where the answer was thrown away.';
comment on column audit.early_reads.shard is 'Hash of tenant and commit key, 0 to 255: audit.shard(tenant, commit_key).';
comment on column audit.early_reads.commit_key is 'Names one model message.';
comment on column audit.early_reads.branch is 'Branch of the intent.';
comment on column audit.early_reads.intent_id is 'Intent that was sent early.';
comment on column audit.early_reads.attempt is 'Number of the dispatch.';
comment on column audit.early_reads.round is 'Round of the block''s last token.';
comment on column audit.early_reads.span_start is 'First token of its block.';
comment on column audit.early_reads.span_end is 'One past the last token of its block.';
comment on column audit.early_reads.tool is 'Tool that was asked.';
comment on column audit.early_reads.arguments_raw is 'Arguments that were sent.';
comment on column audit.early_reads.arguments_digest is 'Digest of the canonical arguments.';
comment on column audit.early_reads.block is 'What became of its block: undecided, cleared or voided.';
comment on column audit.early_reads.state is 'Where the intent stands.';
comment on column audit.early_reads.dispatched_seq is 'Seq of its dispatch.started.';
comment on column audit.early_reads.dispatched_at is 'When that was written.';
comment on column audit.early_reads.outcome is 'Outcome of the dispatch, as in audit.dispatches.';
comment on column audit.early_reads.status is 'Status of the answer.';
comment on column audit.early_reads.content is 'The answer, as JSON, also where it was thrown away.';
comment on column audit.early_reads.fate is
    'used (its answer was made final), stale (overtaken, and asked for again), adopted (thrown away with its call, and taken by'
    ' another one that asks the same: audit.intents.adopted_from) or wasted (thrown away); null while that is open.';
comment on column audit.early_reads.final_seq is 'Seq of the intent''s intent.final, if it has one.';
comment on column audit.early_reads.redacted is 'An event about it is redacted: what that said is null here.';
