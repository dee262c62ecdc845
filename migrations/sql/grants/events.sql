-- Services append and read events; nothing else.
revoke all on ledger.events from public;
grant select, insert on ledger.events to commitgate_service;
