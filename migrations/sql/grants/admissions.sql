-- Dispatchers keep to the limits of tools, and may ask where pauses stand; operators are shown how much is used.
revoke all on ledger.buckets, ledger.admissions, ledger.stops from public;
revoke execute on function ledger.tenant_shard(text), ledger.check_pause() from public;
grant select, insert, update, delete on ledger.buckets, ledger.admissions to commitgate_dispatcher;
grant select on ledger.buckets, ledger.admissions to commitgate_writer;
grant execute on function ledger.tenant_shard(text) to commitgate_dispatcher;
grant select, insert, update, delete on ledger.stops to commitgate_writer;
grant select on ledger.stops to commitgate_dispatcher;
