-- The effect table, version by version and tool by tool, with what changed.
create view audit.effect_history with (security_barrier) as
with versions as not materialized (
    select e.shard, e.tenant, e.commit_key, e.seq, e.at, e.redacted, e.body, lag(e.body) over (
        partition by e.shard, e.tenant, e.commit_key order by e.seq) as before
    from ledger.audited_events e
    where e.type = 'effects.changed'
), tools as not materialized (
    select v.shard, v.commit_key, v.seq, v.at, v.redacted, v.body, v.before, listed.tool,
        v.body -> 'table' -> 'tools' -> listed.tool as definition,
        v.before -> 'table' -> 'tools' -> listed.tool as definition_before
    from versions v
    left join lateral (
        select json_object_keys(v.body -> 'table' -> 'tools')
        union
        select json_object_keys(v.before -> 'table' -> 'tools')
    ) as listed (tool) on true
)
select t.shard, t.commit_key, t.seq, t.at, (t.body ->> 'version')::bigint as version, t.body ->> 'by' as changed_by,
    t.body ->> 'digest' as digest, (t.body -> 'table' -> 'policy')::text as policy, t.tool,
    t.definition ->> 'effect' as effect,
    case
        when t.body is null or t.tool is null then null
        when t.definition is null then 'removed'
        when t.definition_before is null then 'added'
        when t.definition::text = t.definition_before::text then 'unchanged'
        else 'changed'
    end as change,
    t.definition::text as definition, t.definition_before::text as definition_before, t.redacted
from tools t;
comment on view audit.effect_history is
    'The effect table, version by version: a row for each tool in a version or taken away by it, and one for a version that'
    ' names no tool.';
comment on column audit.effect_history.shard is 'Hash of tenant and commit key, 0 to 255: audit.shard(tenant, commit_key).';
comment on column audit.effect_history.commit_key is 'The reserved stream of effect tables, _effects.';
comment on column audit.effect_history.seq is 'Place of the version in that stream; the version''s number.';
comment on column audit.effect_history.at is 'When it was put in force; for people, never for order.';
comment on column audit.effect_history.version is 'Number of the version, as it says.';
comment on column audit.effect_history.changed_by is 'Who put it in force.';
comment on column audit.effect_history.digest is 'Digest of the whole table.';
comment on column audit.effect_history.policy is 'Policy of the version, as JSON.';
comment on column audit.effect_history.tool is 'Name of a tool.';
comment on column audit.effect_history.effect is 'Its effect class in this version.';
comment on column audit.effect_history.change is
    'added, changed, unchanged or removed, against the version before. Behind a redacted version every tool is added.';
comment on column audit.effect_history.definition is 'What this version says of the tool, as JSON.';
comment on column audit.effect_history.definition_before is 'What the version before said of it, as JSON.';
comment on column audit.effect_history.redacted is 'The version''s payload is gone.';
