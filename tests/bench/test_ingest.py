"""The bench measures what it says: real streams, the very rows that they wrote, and its own export."""

import gc
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from bench.ingest.floor import floor
from bench.ingest.load import Windows, opening
from bench.ingest.producer import Job, produce
from gateway.cli.main import run
from ledger.change import Change
from ledger.draft import draft
from ledger.fold import initial
from ledger.payload import fresh_salt
from ledger.sharding import StreamName
from tests.ledger.story import drafted
from tests.postgres import TestDatabase


@pytest.fixture(autouse=True)
def process_as_it_was() -> Iterator[None]:
    """A producer tunes its process; the tests that come after run in this one."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    yield
    sys.setswitchinterval(interval)
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def job(database: TestDatabase, **changed: object) -> Job:
    told: dict[str, object] = {
        "url": database.service_url,
        "tenant": "t",
        "streams": 4,
        "window": 8,
        "seconds": 0.5,
        "warm_up": 0.1,
        "seed": 1,
        "with_replays": True,
        "seals": True,
        "places": 2,
    }
    return Job(**{**told, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize("single_tokens", [False, True])
def test_the_floor_copies_the_rows_that_were_written(database: TestDatabase, single_tokens: bool) -> None:
    told = produce(job(database, single_tokens=single_tokens), lambda: None)
    assert told.error is None
    assert told.windows > 0
    assert told.events >= told.windows * (8 if single_tokens else 2)
    assert told.lags
    with floor(database.admin_url) as beside:
        rows = beside.rows("t", 100_000)
        assert len(rows) >= told.events
        assert beside.rate(rows) > 0
        copied = beside._connection.execute("select count(*) from bench_floor").fetchone()
        differ = beside._connection.execute(
            "select count(*) from bench_floor f join ledger.events e using (shard, tenant, commit_key, seq)"
            " where f.payload = e.payload and f.salt = e.salt and f.payload_digest = e.payload_digest"
        ).fetchone()
    assert copied == differ == (len(rows),)


def test_a_load_that_is_out_of_step_is_noticed() -> None:
    state = initial("t", "k")
    name = StreamName.of("t", "k")
    for change in (opening()(state), Change((drafted(0, 3),))):
        state = draft(name, state, change, at=datetime.now(UTC), salt=fresh_salt, met=0).after
    with pytest.raises(RuntimeError, match="out of step"):
        Windows.made(8, 1, with_replays=False).window(0)(state)


def test_the_command_writes_every_figure(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "ingest.json"
    words = [
        "--seconds",
        "0.5",
        "--repetitions",
        "1",
        "--no-peer",
        "--only",
        "acknowledgement",
        "--json",
        str(out),
    ]
    monkeypatch.setattr("sys.argv", ["commitgate", "bench", "ingest", *words])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    names = [figure["figure"] for figure in result["figures"]]
    assert names[-1] == "offline verify, events/s a core"
    assert "p99 of an acknowledgement, ms" in names
    assert result["aims"] == sum(figure["reached"] is not None for figure in result["figures"])
    assert result["machine"]["cores"]
