-- Writers keep the answers to batches, for replays.
revoke all on ledger.batches from public;
grant select, insert on ledger.batches to commitgate_writer;
