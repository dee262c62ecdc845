-- Sealers add seals, tiles and checkpoints, let the last tiles and the log's row grow, and take nothing away.
revoke all on ledger.log, ledger.seals, ledger.tiles, ledger.checkpoints from public;
grant select on ledger.log, ledger.seals, ledger.tiles, ledger.checkpoints to commitgate_sealer, commitgate_reconciler;
grant insert on ledger.seals, ledger.tiles, ledger.checkpoints to commitgate_sealer;
grant update (hashes) on ledger.tiles to commitgate_sealer;
grant update (size, sealer, lease_until) on ledger.log to commitgate_sealer;
