-- Every two intents of one stream, with whether their footprints overlap: an unknown upstream overlaps everything, an
-- undeclared footprint everything of its upstream, else a shared key decides. A bare * at the end of a key stands for
-- every key that begins so; a backslash makes the character after it an ordinary one.
create view ledger.audited_pairs as
with calls as not materialized (
    select i.shard, i.tenant, i.commit_key, i.intent_id, coalesce(i.branch, 'main') as branch,
        array[coalesce(i.span_start, 0), coalesce(i.ordinal, 0)] as place, i.held_seq, i.rank,
        f.upstream, f.declared,
        array(
            select case when spelled.key ~ '(^|[^\\])(\\\\)*\*$' then '*' else '=' end
                || regexp_replace(regexp_replace(spelled.key, '(^|[^\\])((\\\\)*)\*$', '\1\2'), '\\(.)', '\1', 'g')
            from (
                select json_array_elements_text(f.reads)
                union
                select json_array_elements_text(f.writes)
            ) as spelled (key)
        ) as keys
    from ledger.audited_intents i
    cross join lateral (
        select
            case when json_typeof(i.held_footprint -> 'upstream') = 'string'
                and json_typeof(i.held_footprint -> 'reads') in ('array', 'null')
                and json_typeof(i.held_footprint -> 'writes') in ('array', 'null')
                then i.held_footprint ->> 'upstream' end as upstream,
            case when json_typeof(i.held_footprint -> 'reads') = 'array' then i.held_footprint -> 'reads' else '[]' end
                as reads,
            case when json_typeof(i.held_footprint -> 'writes') = 'array' then i.held_footprint -> 'writes' else '[]' end
                as writes,
            coalesce(json_typeof(i.held_footprint -> 'reads') = 'array', false)
                and coalesce(json_typeof(i.held_footprint -> 'writes') = 'array', false) as declared
    ) f
)
select c.shard, c.tenant, c.commit_key, c.intent_id, o.intent_id as other_id, o.held_seq as other_held_seq,
    o.rank as other_rank, o.branch = c.branch as same_branch, o.branch = c.branch and o.place < c.place as other_precedes,
    c.upstream is null or o.upstream is null
        or (c.upstream = o.upstream and not (c.declared and o.declared))
        or exists (
            select from unnest(c.keys) as mine (key) cross join unnest(o.keys) as theirs (key)
            where mine.key = theirs.key
                or (left(mine.key, 1) = '*' and starts_with(substr(theirs.key, 2), substr(mine.key, 2)))
                or (left(theirs.key, 1) = '*' and starts_with(substr(mine.key, 2), substr(theirs.key, 2)))
        ) as overlap
from calls c
join calls o on o.shard = c.shard and o.tenant = c.tenant and o.commit_key = c.commit_key and o.intent_id <> c.intent_id
where o.held_seq is not null;
comment on view ledger.audited_pairs is
    'Every two intents of one stream, and whether they touch a common key. For the views of schema audit alone.';
comment on column ledger.audited_pairs.shard is 'Hash of tenant and commit key.';
comment on column ledger.audited_pairs.tenant is 'Whose stream it is.';
comment on column ledger.audited_pairs.commit_key is 'Names one model message.';
comment on column ledger.audited_pairs.intent_id is 'One of the two.';
comment on column ledger.audited_pairs.other_id is 'The other.';
comment on column ledger.audited_pairs.other_held_seq is 'Seq of the other''s first intent.held.';
comment on column ledger.audited_pairs.other_rank is 'Highest class recorded of the other.';
comment on column ledger.audited_pairs.same_branch is 'Whether both stand in one branch.';
comment on column ledger.audited_pairs.other_precedes is 'Whether the other stands before it in its branch.';
comment on column ledger.audited_pairs.overlap is 'Whether they may touch a common key.';
