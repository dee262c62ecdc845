-- Every token that was drafted or accepted, with the event that brought it and the event that decided it. A draft is
-- named by branch, round and position; what decided it is found under the same name, or ended its round. A ruling is followed
-- no further than there were drafts, and what is gone no further than a million tokens: no event has more.
create view ledger.audited_tokens as
with named as not materialized (
    select e.shard, e.tenant, e.commit_key, coalesce(e.branch, 'main') as branch, said.round,
        said.start + listed.place - 1 as position, e.seq, listed.token, null::bigint as accepted_seq,
        null::bigint as cut_seq, false as voids, true as drafted, e.redacted
    from ledger.audited_events e
    cross join lateral json_to_record(e.body) as said (round bigint, start bigint, tokens json)
    cross join lateral json_array_elements(said.tokens) with ordinality as listed (token, place)
    where e.type = 'tokens.drafted'
    union all
    select m.shard, m.tenant, m.commit_key, m.branch, found.round, found.position, found.seq, found.token,
        found.accepted_seq, found.cut_seq, m.type = 'drafts.voided', found.drafted, m.redacted and not found.drafted
    from ledger.audited_moves m
    cross join lateral (
        -- drafts that it accepts, and the end that it makes of its round
        select m.round, p.position, null::bigint as seq, null::json as token, m.seq as accepted_seq, null::bigint as cut_seq,
            true as drafted
        from generate_series(
            m.head_before, case when m.accepts_to is not null then least(m.accepts_to, m.accepts_at_most) end - 1
        ) as p (position)
        where m.type = 'tokens.ruled'
        union all
        select m.round, null, null, null, null, m.seq, true
        where m.cuts
        union all
        -- tokens that were never drafted: the target's own, and plain decoding
        select m.round_after, m.head_after - 1, m.seq, m.own, m.seq, null, false
        where m.own_added
        union all
        select m.round, m.head_before + listed.place - 1, m.seq, listed.token, m.seq, null, false
        from json_array_elements(m.tokens) with ordinality as listed (token, place)
        union all
        -- the same, redacted: what is accepted beyond a cut is the target's own
        select m.round_after, p.position, m.seq, null, m.seq, null, false
        from generate_series(
            coalesce(m.accepts_to, m.head_before), least(coalesce(m.head_after, 0), m.head_before + 1000000) - 1
        ) as p (position)
        where m.gone
    ) found
), gathered as not materialized (
    select n.shard, n.tenant, n.commit_key, n.branch, n.round, n.position, max(n.seq) as seq,
        (array_agg(n.token) filter (where n.token is not null))[1] as token, max(n.accepted_seq) as accepted_seq,
        bool_or(n.drafted) as drafted, bool_or(n.redacted) as redacted,
        min(min(n.cut_seq)) over of_round as cut_seq, bool_or(bool_or(n.voids and n.cut_seq is not null)) over of_round as voids
    from named n
    group by n.shard, n.tenant, n.commit_key, n.branch, n.round, n.position
    window of_round as (partition by n.shard, n.tenant, n.commit_key, n.branch, n.round)
)
select g.shard, g.tenant, g.commit_key, g.branch, g.round, g.position,
    case when g.token ->> 'id' ~ '^-?[0-9]{1,16}$' then (g.token ->> 'id')::bigint end as id,
    case when not g.redacted then g.token ->> 'text' end as text, g.token ->> 'drafter' as drafter,
    case
        when g.accepted_seq is not null then 'accepted'
        when g.cut_seq is null then 'pending'
        when g.voids then 'voided'
        else 'rejected'
    end as verdict,
    g.seq, coalesce(g.accepted_seq, g.cut_seq) as decided_seq, g.drafted, g.redacted or g.token is null as redacted
from gathered g
where g.position is not null
union all
-- Redacted drafts of which nothing remains: how many there were, and what became of each, is gone with them.
select e.shard, e.tenant, e.commit_key, coalesce(e.branch, 'main'), null, null, null, null, null, null, e.seq, null, true,
    true
from ledger.audited_events e
where e.type = 'tokens.drafted' and e.body is null;
comment on view ledger.audited_tokens is
    'Every token drafted or accepted, worked out from token events. For the views of schema audit alone.';
comment on column ledger.audited_tokens.shard is 'Hash of tenant and commit key.';
comment on column ledger.audited_tokens.tenant is 'Whose stream it is.';
comment on column ledger.audited_tokens.commit_key is 'Names one model message.';
comment on column ledger.audited_tokens.branch is 'Token lane.';
comment on column ledger.audited_tokens.round is 'Round in which it was brought.';
comment on column ledger.audited_tokens.position is 'Place in its branch, from 0.';
comment on column ledger.audited_tokens.id is 'Token id.';
comment on column ledger.audited_tokens.text is 'What it spells.';
comment on column ledger.audited_tokens.drafter is 'Who drafted it.';
comment on column ledger.audited_tokens.verdict is 'What was decided about it.';
comment on column ledger.audited_tokens.seq is 'Seq of the event that brought it.';
comment on column ledger.audited_tokens.decided_seq is 'Seq of the event that decided it.';
comment on column ledger.audited_tokens.drafted is 'Whether it was a draft.';
comment on column ledger.audited_tokens.redacted is 'Whether it cannot be read any more.';
