-- Projections follow the events: whoever appends writes them, and a writer may rebuild them. Sealing clears its own mark.
revoke all on ledger.streams, ledger.intents from public;
grant select, insert, update, delete on ledger.streams, ledger.intents to commitgate_writer;
grant select, insert, update on ledger.streams, ledger.intents to commitgate_dispatcher;
grant select on ledger.streams, ledger.intents to commitgate_reconciler;
grant select on ledger.streams to commitgate_sealer;
grant update (unsealed) on ledger.streams to commitgate_sealer;
