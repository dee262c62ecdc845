"""``commitgate doctor`` on real databases: each check is seen to pass, and to find what it is for."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Engine, make_url

from effects.table import EffectTable
from gateway.cli import main
from gateway.doctor import database, evidence, machine, tools, work
from gateway.doctor.finding import Finding, Verdict, examined
from gateway.doctor.servers import quarantined
from gateway.principal import everyone
from gateway.settings import Settings
from gateway.turn.tables import TableInForce
from gateway.upstream.secrets import Secrets
from gateway.wiring import wire
from ledger.access.keys import add_key
from ledger.connect import connect
from ledger.errors import LedgerUnavailable
from ledger.log.sealer import Sealer
from tests import plain
from tests.gateway.dispatcher.floor import Floor
from tests.gateway.toolserver import ToolServer, free_port
from tests.postgres import TestDatabase, libpq

Doctor = Callable[..., tuple[int | str | None, dict[str, dict[str, str]]]]


@pytest.fixture
def engine(database: TestDatabase) -> Iterator[Engine]:
    made = connect(database.service_url)
    yield made
    made.dispose()


@pytest.fixture
def doctor(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    database: TestDatabase,
    tmp_path: Path,
) -> Doctor:
    """Runs the command on ``database`` and gives its exit code, and its lines by check."""
    monkeypatch.setenv("COMMITGATE_DATABASE_URL", database.service_url)
    monkeypatch.setenv("COMMITGATE_HOME", str(tmp_path))

    def run(*words: str) -> tuple[int | str | None, dict[str, dict[str, str]]]:
        monkeypatch.setattr("sys.argv", ["commitgate", "doctor", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main.run()
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        return ended.value.code, {line["check"]: line for line in lines}

    return run


def verdicts(findings: Iterator[Finding]) -> dict[str, str]:
    return {one.check: one.verdict.value for one in findings}


def test_a_fresh_database_is_well_but_for_a_server_that_does_not_wait_for_the_disk(doctor: Doctor) -> None:
    """tests/compose has one that does."""
    _, found = doctor()
    for check in ("python", "packages", "database", "schema", "login", "incarnation", "clock"):
        assert found[check]["verdict"] == "pass", check
    assert found["notify"]["verdict"] == ("info" if plain.wanted() else "pass")
    for check in ("synchronous_commit", "sealing_lag", "doubts", "pauses"):
        assert found[check]["verdict"] == "pass", check
    assert found["keys"]["verdict"] == found["effect_table"]["verdict"] == "warn"
    assert found["signing_key"]["verdict"] == found["checkpoint"]["verdict"] == "info"
    assert {name for name, one in found.items() if one["verdict"] == "fail"} <= {"fsync", "full_page_writes"}
    assert all(one["hint"] for one in found.values() if one["verdict"] in ("warn", "fail"))


def test_no_password_is_told(doctor: Doctor, database: TestDatabase) -> None:
    _, found = doctor("--no-connect")
    told = json.dumps(found)
    assert f":{make_url(database.service_url).password}@" not in told
    assert ":***@" in found["database"]["told"]


def test_a_server_that_does_not_wait_for_the_disk_fails(doctor: Doctor, durability_off: None) -> None:
    code, found = doctor()
    assert code == 1
    assert found["fsync"]["verdict"] == "fail"
    assert "fsync = on" in found["fsync"]["hint"]


@pytest.fixture
def durability_off(database: TestDatabase) -> None:
    with psycopg.connect(libpq(database.admin_url)) as connection:
        row = connection.execute("show fsync").fetchone()
    if row != ("off",):
        pytest.skip("the server of this run waits for the disk")


def test_a_database_that_does_not_answer_fails_and_the_rest_is_told(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMITGATE_DATABASE_URL", f"postgresql://u:word@127.0.0.1:{free_port()}/d")
    code, found = doctor()
    assert code == 1
    assert found["database"]["verdict"] == "fail"
    assert found["python"]["verdict"] == "pass"
    assert "word@" not in json.dumps(found)


def test_a_database_without_the_schema_fails(
    doctor: Doctor, empty_database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMITGATE_DATABASE_URL", empty_database.service_url)
    code, found = doctor()
    assert code == 1
    assert found["schema"]["verdict"] == "fail"
    assert "db upgrade" in found["schema"]["hint"]
    assert "doubts" not in found


def test_a_login_that_may_do_more_or_less_fails(database: TestDatabase, engine: Engine) -> None:
    for url in (database.owner_url, database.admin_url):
        other = connect(url)
        assert verdicts(database_login(other)) == {"login": "fail"}
        other.dispose()
    assert verdicts(database_login(engine)) == {"login": "pass"}


def database_login(engine: Engine) -> Iterator[Finding]:
    return database.login(engine, Settings())


def test_nobody_meets_a_gateway_on_the_network_that_has_no_keys(
    doctor: Doctor, database: TestDatabase
) -> None:
    _, found = doctor("--host", "0.0.0.0", "--no-connect")
    assert found["keys"]["verdict"] == "fail"
    owner = connect(database.owner_url)
    add_key(owner, "k1", b"d" * 32, tenant="t", roles=["admin"], label=None, by="me")
    owner.dispose()
    _, found = doctor("--host", "0.0.0.0", "--no-connect")
    assert found["keys"]["verdict"] == "pass"


def test_clocks_that_differ_are_told(engine: Engine) -> None:
    for seconds, verdict in ((0, "pass"), (-5, "warn"), (300, "fail")):
        ahead = timedelta(seconds=seconds)
        found = database.clock(engine, lambda ahead=ahead: datetime.now(UTC) + ahead)
        assert verdicts(found) == {"clock": verdict}


def test_without_notify_it_says_how_calls_are_found(engine: Engine) -> None:
    [found] = database.notify(engine, Settings(wake="poll"))
    assert (found.verdict, "poll" in found.told) == (Verdict.INFO, True)


def test_a_restored_database_is_not_taken_in(database: TestDatabase, engine: Engine) -> None:
    with psycopg.connect(libpq(database.admin_url), autocommit=True) as connection:
        connection.execute("update ledger.incarnations set identity = 'another'")
    assert verdicts(database_incarnation(engine)) == {"incarnation": "warn"}


def database_incarnation(engine: Engine) -> Iterator[Finding]:
    return database.incarnation(engine)


def test_what_nobody_seals_or_signs_is_told(floor: Floor, tmp_path: Path) -> None:
    engine, settings = floor.engine, Settings(home=tmp_path)
    assert verdicts(evidence.sealing(engine)) == {"sealing_lag": "pass"}
    floor.clock.skip(-300)
    floor.turn("write", key="a")
    assert verdicts(evidence.sealing(engine)) == {"sealing_lag": "warn"}
    while Sealer(engine, lease_seconds=0).round().events:
        pass
    assert verdicts(evidence.checkpoint(engine)) == {"checkpoint": "warn"}
    assert verdicts(evidence.key(engine, settings)) == {"signing_key": "info"}
    assert not settings.ledger_key_file.exists()
    from gateway.sealing import notary_over

    notary_over(engine, settings).publish()
    assert verdicts(evidence.checkpoint(engine)) == {"checkpoint": "pass"}
    assert verdicts(evidence.key(engine, settings)) == {"signing_key": "pass"}
    assert verdicts(evidence.key(engine, Settings(home=tmp_path / "other"))) == {"signing_key": "fail"}
    settings.ledger_key_file.write_text("nonsense", encoding="utf-8")
    assert verdicts(evidence.key(engine, settings)) == {"signing_key": "fail"}


WORDS = """
tools:
  read: {{effect: READ_ONLY, upstream: {{http: "http://127.0.0.1:{port}/read"}}}}
  set: {{effect: IDEMPOTENT, writes: [], upstream: {{http: "http://127.0.0.1:{closed}/set"}}}}
  write:
    effect: WRITE
    writes: []
    upstream: {{http: "http://127.0.0.1:{port}/write", headers: {{X-Api-Key: {{env: {variable}}}}}}}
