"""The owner of the database, who does not hold the key, writes another history and gives the log another name."""

from pathlib import Path

import psycopg
import pytest

from gateway.sealing import notary_over, signing_key
from gateway.settings import Settings
from ledger.errors import KeyRefused, ProofRefused
from ledger.evidence.note import VerifierKey
from ledger.evidence.report import Report, Wrong
from ledger.evidence.verify import verify
from ledger.exporting import export
from ledger.log.checkpoints import Notary
from ledger.log.entries import StoredCheckpoint
from ledger.log.reader import LogReader
from ledger.log.sealer import Sealer
from ledger.proof import check_proof, prove
from tests.gateway.sealing.story import Story, story
from tests.postgres import TestDatabase, libpq

TRIGGERS = """
select tgrelid::regclass::text, tgname from pg_trigger where not tgisinternal and tgrelid::regclass::text like 'ledger.%'
"""
ANOTHER_HISTORY = """
delete from ledger.checkpoints; delete from ledger.seals; delete from ledger.tiles;
update ledger.log set size = 0, sealer = null, log_id = gen_random_uuid()::text;
delete from ledger.events where commit_key = 'one'; delete from ledger.streams where commit_key = 'one';
update ledger.streams set unsealed = true;
"""


def rewrite(database: TestDatabase) -> None:
    with psycopg.connect(libpq(database.owner_url), autocommit=True) as owner:
        triggers = owner.execute(TRIGGERS).fetchall()
        for table, name in triggers:
            owner.execute(f"alter table {table} disable trigger {name}")
        owner.execute(ANOTHER_HISTORY)
        for table, name in triggers:
            owner.execute(f"alter table {table} enable always trigger {name}")


def checked(told: Story, signed: StoredCheckpoint, key: VerifierKey) -> Report:
    lines = b"".join(lines for _, lines in export(LogReader(told.engine), signed))
    return verify(lines.splitlines(keepends=True), key)


def test_it_is_not_signed_and_does_not_verify(database: TestDatabase, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    with story(database) as told:
        told.write("one", "a")
        told.write("two", "b")
        Sealer(told.engine).round()
        signed = notary_over(told.engine, settings).publish()
        key = signing_key(told.engine, settings)
        assert checked(told, signed, key.verifier()).fault is None
        rewrite(database)
        Sealer(told.engine).round()
        assert LogReader(told.engine).size() == 2
        with pytest.raises(KeyRefused, match="COMMITGATE_LEDGER_KEY"):
            notary_over(told.engine, settings)
        # Nor where some other program signs with the key all the same.
        forged = Notary(told.engine, key, None).publish()
        fault = checked(told, forged, key.verifier()).fault
        assert fault is not None
        assert fault.code is Wrong.ORIGIN
        with pytest.raises(ProofRefused, match="the key of"):
            check_proof(prove(LogReader(told.engine), "default", "two", 1), key.verifier())


def test_another_log_gets_a_key_of_its_own(database: TestDatabase, tmp_path: Path) -> None:
    with story(database) as told:
        told.write("one", "a")
        told.write("two", "b")
        Sealer(told.engine).round()
        notary_over(told.engine, Settings(home=tmp_path)).publish()
        rewrite(database)
        Sealer(told.engine).round()
        settings = Settings(home=tmp_path, ledger_key=tmp_path / "another.key")
        signed = notary_over(told.engine, settings).publish()
        assert checked(told, signed, signing_key(told.engine, settings).verifier()).fault is None
