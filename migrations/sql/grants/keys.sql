-- Gateways look keys up and note their use; to make and to revoke them is for migrators, as with auditors.
revoke all on ledger.keys from public;
grant select on ledger.keys to commitgate_writer;
grant update (last_used_at) on ledger.keys to commitgate_writer;
