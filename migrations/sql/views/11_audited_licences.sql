-- The licences to send of the tenant whose auditor asks (see audited_events).
create view ledger.audited_licences as
select shards.shard::smallint as shard, d.tenant, d.commit_key, d.intent_id, d.attempt, d.branch, d.effect, d.worker, d.epoch,
    d.lease_until, d.started_seq, d.open, d.unsent
from generate_series(0, 255) as shards (shard)
cross join lateral (
    select d.tenant, d.commit_key, d.intent_id, d.attempt, d.branch, d.effect, d.worker, d.epoch, d.lease_until, d.started_seq, d.open,
        d.unsent
    from ledger.dispatches d
    where d.shard = shards.shard and d.tenant = (select a.tenant from ledger.auditors a where a.login = session_user)
    union all
    select d.tenant, d.commit_key, d.intent_id, d.attempt, d.branch, d.effect, d.worker, d.epoch, d.lease_until, d.started_seq, d.open,
        d.unsent
    from ledger.dispatches d
    where d.shard = shards.shard and false
) d;
comment on view ledger.audited_licences is
    'Licences of the tenant that the session''s login may audit. For the views of schema audit alone.';
comment on column ledger.audited_licences.shard is 'Hash of tenant and commit key.';
comment on column ledger.audited_licences.tenant is 'Whose stream it is.';
comment on column ledger.audited_licences.commit_key is 'Names one model message.';
comment on column ledger.audited_licences.intent_id is 'Intent that is licensed.';
comment on column ledger.audited_licences.attempt is 'Attempt that is licensed.';
comment on column ledger.audited_licences.branch is 'Branch of the intent.';
comment on column ledger.audited_licences.effect is 'Effect class under which it is sent.';
comment on column ledger.audited_licences.worker is 'Who sends it.';
comment on column ledger.audited_licences.epoch is 'Fencing number of the lease.';
comment on column ledger.audited_licences.lease_until is 'End of the lease.';
comment on column ledger.audited_licences.started_seq is 'Seq of its dispatch.started.';
comment on column ledger.audited_licences.open is 'An outcome is awaited.';
comment on column ledger.audited_licences.unsent is 'Recorded as certainly unsent.';
