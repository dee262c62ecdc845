-- Writers pause and resume tools at an operator's word; dispatchers obey, reconcilers take note.
revoke all on ledger.pauses from public;
grant select, insert, update, delete on ledger.pauses to commitgate_writer;
grant select on ledger.pauses to commitgate_dispatcher, commitgate_reconciler;
