"""Alembic environment and the SQL objects of the ledger, one a file under ``sql/``."""
