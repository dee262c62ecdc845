-- Token events in order, each with where its branch stood before and after it. Heads and cuts are worked out from the
-- payloads; the typed columns stand in where nothing remains of a payload. ``fits`` says whether the event follows from the
-- ones before it, as it always does unless somebody wrote past the gateway; false also where nothing remains of it.
create view ledger.audited_moves as
with told as not materialized (
    select e.shard, e.tenant, e.commit_key, coalesce(e.branch, 'main') as branch, e.seq, e.type, e.at,
        e.redacted, e.redacted and e.body is null as gone, e.head_after as told_head, e.cut_at as told_cut,
        said.round as said_round, said.start as said_start, said."end" as said_end,
        case when e.type in ('tokens.drafted', 'tokens.accepted') then json_array_length(said.tokens) end as n,
        case when e.type = 'tokens.ruled' then said.accepted end as stand,
        case when e.type = 'tokens.ruled' then said.token end as own,
        case when e.type = 'tokens.accepted' then said.tokens end as tokens
    from ledger.audited_events e
    left join lateral json_to_record(e.body)
        as said (round bigint, start bigint, "end" bigint, accepted bigint, token json, tokens json) on true
    where e.type in ('tokens.drafted', 'tokens.ruled', 'tokens.accepted', 'drafts.voided')
), beside as not materialized (
    select t.*,
        max(t.said_start + t.n) filter (where t.type = 'tokens.drafted') over of_round as drafted_to,
        max(t.told_head) over of_branch as told_before,
        bool_or(t.gone and t.type = 'tokens.drafted') over of_branch as drafts_gone,
        sum(t.n) filter (where t.type = 'tokens.drafted') over of_branch as drafts
    from told t
    window
        of_branch as (partition by t.shard, t.tenant, t.commit_key, t.branch order by t.seq
            rows between unbounded preceding and 1 preceding),
        of_round as (partition by t.shard, t.tenant, t.commit_key, t.branch, t.said_round order by t.seq
            rows between unbounded preceding and 1 preceding)
), compared as not materialized (
    -- Only a token of the target's own with drafts beyond the judged ones has to be compared with one of them.
    select b.*,
        case
            when draft.token is null then null
            when (b.own ->> 'id') is not null and (draft.token ->> 'id') is not null
                then (b.own ->> 'id') = (draft.token ->> 'id')
            else (b.own ->> 'text') = (draft.token ->> 'text')
        end as own_equal
    from beside b
    left join lateral (
        select said.tokens -> (b.said_end - said.start)::integer as token
        from ledger.audited_events d
        cross join lateral json_to_record(d.body) as said (start bigint, tokens json)
        where b.own is not null and b.stand = b.said_end - b.said_start and b.drafted_to > b.said_end
            and d.shard = b.shard and d.tenant = b.tenant and d.commit_key = b.commit_key and d.seq < b.seq
            and d.type = 'tokens.drafted' and coalesce(d.branch, 'main') = b.branch and d.body is not null
            and said.start <= b.said_end
        order by d.seq desc
        limit 1
    ) draft on true
), moved as not materialized (
    select c.*,
        case
            when c.gone then coalesce(c.told_head - coalesce(c.told_before, 0), 0)
            when c.type = 'tokens.accepted' then c.n
            when c.type = 'tokens.ruled' then c.stand + (c.own is not null)::integer
            else 0
        end as gain,
        case
            when c.type = 'drafts.voided' then c.gone or c.said_end > c.said_start
            when c.type <> 'tokens.ruled' then false
            when c.gone then c.told_cut is not null
            when c.stand < c.said_end - c.said_start then true
            when c.own_equal is not null then not c.own_equal
            else c.own is not null and coalesce(c.drafts_gone, false) and c.told_cut is not null
        end as cuts
    from compared c
), placed as not materialized (
    select m.*,
        coalesce(sum(m.gain) over before, 0)::bigint as head_before,
        (coalesce(sum(m.gain) over before, 0) + m.gain)::bigint as head_after,
        count(*) filter (where m.cuts) over before as round
    from moved m
    window before as (partition by m.shard, m.tenant, m.commit_key, m.branch order by m.seq
        rows between unbounded preceding and 1 preceding)
)
select p.shard, p.tenant, p.commit_key, p.branch, p.seq, p.type, p.at, p.redacted, p.gone, p.round,
    p.round + p.cuts::integer as round_after, p.head_before, p.head_after, p.said_start, p.said_end, p.n, p.stand, p.own,
    p.tokens, p.cuts,
    case
        when not p.cuts then null
        when p.gone then coalesce(p.told_cut, p.head_before)
        when p.type = 'tokens.ruled' then p.said_start + p.stand
        else p.head_before
    end as cut_at,
    case
        when p.type <> 'tokens.ruled' then null
        when p.gone then least(p.head_after, p.told_cut)
        else p.said_start + p.stand + coalesce(p.own_equal, false)::integer
    end as accepts_to,
    p.own is not null and not coalesce(p.own_equal, false) as own_added,
    coalesce(case
        when p.type = 'drafts.voided' then true
        when p.gone or p.said_round <> p.round then false
        when p.type = 'tokens.drafted' then p.n > 0 and p.said_start = greatest(p.head_before, p.drafted_to)
        when p.type = 'tokens.accepted' then p.n > 0 and greatest(p.head_before, p.drafted_to) = p.head_before
        else p.said_start = p.head_before and p.stand between 0 and p.said_end - p.said_start
            and p.said_end <= greatest(p.head_before, p.drafted_to)
    end, false) as fits,
    -- However much it claims: no more than was ever drafted, or than any event brings where that is gone.
    (p.head_before + case when coalesce(p.drafts_gone, false) or p.gone then 1000000 else coalesce(p.drafts, 0) end)::bigint
        as accepts_at_most
