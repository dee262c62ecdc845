-- Events are not truncated, not even by the owner or under replication.
create trigger events_no_truncate before truncate on ledger.events
    for each statement execute function ledger.refuse_change();
alter table ledger.events enable always trigger events_no_truncate;
