-- One row a stream that has events: how it ended, whether it has been quiet for the grace time of reconciliation
-- (15 minutes), and the first event at which it stops making sense.
create view ledger.audited_streams as
with numbered as not materialized (
    select e.shard, e.tenant, e.commit_key, e.seq, e.type, e.at,
        case when e.type in ('stream.opened', 'stream.finished') then e.body end as body,
        e.body is null and not e.redacted as unreadable,
        row_number() over (partition by e.shard, e.tenant, e.commit_key order by e.seq) as place
    from ledger.audited_events e
), gathered as not materialized (
    select n.shard, n.tenant, n.commit_key, max(n.seq) as seq,
        (array_agg(n.at order by n.seq desc))[1] as last_at,
        (array_agg(n.body ->> 'reason' order by n.seq) filter (where n.type = 'stream.finished'))[1] as reason,
        min(n.seq) filter (where n.type = 'stream.finished') as finished_seq,
        min(n.place) filter (where n.seq <> n.place) as gap_seq,
        min(n.seq) filter (where n.unreadable) as unreadable_seq
    from numbered n
    group by n.shard, n.tenant, n.commit_key
), misfits as not materialized (
    select m.shard, m.tenant, m.commit_key, min(m.seq) as seq
    from ledger.audited_moves m
    where not m.fits
    group by m.shard, m.tenant, m.commit_key
)
select g.shard, g.tenant, g.commit_key, g.seq, g.last_at, g.finished_seq, g.reason,
    coalesce(g.gap_seq, g.unreadable_seq, m.seq) as unreadable_seq,
    case
        when g.reason is null then 'open'
        when g.reason in ('stop', 'length') then 'completed'
        else 'aborted'
    end as ended,
    now() - g.last_at >= interval '15 minutes' as quiet
from gathered g
left join misfits m on m.shard = g.shard and m.tenant = g.tenant and m.commit_key = g.commit_key;
comment on view ledger.audited_streams is 'Each stream as a whole. For the views of schema audit alone.';
comment on column ledger.audited_streams.shard is 'Hash of tenant and commit key.';
comment on column ledger.audited_streams.tenant is 'Whose stream it is.';
comment on column ledger.audited_streams.commit_key is 'Names one model message.';
comment on column ledger.audited_streams.seq is 'Seq of its last event.';
comment on column ledger.audited_streams.last_at is 'When that was written.';
comment on column ledger.audited_streams.finished_seq is 'Seq of its end.';
comment on column ledger.audited_streams.reason is 'Reason of its end.';
comment on column ledger.audited_streams.unreadable_seq is 'First event that is missing, redacted, no JSON object or does not follow.';
comment on column ledger.audited_streams.ended is 'open, completed or aborted.';
comment on column ledger.audited_streams.quiet is 'Nothing happened for the grace time.';
