-- The two sides that reconciliation lays beside each other, stream by stream: every dispatch, every intent whose block is
-- accepted, and what is found about them, by the names of ledger.reconcile.finding. What needs a tool's log
-- (unknown_to_us, missing_at_tool), or somebody who can find calls in accepted text (a call that was never held), is for
-- ``commitgate reconcile run``.
create view ledger.audited_sides as
with names as not materialized (
    select e.shard, e.tenant, e.commit_key from ledger.audited_events e
    union
    select l.shard, l.tenant, l.commit_key from ledger.audited_licences l
)
select n.shard, n.tenant, n.commit_key, side.*
from names n
cross join lateral (
    with stream as materialized (
        select s.* from ledger.audited_streams s
        where s.shard = n.shard and s.tenant = n.tenant and s.commit_key = n.commit_key
    ), calls as materialized (
        select c.* from ledger.audited_calls c
        where c.shard = n.shard and c.tenant = n.tenant and c.commit_key = n.commit_key
    ), trails as materialized (
        select t.* from ledger.audited_trails t
        where t.shard = n.shard and t.tenant = n.tenant and t.commit_key = n.commit_key
    ), dispatches as materialized (
        select d.*, coalesce(d.started_seq, d.licensed_seq, 0) as sent_seq, c.held_seq, c.accepted_seq,
            -- The highest class that is recorded of it, of its intent by then, and of its licence; WRITE where it is not.
            greatest(
                d.rank,
                case when c.held_seq is null then 3 else 1 end,
                case when d.licensed
                    then case d.licensed_effect when 'READ_ONLY' then 1 when 'IDEMPOTENT' then 2 else 3 end end,
                case when d.started_seq is not null
                    then case d.started ->> 'effect' when 'READ_ONLY' then 1 when 'IDEMPOTENT' then 2 else 3 end end,
                case when not d.licensed and d.started_seq is null then 3 end,
                case when d.started_seq is null then (
                    select max(t.rank) from trails t where t.intent_id = d.intent_id and t.seq <= d.licensed_seq
                ) end
            ) as sent_rank
        from ledger.audited_dispatches d
        left join calls c on c.intent_id = d.intent_id
        where d.shard = n.shard and d.tenant = n.tenant and d.commit_key = n.commit_key
    ), texts as materialized (
        select t.branch, convert_to(string_agg(t.text, '' order by t.position), 'UTF8') as spelled,
            array_agg(coalesce(t.text, '') order by t.position) as tokens,
            coalesce(array_agg(t.position) filter (where t.redacted), '{}') as gaps
        from ledger.audited_tokens t
        where t.shard = n.shard and t.tenant = n.tenant and t.commit_key = n.commit_key and t.verdict = 'accepted'
        group by t.branch
    ), footprints as materialized (
        -- A bare * at the end of a key stands for every key that begins so; a backslash makes what follows it ordinary.
        select c.*, array[coalesce(c.span_start, 0), coalesce(c.ordinal, 0)] as place, f.upstream, f.declared,
            array(
                select case when spelled.key ~ '(^|[^\\])(\\\\)*\*$' then '*' else '=' end || regexp_replace(
                    regexp_replace(spelled.key, '(^|[^\\])((\\\\)*)\*$', '\1\2'), '\\(.)', '\1', 'g')
                from (
                    select json_array_elements_text(f.reads)
                    union
                    select json_array_elements_text(f.writes)
                ) as spelled (key)
            ) as keys
        from calls c
        cross join lateral (
            select
                case when json_typeof(c.held_footprint -> 'upstream') = 'string'
                    and json_typeof(c.held_footprint -> 'reads') in ('array', 'null')
                    and json_typeof(c.held_footprint -> 'writes') in ('array', 'null')
                    then c.held_footprint ->> 'upstream' end as upstream,
                case when json_typeof(c.held_footprint -> 'reads') = 'array' then c.held_footprint -> 'reads' else '[]' end
                    as reads,
                case when json_typeof(c.held_footprint -> 'writes') = 'array' then c.held_footprint -> 'writes' else '[]' end
                    as writes,
                coalesce(json_typeof(c.held_footprint -> 'reads') = 'array', false)
                    and coalesce(json_typeof(c.held_footprint -> 'writes') = 'array', false) as declared
        ) f
    ), pairs as not materialized (
        -- An unknown upstream overlaps everything, an undeclared footprint everything of its upstream; else a shared key
        -- decides.
        select c.intent_id, o.intent_id as other_id, o.held_seq as other_held_seq, o.rank as other_rank,
            o.exposed as other_exposed, o.state = 'awaiting_approval' as other_awaits, o.redacted as other_redacted, o.is_over as other_is_over,
            o.branch is not distinct from c.branch as same_branch,
            o.branch is not distinct from c.branch and o.place < c.place as other_precedes,
            c.upstream is null or o.upstream is null
                or (c.upstream = o.upstream and not (c.declared and o.declared))
                or exists (
                    select from unnest(c.keys) as mine (key) cross join unnest(o.keys) as theirs (key)
                    where mine.key = theirs.key
                        or (left(mine.key, 1) = '*' and starts_with(substr(theirs.key, 2), substr(mine.key, 2)))
                        or (left(theirs.key, 1) = '*' and starts_with(substr(mine.key, 2), substr(theirs.key, 2)))
                ) as overlap
        from footprints c
        join footprints o on o.intent_id <> c.intent_id
        where o.held_seq is not null
    ), finals as materialized (
        -- Reads that were made final, with the dispatch whose answer that was.
        select c.intent_id, c.final_seq, case when a.body is null then coalesce(d.attempt, c.attempt) end as attempt,
            coalesce(nullif(d.sent_seq, 0), (
                select max(t.seq) from trails t
                where t.intent_id = c.intent_id and t.type = 'dispatch.started' and t.seq < c.final_seq
            )) as sent_seq
        from calls c
        left join lateral (
            -- An adopted answer is as old as the dispatch that brought it.
            select t.body from trails t
            where t.intent_id = c.intent_id and t.type = 'intent.adopted' and t.seq < c.final_seq and not exists (
                select from trails s where s.intent_id = t.intent_id and s.type in ('intent.held', 'dispatch.started')
                    and s.seq > t.seq and s.seq < c.final_seq
            )
            order by t.seq desc
            limit 1
        ) a on true
        left join dispatches d on case when a.body is null then d.intent_id = c.intent_id and d.attempt = c.final_attempt
            else d.intent_id = a.body ->> 'from' and d.attempt::text = a.body ->> 'attempt' end
        where c.final_seq is not null and coalesce(c.final_rank, 1) = 1 and c.held_seq is not null and not c.redacted
    ), found as materialized (
        select null::text as intent_id, null::integer as attempt, 'unreadable_stream' as finding, s.unreadable_seq as seq
        from stream s
        where s.unreadable_seq is not null
        union all
        select d.intent_id, d.attempt, 'orphan_effect', d.sent_seq
        from dispatches d
        where d.sent_rank > 1 and not d.unsent and not d.lost and not coalesce(d.accepted_seq < d.sent_seq, false)
            and not exists (select from stream s where s.unreadable_seq is not null)
        union all
        select d.intent_id, max(d.attempt), 'duplicate', (array_agg(d.sent_seq order by d.attempt desc))[1]
        from dispatches d
        where not d.unsent
        group by d.intent_id
        having count(*) > 1 and max(d.sent_rank) filter (where not d.lost) = 3
        union all
        select d.intent_id, d.attempt, 'key_divergence', nullif(d.sent_seq, 0)
        from dispatches d
        where not d.lost and (
            d.started_seq is null or not d.licensed or d.held_seq is null
            or d.started_seq <> d.licensed_seq
            or d.started_branch is distinct from d.licensed_branch
            or (d.started -> 'effect' is not null and d.started ->> 'effect' is distinct from d.licensed_effect)
            or d.unsent <> d.licence_unsent
        )
        union all
        select c.intent_id, null, 'key_divergence', c.final_seq
        from calls c
        where c.final_seq is not null and not exists (
            select from dispatches d
            where d.intent_id = c.intent_id or (d.intent_id = c.adopted_from and d.attempt = c.adopted_attempt)
        )
        union all
        select c.intent_id, c.attempt, 'in_doubt', case when c.doubt_open then c.in_doubt_seq else c.licensed_seq end
        from calls c
        where c.doubt_open or (c.awaited and c.rank > 1 and c.lease_until + interval '15 minutes' < now())
        union all
        select t.intent_id, t.attempt, 'late_evidence', t.seq
        from trails t
        where t.type = 'dispatch.late' and exists (
            select from trails r where r.intent_id = t.intent_id and r.type = 'dispatch.resolved' and r.seq < t.seq
        )
        union all
        select c.intent_id, c.attempt, 'lost_effect', c.accepted_seq
        from calls c
        where c.accepted_seq is not null and c.quiet and c.ended <> 'aborted'
            and case
                when c.is_over then c.only_voided and c.ended = 'completed'
                else not c.exposed and c.state is distinct from 'awaiting_approval'
                    and not (c.answer_seq is not null and c.rank > 1) and not exists (
                    -- What waits behind a call in flight, in doubt or awaiting approval is not lost.
                    select from pairs p
                    where p.intent_id = c.intent_id and (p.other_exposed or p.other_awaits) and case
                        when c.rank = 1 then p.other_rank > 1 and p.overlap and case when p.same_branch
                            then p.other_precedes and not p.other_is_over else p.other_exposed end
                        else p.other_precedes and not p.other_is_over and (p.other_rank > 1 or p.overlap)
                    end
                )
            end
            and not exists (
                -- What an operator holds back is waiting, not lost.
                select from generate_series(0, 255) as shards (shard)
                join ledger.pauses w on w.shard = shards.shard
                where w.tenant = n.tenant and w.tool in (c.tool, '*')
            )
        union all
        select c.intent_id, c.attempt, 'argument_mismatch', c.held_seq
        from calls c
        left join texts b on b.branch = coalesce(c.branch, 'main')
        where c.accepted_seq is not null and not c.redacted and not exists (
            select from unnest(b.gaps) as gap (position) where gap.position >= c.span_start and gap.position < c.span_end
        ) and (
            -- Where texts before the block are gone bytes cannot be counted, and whole tokens have to do. What a detector
            -- built from another form than JSON does not stand there.
            not exists (
                select from trails h
                where h.intent_id = c.intent_id and h.type = 'intent.held' and h.body ->> 'arguments_built' = 'true'
            ) and coalesce(position(convert_to(c.arguments_raw, 'UTF8') in case
                when (select min(gap.position) from unnest(b.gaps) as gap (position)) < c.span_end
                    then convert_to(array_to_string(b.tokens[c.span_start + 1:c.span_end], ''), 'UTF8')
                else substring(b.spelled from c.byte_start::integer + 1
                    for greatest(c.byte_end - c.byte_start, 0)::integer)
            end) = 0, false)
            or exists (
                select from dispatches d
                where d.intent_id = c.intent_id and d.started -> 'arguments_raw' is not null
                    and d.started ->> 'arguments_raw' is distinct from c.arguments_raw
            )
        )
        union all
        select f.intent_id, f.attempt, 'stale_read_final', f.final_seq
        from finals f
        where f.sent_seq is not null and exists (
            -- Another call that it conflicts with, as that stood when the answer was made final: what came later does not
            -- unmake it.
            select from pairs p
            cross join lateral (
                select coalesce(max(t.rank), 1) as rank,
                    bool_or(t.type in ('intent.final', 'intent.voided', 'intent.refused', 'intent.denied')) as is_over,
                    (array_agg(t.attempt order by t.seq desc)
                        filter (where t.type in ('dispatch.started', 'dispatch.in_doubt')))[1] as attempt
                from trails t
                where t.intent_id = p.other_id and t.seq < f.final_seq
            ) stood
            cross join lateral (
                select
                    max(t.seq) filter (where t.type = 'dispatch.in_doubt') as in_doubt_seq,
                    max(t.seq) filter (where t.type in ('dispatch.resolved', 'dispatch.late')) as late_seq,
                    max(t.seq) filter (where t.type in ('dispatch.settled', 'dispatch.resolved')) as settled_seq,
                    max(t.seq) filter (where starts_with(t.type, 'dispatch.')
                        and t.type not in ('dispatch.started', 'dispatch.probed')) as outcome_seq
                from trails t
                where t.intent_id = p.other_id and t.seq < f.final_seq and t.attempt = stood.attempt
            ) last
            where p.intent_id = f.intent_id and p.other_rank > 1 and not p.other_redacted and p.overlap
                and case when p.other_held_seq < f.final_seq then stood.rank else p.other_rank end > 1
                and (
                    ((p.other_precedes or not p.same_branch) and greatest(last.settled_seq,
                        -- The first that settles the doubt; what comes after a resolution settles nothing.
                        (select min(t.seq) from trails t where t.intent_id = p.other_id and t.seq < f.final_seq
                            and t.attempt = stood.attempt and t.type in ('dispatch.resolved', 'dispatch.late')
                            and t.seq > last.in_doubt_seq)) > f.sent_seq)
                    or case when p.same_branch then p.other_precedes and not coalesce(stood.is_over, false)
                        else stood.attempt is not null
                            and (last.outcome_seq is null or last.in_doubt_seq > coalesce(last.late_seq, 0)) end
                )
        )
    )
    select sides.*, c.branch, c.tool, c.span_start, c.span_end, c.accepted_seq, c.is_over as over,
        coalesce(c.redacted, false) as redacted
    from (
        select d.intent_id, d.attempt, nullif(d.sent_seq, 0) as dispatched_seq,
            coalesce(d.started ->> 'effect', d.licensed_effect) as sent_as, d.unsent, d.outcome,
            d.answer ->> 'status' as status, f.finding, f.seq as finding_seq
        from dispatches d
        left join found f on f.intent_id = d.intent_id and f.attempt = d.attempt
        union all
        select c.intent_id, null, null, null, null, null, null, f.finding, f.seq
        from calls c
        left join found f on f.intent_id = c.intent_id and f.attempt is null
        where f.finding is not null
            or (c.accepted_seq is not null and not exists (select from dispatches d where d.intent_id = c.intent_id))
        union all
        select null, null, null, null, null, null, null, f.finding, f.seq
        from found f
        where f.intent_id is null
    ) sides
    left join calls c on c.intent_id = sides.intent_id
) side;
comment on view ledger.audited_sides is
    'What was dispatched and what is accepted, with what is found about it. For the views of schema audit alone.';
