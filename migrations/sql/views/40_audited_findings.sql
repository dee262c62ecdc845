-- What reconciliation finds from the ledger alone, worked out in SQL: the names of ledger.reconcile.finding. What needs a
-- tool's log (unknown_to_us, missing_at_tool), or somebody who can find calls in accepted text (a call that was never
-- held), is for ``commitgate reconcile run``.
create view ledger.audited_findings as
with dispatches as not materialized (
    select d.*, coalesce(d.started_seq, d.licensed_seq, 0) as sent_seq, c.held_seq, c.accepted_seq,
        greatest(
            d.rank,
            case when c.held_seq is null then 3 else 1 end,
            case when d.licensed then case d.licensed_effect when 'READ_ONLY' then 1 when 'IDEMPOTENT' then 2 else 3 end end,
            case when d.started_seq is not null
                then case d.started ->> 'effect' when 'READ_ONLY' then 1 when 'IDEMPOTENT' then 2 else 3 end end,
            case when not d.licensed and d.started_seq is null then 3 end,
            case when d.started_seq is null then (
                select max(t.rank) from ledger.audited_trails t
                where t.shard = d.shard and t.tenant = d.tenant and t.commit_key = d.commit_key
                    and t.intent_id = d.intent_id and t.seq <= d.licensed_seq
            ) end
        ) as sent_rank
    from ledger.audited_dispatches d
    left join ledger.audited_calls c on c.shard = d.shard and c.tenant = d.tenant and c.commit_key = d.commit_key
        and c.intent_id = d.intent_id
)
select s.shard, s.tenant, s.commit_key, null as intent_id, null::integer as attempt, 'unreadable_stream' as finding,
    s.unreadable_seq as seq
from ledger.audited_streams s
where s.unreadable_seq is not null
union all
select d.shard, d.tenant, d.commit_key, d.intent_id, d.attempt, 'orphan_effect', d.sent_seq
from dispatches d
left join ledger.audited_streams s on s.shard = d.shard and s.tenant = d.tenant and s.commit_key = d.commit_key
where d.sent_rank > 1 and not d.unsent and not coalesce(d.accepted_seq < d.sent_seq, false) and s.unreadable_seq is null
union all
select d.shard, d.tenant, d.commit_key, d.intent_id, max(d.attempt), 'duplicate',
    (array_agg(d.sent_seq order by d.attempt desc))[1]
from dispatches d
where not d.unsent
group by d.shard, d.tenant, d.commit_key, d.intent_id
having count(*) > 1 and max(d.sent_rank) = 3
union all
select d.shard, d.tenant, d.commit_key, d.intent_id, d.attempt, 'key_divergence', nullif(d.sent_seq, 0)
from dispatches d
where d.started_seq is null or not d.licensed or d.held_seq is null
    or d.started_seq <> d.licensed_seq
    or d.started_branch is distinct from d.licensed_branch
    or (d.started -> 'effect' is not null and d.started ->> 'effect' is distinct from d.licensed_effect)
    or d.unsent <> d.licence_unsent
union all
select c.shard, c.tenant, c.commit_key, c.intent_id, null, 'key_divergence', c.final_seq
from ledger.audited_calls c
where c.final_seq is not null and not exists (
    select from ledger.audited_dispatches d
    where d.shard = c.shard and d.tenant = c.tenant and d.commit_key = c.commit_key and d.intent_id = c.intent_id
)
union all
select c.shard, c.tenant, c.commit_key, c.intent_id, c.attempt, 'in_doubt',
    case when c.doubt_open then c.in_doubt_seq else c.licensed_seq end
from ledger.audited_calls c
where c.doubt_open or (c.awaited and c.rank > 1 and c.lease_until + interval '15 minutes' < now())
union all
select t.shard, t.tenant, t.commit_key, t.intent_id, t.attempt, 'late_evidence', t.seq
from ledger.audited_trails t
join (
    select d.shard, d.tenant, d.commit_key, d.intent_id, min(d.first_resolved_seq) as seq
    from ledger.audited_dispatches d
    group by d.shard, d.tenant, d.commit_key, d.intent_id
) resolved on resolved.shard = t.shard and resolved.tenant = t.tenant and resolved.commit_key = t.commit_key
    and resolved.intent_id = t.intent_id and resolved.seq < t.seq
where t.type = 'dispatch.late'
union all
select c.shard, c.tenant, c.commit_key, c.intent_id, c.attempt, 'lost_effect', c.accepted_seq
from ledger.audited_calls c
where c.accepted_seq is not null and c.quiet and c.ended <> 'aborted'
    and case
        when c.is_over then c.only_voided and c.ended = 'completed'
        else not c.exposed and not (c.settled_seq is not null and c.rank > 1) and not exists (
            select from ledger.audited_pairs p
            join ledger.audited_calls o on o.shard = p.shard and o.tenant = p.tenant and o.commit_key = p.commit_key
                and o.intent_id = p.other_id
            where p.shard = c.shard and p.tenant = c.tenant and p.commit_key = c.commit_key and p.intent_id = c.intent_id
                and o.exposed
                and case
                    when c.rank = 1 then o.rank > 1 and p.overlap
                        and (not p.same_branch or (p.other_precedes and not o.is_over))
                    else p.other_precedes and not o.is_over and (o.rank > 1 or p.overlap)
                end
        )
    end
    and not exists (
        -- What an operator holds back is waiting, not lost.
        select from generate_series(0, 255) as shards (shard)
        join ledger.pauses w on w.shard = shards.shard
        where w.tenant = c.tenant and w.tool in (c.tool, '*')
    )
