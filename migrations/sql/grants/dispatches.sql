-- Services grant licences and move them on; they never take one away.
revoke all on ledger.dispatches from public;
grant select, insert, update on ledger.dispatches to commitgate_service;