comment on column ledger.audited_sides.shard is 'Hash of tenant and commit key.';
comment on column ledger.audited_sides.tenant is 'Whose stream it is.';
comment on column ledger.audited_sides.commit_key is 'Names one model message.';
comment on column ledger.audited_sides.intent_id is 'Intent it is about.';
comment on column ledger.audited_sides.attempt is 'Number of the dispatch.';
comment on column ledger.audited_sides.dispatched_seq is 'Seq of its dispatch.started.';
comment on column ledger.audited_sides.sent_as is 'Effect class under which it was sent.';
comment on column ledger.audited_sides.unsent is 'Recorded as certainly not sent.';
comment on column ledger.audited_sides.outcome is 'What is recorded last of its outcome.';
comment on column ledger.audited_sides.status is 'Status of its answer.';
comment on column ledger.audited_sides.finding is 'Kind of finding.';
comment on column ledger.audited_sides.finding_seq is 'Event that the finding hangs on.';
comment on column ledger.audited_sides.branch is 'Branch of the intent.';
comment on column ledger.audited_sides.tool is 'Tool asked for.';
comment on column ledger.audited_sides.span_start is 'First token of its block.';
comment on column ledger.audited_sides.span_end is 'One past the last token of its block.';
comment on column ledger.audited_sides.accepted_seq is 'Seq of the event that accepted its block.';
comment on column ledger.audited_sides.over is 'Final, voided, refused or denied.';
comment on column ledger.audited_sides.redacted is 'Part of the intent cannot be read any more.';
