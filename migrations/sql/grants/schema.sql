-- Services may look into the schema; nobody else may, and nobody may create in it.
revoke all on schema ledger from public;
grant usage on schema ledger to commitgate_service;
