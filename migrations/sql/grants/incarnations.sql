-- Dispatchers take incarnations in, shard by shard; nobody else changes what is known of them.
revoke all on ledger.incarnations from public;
grant select, insert, update on ledger.incarnations to commitgate_dispatcher;
revoke execute on function ledger.incarnation(), ledger.check_incarnation() from public;
grant execute on function ledger.incarnation() to commitgate_dispatcher;
