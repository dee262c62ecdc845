-- Events are appended and read. The redactor alone changes one, and only what a redaction takes away.
revoke all on ledger.events from public;
grant select, insert on ledger.events to commitgate_writer, commitgate_dispatcher;
grant select on ledger.events to commitgate_sealer, commitgate_reconciler, commitgate_redactor;
grant update (payload, salt) on ledger.events to commitgate_redactor;
