-- Rows of events are not changed, but for what a redaction takes away; not even by the owner or under replication.
create trigger events_only_redacted before update on ledger.events
    for each row execute function ledger.check_redaction();
alter table ledger.events enable always trigger events_only_redacted;
