-- The binding that each stream declared, and everything that was said about a binding since.
create view audit.bindings with (security_barrier) as
select e.shard, e.commit_key, e.seq, e.at, e.type,
    case when e.type = 'stream.opened' then e.body -> 'binding' ->> 'name' else e.body ->> 'binding' end as binding,
    case when e.type = 'stream.opened' then e.body -> 'binding' ->> 'kind' end as kind,
    case when e.type = 'stream.opened' then 'declared' else substring(e.type from '\.(.*)') end as state,
    e.seq = max(e.seq) over (partition by e.shard, e.tenant, e.commit_key, e.type = 'stream.opened',
        case when e.type <> 'stream.opened' then e.body ->> 'binding' end) as latest,
    case when e.type = 'stream.opened' then e.body -> 'binding' else e.body end::text as terms, e.redacted
from ledger.audited_events e
where e.type = 'stream.opened' or starts_with(e.type, 'binding.');
comment on view audit.bindings is
    'The draft/target binding that each stream declared when it was opened, and each event about a binding since.';
comment on column audit.bindings.shard is 'Hash of tenant and commit key, 0 to 255: audit.shard(tenant, commit_key).';
comment on column audit.bindings.commit_key is 'Names one model message.';
comment on column audit.bindings.seq is 'Place of the event in its stream.';
comment on column audit.bindings.at is 'When it was written; for people, never for order.';
comment on column audit.bindings.type is 'stream.opened, or the binding event.';
comment on column audit.bindings.binding is 'Name of the binding, where it has one.';
comment on column audit.bindings.kind is 'What the stream declared: single, hosted or pair. Null for binding events.';
comment on column audit.bindings.state is 'declared, or attached, probation, verified, suspected or rejected.';
comment on column audit.bindings.latest is 'Whether nothing later is said about this binding in this stream.';
comment on column audit.bindings.terms is 'What the event says of the binding, as JSON.';
comment on column audit.bindings.redacted is 'Its payload is gone.';
