-- Seals follow one another without gaps, up to the size of the log, which has to grow before them.
create trigger seals_follow_the_log after insert on ledger.seals
    referencing new table as added
    for each statement execute function ledger.check_seals();
alter table ledger.seals enable always trigger seals_follow_the_log;
