-- Schema of the ledger: events, the projections made of them, and the licences to dispatch.
create schema if not exists ledger;
