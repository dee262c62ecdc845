-- Services pause and resume tools.
revoke all on ledger.pauses from public;
grant select, insert, update, delete on ledger.pauses to commitgate_service;