from placed p;
comment on view ledger.audited_moves is
    'Token events with where their branch stood, worked out from payloads. For the views of schema audit alone.';
comment on column ledger.audited_moves.shard is 'Hash of tenant and commit key.';
comment on column ledger.audited_moves.tenant is 'Whose stream it is.';
comment on column ledger.audited_moves.commit_key is 'Names one model message.';
comment on column ledger.audited_moves.branch is 'Token lane.';
comment on column ledger.audited_moves.seq is 'Seq of the token event.';
comment on column ledger.audited_moves.type is 'What happened.';
comment on column ledger.audited_moves.at is 'When it was written.';
comment on column ledger.audited_moves.redacted is 'Its payload is gone.';
comment on column ledger.audited_moves.gone is 'Nothing remains of it; the typed columns stand in.';
comment on column ledger.audited_moves.round is 'Rejections in the branch before it.';
comment on column ledger.audited_moves.round_after is 'Rejections in the branch after it.';
comment on column ledger.audited_moves.head_before is 'Accepted tokens before it.';
comment on column ledger.audited_moves.head_after is 'Accepted tokens after it.';
comment on column ledger.audited_moves.said_start is 'First position it is about, as it says.';
comment on column ledger.audited_moves.said_end is 'One past the last judged position, as it says.';
comment on column ledger.audited_moves.n is 'Tokens that it brings.';
comment on column ledger.audited_moves.stand is 'Judged drafts that stand.';
comment on column ledger.audited_moves.own is 'The target''s own token, as JSON.';
comment on column ledger.audited_moves.tokens is 'Tokens accepted without having been drafted, as JSON.';
comment on column ledger.audited_moves.cuts is 'Whether it rejects or voids drafts.';
comment on column ledger.audited_moves.cut_at is 'First position that it rejects or voids.';
comment on column ledger.audited_moves.accepts_to is 'One past the last draft that it accepts.';
comment on column ledger.audited_moves.own_added is 'Whether the target''s own token is added, equal to no draft.';
comment on column ledger.audited_moves.fits is 'Whether it follows from the events before it and can be read.';
comment on column ledger.audited_moves.accepts_at_most is 'One past the last draft that it can accept.';