union all
select c.shard, c.tenant, c.commit_key, c.intent_id, c.attempt, 'argument_mismatch', c.held_seq
from ledger.audited_calls c
left join (
    select t.shard, t.tenant, t.commit_key, t.branch,
        convert_to(string_agg(t.text, '' order by t.position), 'UTF8') as spelled
    from ledger.audited_tokens t
    where t.verdict = 'accepted'
    group by t.shard, t.tenant, t.commit_key, t.branch
) b on b.shard = c.shard and b.tenant = c.tenant and b.commit_key = c.commit_key and b.branch = c.branch
where c.accepted_seq is not null and (
    coalesce(position(convert_to(c.arguments_raw, 'UTF8') in substring(b.spelled
        from c.byte_start::integer + 1 for greatest(c.byte_end - c.byte_start, 0)::integer)) = 0, false)
    or exists (
        select from ledger.audited_dispatches d
        where d.shard = c.shard and d.tenant = c.tenant and d.commit_key = c.commit_key and d.intent_id = c.intent_id
            and d.started -> 'arguments_raw' is not null
            and d.started ->> 'arguments_raw' is distinct from c.arguments_raw
    )
)
union all
select f.shard, f.tenant, f.commit_key, f.intent_id, f.attempt, 'stale_read_final', f.final_seq
from (
    -- The dispatch whose answer was made final.
    select c.shard, c.tenant, c.commit_key, c.intent_id, c.final_seq,
        coalesce(d.attempt, c.attempt) as attempt,
        coalesce(nullif(coalesce(d.started_seq, d.licensed_seq, 0), 0), (
            select max(t.seq) from ledger.audited_trails t
            where t.shard = c.shard and t.tenant = c.tenant and t.commit_key = c.commit_key
                and t.intent_id = c.intent_id and t.type = 'dispatch.started' and t.seq < c.final_seq
        )) as sent_seq
    from ledger.audited_calls c
    left join ledger.audited_dispatches d on d.shard = c.shard and d.tenant = c.tenant and d.commit_key = c.commit_key
        and d.intent_id = c.intent_id and d.attempt = c.final_attempt
    where c.final_seq is not null and coalesce(c.final_rank, 1) = 1 and c.held_seq is not null
) f
where f.sent_seq is not null and exists (
    -- Another call that it conflicts with, as that stood when the answer was made final: what came later does not
    -- unmake it.
    select from ledger.audited_pairs p
    cross join lateral (
        select coalesce(max(case
                when e.type not in ('intent.held', 'intent.released', 'dispatch.started') or e.body -> 'effect' is null
                    then null
                when e.body ->> 'effect' = 'READ_ONLY' then 1
                when e.body ->> 'effect' = 'IDEMPOTENT' then 2
                else 3
            end), 1) as rank,
            bool_or(e.type in ('intent.final', 'intent.voided', 'intent.refused')) as is_over,
            (array_agg(e.attempt order by e.seq desc) filter (where e.type = 'dispatch.started'))[1] as attempt
        from ledger.audited_events e
        where e.shard = p.shard and e.tenant = p.tenant and e.commit_key = p.commit_key and e.intent_id = p.other_id
            and e.seq < f.final_seq
    ) stood
    cross join lateral (
        select
            coalesce(max(e.seq) filter (where e.type = 'dispatch.started'), 0) as sent_seq,
            max(e.seq) filter (where e.type = 'dispatch.in_doubt') as in_doubt_seq,
            max(e.seq) filter (where e.type in ('dispatch.resolved', 'dispatch.late')) as late_seq,
            max(e.seq) filter (where e.type in ('dispatch.settled', 'dispatch.resolved')) as settled_seq,
            max(e.seq) filter (where starts_with(e.type, 'dispatch.') and e.type <> 'dispatch.started') as outcome_seq
        from ledger.audited_events e
        where e.shard = p.shard and e.tenant = p.tenant and e.commit_key = p.commit_key and e.intent_id = p.other_id
            and e.seq < f.final_seq and e.attempt = stood.attempt
    ) last
    where p.shard = f.shard and p.tenant = f.tenant and p.commit_key = f.commit_key and p.intent_id = f.intent_id
        and p.overlap
        and case when p.other_held_seq < f.final_seq then stood.rank else p.other_rank end > 1
        and (
            ((p.other_precedes or not p.same_branch)
                and greatest(last.settled_seq, case when last.in_doubt_seq is not null then last.late_seq end) > f.sent_seq)
            or case when p.same_branch then p.other_precedes and not coalesce(stood.is_over, false)
                else stood.attempt is not null
                    and (last.outcome_seq is null or (last.in_doubt_seq > coalesce(last.late_seq, 0))) end
        )
);
comment on view ledger.audited_findings is
    'What reconciliation finds from the ledger alone. For the views of schema audit alone.';
comment on column ledger.audited_findings.shard is 'Hash of tenant and commit key.';
comment on column ledger.audited_findings.tenant is 'Whose stream it is.';
comment on column ledger.audited_findings.commit_key is 'Names one model message.';
comment on column ledger.audited_findings.intent_id is 'Intent it is about.';
comment on column ledger.audited_findings.attempt is 'Dispatch it is about.';
comment on column ledger.audited_findings.finding is 'Its kind.';
comment on column ledger.audited_findings.seq is 'Event it hangs on.';