servers:
  shop: {{url: "http://127.0.0.1:{port}/mcp"}}
"""
GOOD = """
tools:
  read: {{effect: READ_ONLY, reads: [], upstream: {{http: "http://127.0.0.1:{port}/read"}}}}
  set: {{effect: IDEMPOTENT, window: 1h, writes: [], upstream: {{http: "http://127.0.0.1:{port}/set"}}}}
"""


@pytest.fixture
def tools_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], EffectTable]]:
    monkeypatch.setenv("TOOL_KEY", "x")
    with ToolServer() as server:
        port = int(server.url.rsplit(":", 1)[1])

        def table(words: str, variable: str = "TOOL_MISSING") -> EffectTable:
            return EffectTable.parse(words.format(port=port, closed=free_port(), variable=variable))

        yield table


def test_what_an_effect_table_leaves_unsaid_is_told(tools_of: Callable[[str], EffectTable]) -> None:
    table, secrets = tools_of(WORDS), Secrets()
    found = {one.check: one for one in tools.unsaid(table)}
    for check, verdict, named in (
        ("footprints", Verdict.WARN, "read"),
        ("idempotency_windows", Verdict.WARN, "set"),
        ("probes", Verdict.INFO, "write"),
        ("pins", Verdict.INFO, "shop"),
    ):
        assert (found[check].verdict, named in found[check].told) == (verdict, True), found[check]
    [missing] = tools.secrets(table, "t", secrets)
    assert (missing.verdict, "TOOL_MISSING" in missing.told) == (Verdict.FAIL, True)
    assert verdicts(tools.upstreams(table, {"mcp"})) == {"upstream_kinds": "fail"}
    [away] = tools.reachable(table)
    assert (away.verdict, away.told.count("127.0.0.1")) == (Verdict.WARN, 1)


def test_a_good_effect_table_passes(tools_of: Callable[[str], EffectTable]) -> None:
    table = tools_of(GOOD)
    found = {
        **verdicts(tools.unsaid(table)),
        **verdicts(tools.secrets(table, "t", Secrets())),
        **verdicts(tools.upstreams(table, {"http"})),
        **verdicts(tools.reachable(table)),
        **verdicts(tools.in_force(TableInForce(1, table), "t")),
    }
    assert set(found.values()) == {"pass"}
    assert len(found) == 8


def test_a_tool_at_an_address_that_is_refused_is_not_even_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = EffectTable.parse('tools: {t: {effect: WRITE, upstream: {http: "http://tool.example/x"}}}')
    found_at = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("169.254.169.254", 80))]
    monkeypatch.setattr("gateway.doctor.tools.socket.getaddrinfo", lambda *_words, **_more: found_at)
    [found] = tools.reachable(table)
    assert "refused" in found.told


def test_tools_whose_server_does_not_define_them_as_pinned_are_told() -> None:
    table = EffectTable.parse(
        "tools: {t: {effect: WRITE, upstream: {mcp: gone}}}\nservers: {gone: {command: [/no/such/server]}}"
    )
    [found] = quarantined(table, "default", Secrets())
    assert (found.verdict, "t (" in found.told) == (Verdict.FAIL, True)
    assert verdicts(quarantined(EffectTable.parse("tools: {}"), "default", Secrets())) == {
        "quarantine": "pass"
    }


def test_what_waits_and_what_is_stopped_is_told(floor: Floor) -> None:
    engine = floor.engine
    assert verdicts(work.waiting(engine)) == {"doubts": "pass", "approvals": "info"}
    assert verdicts(work.stopped(engine)) == {"pauses": "pass", "speculation": "info"}
    wire(engine).braking.pause(everyone("default"), "write", reason="maintenance")
    [paused, _] = work.stopped(engine)
    assert (paused.verdict, "default/write" in paused.told) == (Verdict.WARN, True)


def test_little_space_below_an_embedded_database_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(home=tmp_path / "not" / "there", database_url=None)
    assert verdicts(machine.disk(settings)) == {"disk_space": "pass"}
    for little, verdict in ((machine.LITTLE - 1, "warn"), (machine.TOO_LITTLE - 1, "fail")):
        monkeypatch.setattr(
            "gateway.doctor.machine.shutil.disk_usage",
            lambda _path, free=little: type("Usage", (), {"free": free})(),
        )
        assert verdicts(machine.disk(settings)) == {"disk_space": verdict}


def test_an_old_python_fails() -> None:
    assert verdicts(machine.python((3, 10, 2))) == {"python": "fail"}


def test_a_check_that_cannot_be_made_fails_under_its_own_name() -> None:
    def away() -> Iterator[Finding]:
        yield Finding("first", Verdict.PASS, "")
        raise LedgerUnavailable("gone\nwith more lines")

    [first, second] = examined("second", away)
    assert (first.check, second.check, second.verdict) == ("first", "second", Verdict.FAIL)
    assert second.told == "ledger_unavailable: gone"

    def refused() -> Iterator[Finding]:
        raise socket.gaierror(-2, "unknown")
        yield

    assert [one.verdict for one in examined("third", refused)] == [Verdict.FAIL]
