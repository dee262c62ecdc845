"""Every proof stays valid: the tree does not move, exports made before and after verify, and nothing else may be missing."""

import io
from collections.abc import Callable

import pytest

from ledger.evidence.checkpoint import Checkpoint
from ledger.evidence.note import SigningKey, body_of
from ledger.evidence.report import Wrong
from ledger.evidence.tree import verify_consistency, verify_inclusion
from ledger.evidence.verify import verify
from ledger.exporting import export
from ledger.log.checkpoints import Notary
from ledger.log.entries import StoredCheckpoint
from ledger.log.reader import LogReader
from ledger.log.sealer import Sealer
from ledger.proof import check_proof, prove
from ledger.selfcheck import check_database
from ledger.sharding import StreamName
from tests.ledger.planting import Planter
from tests.ledger.redaction.secret import MARKER, redacted


@pytest.fixture
def reader(engine) -> LogReader:
    return LogReader(engine)


@pytest.fixture(scope="module")
def keys() -> dict[str, SigningKey]:
    return {}


@pytest.fixture
def sign(engine, reader, keys) -> Callable[[], StoredCheckpoint]:
    """Seals what is committed and signs for it."""

    def sign() -> StoredCheckpoint:
        sealer = Sealer(engine, name="tests")
        while sealer.round().events:
            pass
        key = keys.setdefault("key", SigningKey.generate(reader.state().origin))
        return Notary(engine, key, None).publish()

    return sign


def exported(reader, until, tenant=None) -> list[bytes]:
    return list(io.BytesIO(b"".join(lines for _, lines in export(reader, until, tenant=tenant))))


def root(checkpoint: StoredCheckpoint) -> bytes:
    return Checkpoint.parse(body_of(checkpoint.note)).root


def test_nothing_of_the_tree_moves(turn, redactor, reader, sign, keys):
    before = sign()
    proofs = {e.seq: prove(reader, turn.tenant, turn.key, e.seq) for e in turn.events}
    old = exported(reader, before)
    redacted(turn, redactor)
    assert b"".join(exported(reader, before)) != b"".join(old)
    after = sign()
    verifier = keys["key"].verifier()
    path = reader.consistency(before.size, after.size)
    verify_consistency(before.size, after.size, root(before), root(after), path)
    for seq, was in proofs.items():
        now = reader.inclusion(turn.tenant, turn.key, seq)
        assert (now.leaf_hash.hex(), now.envelope) == (was["leaf_hash"], was["envelope"])
        verify_inclusion(now.leaf_hash, now.index, now.size, now.path, root(after))
        check_proof(was, verifier)
        again = prove(reader, turn.tenant, turn.key, seq)
        assert (again["payload"] is None) == (seq in turn.state.redacted)
        check_proof(again, verifier)


@pytest.mark.parametrize("shown", [True, False], ids=["the tenant's", "everyone's"])
def test_exports_verify_before_and_after(turn, redactor, reader, sign, keys, shown):
    tenant = turn.tenant if shown else None
    verifier = keys["key"].verifier() if "key" in keys else None
    before = sign()
    verifier = verifier or keys["key"].verifier()
    first = exported(reader, before, tenant)
    assert any(MARKER.encode() in line for line in first)
    redacted(turn, redactor)
    after = sign()
    second = exported(reader, after, tenant)
    told = [verify(lines, verifier, kept=[before.note]) for lines in (first, second)]
    assert [report.fault for report in told] == [None, None]
    assert told[1].redacted - told[0].redacted == len(turn.state.redacted)
    mine = [line for line in second if turn.tenant.encode() in line]
    assert not any(MARKER.encode() in line for line in mine)


def test_an_export_without_the_redaction_shows_that_something_is_gone(turn, redactor, reader, sign, keys):
    before = sign()
    index = reader.index_of(turn.tenant, turn.key, 1)
    redacted(turn, redactor)
    fault = verify(exported(reader, before, turn.tenant), keys["key"].verifier()).fault
    assert fault is not None
    assert fault.code == Wrong.REDACTION
    assert fault.index == index + min(turn.state.redacted) - 1


def test_the_database_s_own_check_knows_of_redactions_that_nothing_signs_for_yet(
    turn, redactor, engine, sign, keys
):
    before = sign()
    redacted(turn, redactor)
    found = check_database(engine, before, keys["key"].verifier(), iter(()), lambda _size: None)
    assert found.fault is None


def test_what_somebody_takes_away_without_a_redaction_is_found(
    turn, engine, reader, sign, keys, module_database
):
    """The control, by a superuser past every trigger; the last test of this module, whose log it spoils."""
    planter = Planter(module_database.admin_url)
    until = sign()
    planter.redact(StreamName.of(turn.tenant, turn.key), 4)
    planter.close()
    index = reader.index_of(turn.tenant, turn.key, 4)
    verifier = keys["key"].verifier()
    for tenant in (None, turn.tenant):
        fault = verify(exported(reader, until, tenant), verifier).fault
        assert fault is not None
        assert (fault.code, fault.index, fault.until) == (Wrong.REDACTION, index, index + 1)
    found = check_database(engine, until, verifier, iter(()), lambda _size: None)
    assert found.fault is not None
    assert found.fault.code == Wrong.REDACTION
