"""Sealing and signing need the role of the sealer and no other."""

from pathlib import Path

import pytest
from sqlalchemy import create_engine, event, text
from sqlalchemy.exc import ProgrammingError

from ledger.log.checkpoints import Notary
from ledger.log.keys import load_or_make_key
from ledger.log.reader import LogReader
from ledger.log.sealer import Sealer
from tests.ledger.log.planted import check_log, marked, plant, raw, stand_still
from tests.postgres import TestDatabase


def test_the_sealer_seals_and_signs_and_writes_no_event(database: TestDatabase, tmp_path: Path) -> None:
    admin, sealer = create_engine(database.admin_url), create_engine(database.admin_url)
    event.listen(sealer, "begin", lambda connection: connection.exec_driver_sql("set role commitgate_sealer"))
    with raw(admin) as writer:
        plant(writer, "one", 1, 3)
        writer.commit()
    rounds = Sealer(sealer)
    assert rounds.round().events == 3
    stand_still(rounds)
    assert marked(admin) == []
    reader = LogReader(sealer)
    assert (
        Notary(sealer, load_or_make_key(tmp_path / "k", reader.state().origin), tmp_path).publish().size == 3
    )
    assert reader.pending().events == 0
    assert check_log(admin) == 3
    for statement in (
        "update ledger.streams set seq = 9",
        "insert into ledger.events select * from ledger.events",
        "delete from ledger.seals",
        "update ledger.log set log_id = 'x'",
    ):
        with pytest.raises(ProgrammingError, match="permission denied"), sealer.begin() as connection:
            connection.execute(text(statement))
    sealer.dispose()
    admin.dispose()
