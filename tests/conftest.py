"""Fixtures of the whole suite: databases (tests/postgres.py says where their server comes from), and what was counted."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
import structlog
from hypothesis import settings

from tests import commands, plain, postgres
from tests.commands import Commands
from tests.postgres import DatabaseServer, TestDatabase

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background of a shell: children would ignore the interrupts that tests send them.
    signal.signal(signal.SIGINT, signal.default_int_handler)


SLOW = (
    "crash",
    "simulation",
    "recovery",
    "tau2",
    "readme",
    "examples",
    "equivalence",
    "gateway/demo",
    "ledger/model",
)
"""Folders of few tests that each take long."""

RUN_HOME = pytest.StashKey[Path]()
COMMIT = pytest.StashKey[str]()
ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results" / "test-long.jsonl"
LONG_SETTING = "COMMITGATE_TEST_LONG"
settings.register_profile("same", derandomize=True)
settings.register_profile("fresh", print_blob=True)
# A suite that fails says something of the change, not of luck; the long run looks for what nobody thought of.
settings.load_profile("fresh" if os.environ.get(LONG_SETTING) else "same")

COUNTED = "counted"
"""Property of a test's report: a line for the end of the run."""


def pytest_configure(config: pytest.Config) -> None:
    """The process that began the run owns the home of its servers; workers and runs inside find it named."""
    if os.environ.get(LONG_SETTING):
        changed = _git("status", "--porcelain", "--untracked-files=no")
        config.stash[COMMIT] = _git("rev-parse", "HEAD") + ("+changes" if changed else "")
    if plain.wanted():
        plain.begin()
    if postgres.HOME_SETTING not in os.environ:
        config.stash[RUN_HOME] = postgres.make_home()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long cases run in ``make test-long`` only. The files that take longest begin first, so that no worker waits at the end."""
    items.sort(key=lambda item: _place(item.path))
    if os.environ.get(LONG_SETTING):
        return
    skip = pytest.mark.skip(reason=f"long; set {LONG_SETTING}=1, or make test-long")
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(skip)


@cache
def _place(path: Path) -> int:
    """Where the tests of a file stand in the run; those of one place keep their order."""
    return next((n for n, folder in enumerate(SLOW) if (ROOT / "tests" / folder) in path.parents), len(SLOW))


def pytest_unconfigure(config: pytest.Config) -> None:
    home = config.stash.get(RUN_HOME, None)
    if home is not None:
        postgres.remove_home(home)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """Say at the end what tests have counted, in whichever process they ran; a long run keeps it."""
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, [])]
    lines = [
        str(line) for r in reports for name, line in getattr(r, "user_properties", []) if name == COUNTED
    ]
    if lines:
        terminalreporter.section("counted")
    for line in lines:
        terminalreporter.line(line)
    is_worker = hasattr(terminalreporter.config, "workerinput")
    if os.environ.get(LONG_SETTING) and not is_worker:
        _keep(terminalreporter, exitstatus, lines)


def _keep(terminalreporter: pytest.TerminalReporter, exitstatus: int, counted: list[str]) -> None:
    """Add the run to bench/results, under the commit that it belongs to."""
    outcomes = ("passed", "failed", "error", "skipped")
    run = {
        "commit": terminalreporter.config.stash[COMMIT],
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"system": platform.platform(), "cores": os.cpu_count()},
        "asked": [str(word) for word in terminalreporter.config.invocation_params.args],
        "exit": int(exitstatus),
        "tests": {kind: len(terminalreporter.stats.get(kind, [])) for kind in outcomes},
        "counted": counted,
    }
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with RESULTS.open("a", encoding="utf-8") as kept:
        kept.write(json.dumps(run) + "\n")


def _git(*words: str) -> str:
    told = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return told.stdout.strip()


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """What a command in this process says of logs is said for it alone."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.fixture
def report(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Keeps a line for the end of the run: how many seeds, cases and events a test has seen."""
    return lambda line: record_property(COUNTED, line)


@pytest.fixture(scope="session")
def commitgate() -> Iterator[Commands]:
    """The command line, each command a process of its own that needs not start."""
    with commands.commands() as running:
        yield running


@pytest.fixture(scope="session")
def database_server() -> Iterator[DatabaseServer]:
    """A server for tests, without waiting for the disk where it is ours."""
    with postgres.server() as server:
        yield server


@pytest.fixture(scope="session")
def database_template(database_server: DatabaseServer) -> Iterator[TestDatabase]:
    """One database at the newest schema; tests take copies of it."""
    yield from _template(database_server)


@pytest.fixture
def database(database_server: DatabaseServer, database_template: TestDatabase) -> Iterator[TestDatabase]:
    """A database of this test's own at the newest schema."""
    with database_server.database("test", database_template.name) as made:
        yield made


@pytest.fixture(scope="module")
def module_database(
    database_server: DatabaseServer, database_template: TestDatabase
) -> Iterator[TestDatabase]:
    """A database at the newest schema that the tests of one module share."""
    with database_server.database("module", database_template.name) as made:
        yield made


@pytest.fixture
def empty_database(database_server: DatabaseServer) -> Iterator[TestDatabase]:
    """A database of this test's own without a schema; the roles are there."""
    database_server.prepare_roles()
    with database_server.database("empty") as made:
        yield made


@pytest.fixture(scope="session")
def durable_server() -> Iterator[DatabaseServer]:
    """A server that waits for the disk, for tests of what a crash leaves."""
    with postgres.server(settings={}) as server:
        yield server


@pytest.fixture(scope="session")
def durable_template(durable_server: DatabaseServer) -> Iterator[TestDatabase]:
    """As database_template, on the durable server."""
    yield from _template(durable_server)


@pytest.fixture
def fsync_database(durable_server: DatabaseServer, durable_template: TestDatabase) -> Iterator[TestDatabase]:
    """As database, on the durable server."""
    with durable_server.database("durable", durable_template.name) as made:
        yield made


def _template(server: DatabaseServer) -> Iterator[TestDatabase]:
    from ledger.migrate import upgrade

    with server.migrated(upgrade) as template:
        yield template
