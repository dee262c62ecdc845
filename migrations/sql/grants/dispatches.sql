-- Dispatchers alone grant licences and move them on, in the columns that move; nobody takes one away.
revoke all on ledger.dispatches from public;
grant select, insert on ledger.dispatches to commitgate_dispatcher;
grant update (once_key, epoch, lease_until, open, unsent) on ledger.dispatches to commitgate_dispatcher;
grant select on ledger.dispatches to commitgate_writer, commitgate_reconciler;
