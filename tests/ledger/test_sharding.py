"""Shards are stored in every row: these vectors never change."""

import pytest

from ledger.sharding import SHARDS, StreamName, shard_of, shard_of_tenant


@pytest.mark.parametrize(
    ("tenant", "commit_key", "shard"),
    [
        ("default", "turn-1", 18),
        ("default", "turn-2", 166),
        ("acme", "turn-1", 45),
        ("", "", 175),
        ("ü", "k", 215),
    ],
)
def test_vectors(tenant, commit_key, shard):
    assert shard_of(tenant, commit_key) == shard


def test_parts_do_not_run_together():
    assert (
        len({shard_of("a", "bcdef"), shard_of("ab", "cdef"), shard_of("abc", "def"), shard_of("abcd", "ef")})
        > 1
    )


def test_a_tenant_has_a_shard_of_its_own():
    assert shard_of_tenant("default") == 252


def test_every_shard_is_used():
    found = {StreamName.of("default", f"turn-{number}").shard for number in range(5000)}
    assert found == set(range(SHARDS))
