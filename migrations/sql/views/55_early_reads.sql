-- A row for each read that was sent on drafts, also the thrown-away ones.
create view audit.early_reads with (security_barrier) as
with reads as not materialized (
    select d.*, max(d.attempt) over (partition by d.shard, d.tenant, d.commit_key, d.intent_id) as last_attempt,
        coalesce(d.started ->> 'release', (
            select e.body ->> 'release' from ledger.audited_events e
            where e.shard = d.shard and e.tenant = d.tenant and e.commit_key = d.commit_key
                and e.intent_id = d.intent_id and e.type = 'intent.released' and e.seq < d.started_seq
            order by e.seq desc limit 1
        )) as release
    from ledger.audited_dispatches d
)
select r.shard, r.commit_key, i.branch, r.intent_id, r.attempt, i.round, i.span_start, i.span_end, i.tool, i.arguments_raw,
    i.arguments_digest, i.block, i.state, r.started_seq as dispatched_seq, r.started_at as dispatched_at, r.outcome,
    r.answer ->> 'status' as status, nullif((r.answer -> 'content')::text, 'null') as content,
    case
        when i.final_attempt = r.attempt then 'used'
        when exists (
            select from ledger.audited_events e
            where e.shard = r.shard and e.tenant = r.tenant and e.commit_key = r.commit_key
                and e.intent_id = r.intent_id and e.type = 'intent.stale' and e.attempt = r.attempt
        ) then 'stale'
        when i.is_over or r.attempt <> r.last_attempt then 'wasted'
    end as fate,
    i.final_seq, r.redacted or i.redacted as redacted
from reads r
join ledger.audited_intents i on i.shard = r.shard and i.tenant = r.tenant and i.commit_key = r.commit_key
    and i.intent_id = r.intent_id
where r.started_seq is not null and r.release = 'early';
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
    'used (its answer was made final), stale (overtaken, and asked for again) or wasted (thrown away); null while that is'
    ' open.';
comment on column audit.early_reads.final_seq is 'Seq of the intent''s intent.final, if it has one.';
comment on column audit.early_reads.redacted is 'An event about it is redacted: what that said is null here.';
