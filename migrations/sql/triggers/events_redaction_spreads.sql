-- With the payload of an event go the answers to batches of its stream.
create trigger events_redaction_spreads after update on ledger.events
    for each row when (old.payload is not null and new.payload is null) execute function ledger.forget_batches();
alter table ledger.events enable always trigger events_redaction_spreads;
