"""The lint of shards: everything that is hot asks for shards, so that a ledger can be spread over them.

``python -m tests.lint`` reads the catalogue of a migrated database, the SQL files, and what the product really sends while
it does everything that it does; it says nothing and exits 0 where all of it is led by the shard, else it prints what is not
and exits 1. What is left out on purpose stands in ``exceptions``, each with its reason.
"""
