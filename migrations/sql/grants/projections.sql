-- Projections follow the events: services write and rebuild them.
revoke all on ledger.streams, ledger.branches, ledger.intents from public;
grant select, insert, update, delete on ledger.streams, ledger.branches, ledger.intents to commitgate_service;
