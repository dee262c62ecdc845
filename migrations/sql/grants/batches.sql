-- Services keep the answers to batches, and may let old ones go.
revoke all on ledger.batches from public;
grant select, insert, update, delete on ledger.batches to commitgate_service;
