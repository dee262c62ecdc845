-- The functions are for triggers and services alone.
revoke execute on all functions in schema ledger from public;
grant execute on all functions in schema ledger to commitgate_service;
