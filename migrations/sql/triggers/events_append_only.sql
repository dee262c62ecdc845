-- Rows of events are not deleted, not even by the owner or under replication.
create trigger events_append_only before delete on ledger.events
    for each row execute function ledger.refuse_change();
alter table ledger.events enable always trigger events_append_only;
