"""The tree in the database is the tree of RFC 9162 over the events, at every size; its tiles only ever grow."""

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from ledger.errors import NotSealed, ProofRefused, UnknownEvent
from ledger.evidence.tiles import root
from ledger.evidence.tree import verify_consistency, verify_inclusion
from ledger.log.reader import LogReader
from ledger.log.sealer import Sealer
from ledger.log.store import tile_reader
from tests.ledger.log.planted import TENANT, check_log, checkpoint, leaves, naive_root, plant, raw

SIZES = 600


def stored_root(engine: Engine, size: int) -> bytes:
    with engine.connect() as connection:
        return root(tile_reader(connection), size)


def test_restarting_at_every_size_gives_the_roots_of_a_naive_tree(engine: Engine) -> None:
    assert stored_root(engine, 0) == naive_root([])
    roots = []
    with raw(engine) as writer:
        for size in range(1, SIZES + 1):
            plant(writer, f"s{size % 3}", size // 3 + (size % 3 > 0), size // 3 + (size % 3 > 0))
            writer.commit()
            # A new sealer each time: all that it knows of the tree is in the tiles.
            assert Sealer(engine, lease_seconds=0.0).round().size == size
            roots.append(stored_root(engine, size))
    hashes = leaves(engine)
    assert roots == [naive_root(hashes[:size]) for size in range(1, SIZES + 1)]
    assert [stored_root(engine, size) for size in (1, 255, 256, 257, 599)] == [
        roots[size - 1] for size in (1, 255, 256, 257, 599)
    ]


@pytest.mark.parametrize("counts", [(1, 255, 1), (256, 256), (255, 2, 300), (66_000, 1, 500)])
def test_rounds_of_any_length_give_the_same_tree(engine: Engine, counts: tuple[int, ...]) -> None:
    sealer = Sealer(engine, max_events=100_000)
    with raw(engine) as writer:
        first = 1
        for count in counts:
            plant(writer, "one", first, first + count - 1)
            writer.commit()
            first += count
            assert sealer.round().size == first - 1
    assert check_log(engine) == sum(counts)


def test_proofs_of_every_place_and_between_sizes(engine: Engine, reader: LogReader) -> None:
    sealer = Sealer(engine)
    with raw(engine) as writer:
        plant(writer, "one", 1, 300)
        plant(writer, "two", 1, 100)
        writer.commit()
        sealer.round()
        with pytest.raises(NotSealed):
            reader.inclusion(TENANT, "one", 1)
    checkpoint(engine, 400)
    hashes, whole = leaves(engine), stored_root(engine, 400)
    for key, seq in (("one", 1), ("one", 300), ("two", 1), ("two", 56), ("two", 100)):
        proof = reader.inclusion(TENANT, key, seq)
        assert proof.leaf_hash == hashes[proof.index]
        verify_inclusion(proof.leaf_hash, proof.index, proof.size, proof.path, whole)
        with pytest.raises(ProofRefused):
            verify_inclusion(bytes(32), proof.index, proof.size, proof.path, whole)
    for old in (0, 1, 255, 256, 257, 400):
        verify_consistency(old, 400, naive_root(hashes[:old]), whole, reader.consistency(old, 400))
    for old, new in ((5, 4), (-1, 4), (1, 401)):
        with pytest.raises(ProofRefused):
            reader.consistency(old, new)
    for key, seq in (("one", 301), ("three", 1)):
        with pytest.raises(UnknownEvent):
            reader.inclusion(TENANT, key, seq)


GROWN = "hashes || decode(repeat('ab', 32), 'hex')"


REWRITING = [
    "update ledger.tiles set hashes = overlay(hashes placing '\\x00'::bytea from 5)",
    "update ledger.tiles set hashes = substring(hashes from 1 for 32) where octet_length(hashes) > 32",
    "update ledger.tiles set tile = tile + 7",
    f"update ledger.tiles set level = 3, hashes = {GROWN}",
    "delete from ledger.tiles",
    "truncate ledger.tiles",
    "update ledger.seals set first_index = first_index + 1",
    "delete from ledger.seals",
    "truncate ledger.seals",
    "update ledger.checkpoints set note = 'else'",
    "delete from ledger.checkpoints",
    "truncate ledger.checkpoints",
    "update ledger.log set size = size - 1",
    "update ledger.log set log_id = 'else'",
    "delete from ledger.log",
    "truncate ledger.log",
]


def test_what_is_in_the_log_is_not_rewritten_not_even_by_a_superuser(engine: Engine, owner: Engine) -> None:
    with raw(engine) as writer:
        plant(writer, "one", 1, 3)
        writer.commit()
    Sealer(engine).round()
    checkpoint(engine, 3)
    for statement in REWRITING:
        with pytest.raises(DBAPIError, match="RestrictViolation"), owner.begin() as connection:
            connection.execute(text(statement))
    check_log(engine)


def test_a_tile_may_grow(engine: Engine, owner: Engine) -> None:
    with raw(engine) as writer:
        plant(writer, "one", 1, 3)
        writer.commit()
    Sealer(engine).round()
    read = text("select octet_length(hashes) from ledger.tiles")
    with owner.begin() as connection:
        before = connection.execute(read).scalar_one()
        connection.execute(text(f"update ledger.tiles set hashes = {GROWN}"))
        assert connection.execute(read).scalar_one() > before


def test_a_tile_is_whole_hashes(owner: Engine) -> None:
    for hashes in ("''", "'\\x00'", f"decode(repeat('ab', {32 * 257}), 'hex')"):
        with pytest.raises(DBAPIError, match="tiles_whole_hashes"), owner.begin() as connection:
            connection.execute(text(f"insert into ledger.tiles values (0, 0, {hashes})"))


def test_redacted_events_seal_and_prove_like_others(engine: Engine, owner: Engine, reader: LogReader) -> None:
    sealer = Sealer(engine)
    redact = "update ledger.events set payload = null, salt = null where seq = :seq"
    with raw(engine) as writer:
        plant(writer, "one", 1, 2)
        writer.commit()
        sealer.round()
        with owner.begin() as connection:
            connection.execute(text("alter table ledger.events disable trigger all"))
            connection.execute(text(redact), {"seq": 1})
        plant(writer, "one", 3, 4)
        writer.commit()
    with owner.begin() as connection:
        # One that nobody has sealed yet.
        connection.execute(text(redact), {"seq": 3})
        connection.execute(text("alter table ledger.events enable always trigger events_append_only"))
    sealer.round()
    assert check_log(engine) == 4
    entries = reader.entries()
    assert [entry.payload is None for entry in entries] == [True, False, True, False]
    assert [entry.leaf_hash for entry in entries] == leaves(engine)
    assert [dict(found.event.payload) == {} for found in reader.events().events] == [True, False, True, False]
