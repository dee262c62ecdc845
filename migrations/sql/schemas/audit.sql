-- Schema of the auditors: views of the ledger, each of one tenant's rows.
create schema if not exists audit;
comment on schema audit is
    'For auditors: what was drafted, ruled, asked for, sent and answered. Every view shows the rows of one tenant, the one'
    ' that ledger.auditors names for the login of the session.';
