"""Who keeps the server running, and what any kill -9 leaves: real processes throughout."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import psycopg
import pytest

from gateway.embedded import EmbeddedPostgres, locks
from gateway.embedded.errors import NotStartedError
from tests.gateway.embedded.conftest import NewUser
from tests.gateway.embedded.processes import eventually, nothing_left, processes_of
from tests.postgres import libpq

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/cmdline").exists(), reason="needs /proc to see processes"
)


def test_server_lives_until_the_last_user_is_killed(warm_home: Path, new_user: NewUser) -> None:
    first = new_user(warm_home)
    started = first.joined()
    second = new_user(warm_home)
    joined = second.joined()
    assert (joined.server, joined.guardian) == (started.server, started.guardian)

    first.kill()
    assert second.queries()
    assert processes_of(joined.root) != []  # the control: the checker sees a server that runs

    second.kill()
    assert nothing_left(joined.root, timeout_s=5.0)


def test_close_of_the_last_user_returns_when_the_server_is_gone(warm_home: Path) -> None:
    first, second = EmbeddedPostgres(warm_home), EmbeddedPostgres(warm_home)
    with second:
        with first:
            root = first.folder.root
        assert len(processes_of(root)) >= 2
        with psycopg.connect(libpq(second.service_url)) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
    assert processes_of(root) == []
    assert not (root / "server.json").exists()


def test_data_survives_the_server(warm_home: Path) -> None:
    with EmbeddedPostgres(warm_home) as postgres, psycopg.connect(libpq(postgres.owner_url)) as connection:
        connection.execute("create table kept as select 7 as seven")
    with EmbeddedPostgres(warm_home) as postgres, psycopg.connect(libpq(postgres.owner_url)) as connection:
        assert connection.execute("select seven from kept").fetchone() == (7,)


def test_users_that_start_at_once_share_one_server(home: Path, new_user: NewUser) -> None:
    users = [new_user(home) for _ in range(4)]
    joined = [user.joined() for user in users]
    assert len({(one.server, one.guardian) for one in joined}) == 1
    assert all(user.queries() for user in users)
    assert set(processes_of(joined[0].root)) == {joined[0].server, joined[0].guardian}


def test_interrupt_of_one_user_spares_the_server_of_others(warm_home: Path, new_user: NewUser) -> None:
    first = new_user(warm_home)
    started = first.joined()
    second = new_user(warm_home)
    second.joined()
    assert os.getsid(started.guardian) != os.getsid(first.process.pid)

    os.killpg(first.process.pid, signal.SIGINT)  # what a terminal does on Ctrl-C
    first.process.wait(60)
    assert second.queries()
    assert started.server in processes_of(started.root)


def test_killed_guardian_takes_the_server_along_and_the_next_user_starts_anew(
    warm_home: Path, new_user: NewUser
) -> None:
    first = new_user(warm_home)
    started = first.joined()
    os.kill(started.guardian, signal.SIGKILL)
    assert nothing_left(started.root)
    assert (Path(started.root) / "server.json").exists()  # stale now

    second = new_user(warm_home)
    joined = second.joined()
    assert joined.server != started.server
    assert second.queries()


def test_killed_server_ends_the_guardian_and_the_next_user_starts_anew(
    warm_home: Path, new_user: NewUser
) -> None:
    first = new_user(warm_home)
    started = first.joined()
    os.kill(started.server, signal.SIGKILL)

    second = new_user(warm_home)
    assert second.joined().server != started.server
    assert second.queries()


def test_user_killed_while_it_starts_the_server_leaves_nothing_behind(home: Path, new_user: NewUser) -> None:
    first = new_user(home)
    root = home / "postgres"
    assert eventually(lambda: any(root.glob("making-*/data/base")))
    first.kill()
    assert nothing_left(root)

    second = new_user(home)
    second.joined()
    assert second.queries()


def test_guardian_killed_while_it_makes_the_cluster_is_reported_and_made_good(
    home: Path, new_user: NewUser
) -> None:
    first = new_user(home)
    root = home / "postgres"
    assert eventually(lambda: any(root.glob("making-*/data/base")))
    guardian = [pid for pid in processes_of(root) if b"gateway.embedded.guardian" in _command(pid)]
    os.kill(guardian[0], signal.SIGKILL)
    assert first.hear()["code"] == "embedded_start_failed"

    second = new_user(home)
    second.joined()
    assert second.queries()


def test_user_that_arrives_while_the_server_ends_gets_a_new_one(warm_home: Path, new_user: NewUser) -> None:
    with EmbeddedPostgres(warm_home) as postgres:
        before, folder = postgres.server.server_pid, postgres.folder
    hold = EmbeddedPostgres(warm_home).open()
    last = hold.server
    assert last.server_pid != before
    assert hold._users is not None
    hold._users.unlock()  # the last user lets go, and does not wait
    assert eventually(lambda: not folder.notice.exists())
    late = new_user(warm_home)
    assert late.joined().server != last.server_pid
    assert late.queries()
    hold._let_go()


def test_nobody_who_comes_and_goes_in_a_hurry_is_left_without_a_server(
    warm_home: Path, new_user: NewUser
) -> None:
    """Closing and joining at the same moment, again and again: every user that has joined can query."""
    for _ in range(5):
        going, coming = new_user(warm_home), new_user(warm_home)
        going.joined()
        going.process.stdin.write(b"close\n")  # type: ignore[union-attr]
        going.process.stdin.flush()  # type: ignore[union-attr]
        coming.joined()
        assert coming.queries()
        going.hear()
        coming.kill()


def test_machine_restart_leaves_stale_files_and_the_next_start_copes(warm_home: Path) -> None:
    """A notice, a pid file that names a living stranger, no locks: what a power cut and reused pids leave."""
    with EmbeddedPostgres(warm_home) as postgres:
        folder, notice = postgres.folder, postgres.server
        pid_file = (folder.data / "postmaster.pid").read_text()
    notice.write(folder.notice)
    stranger = subprocess.Popen(["sleep", "60"], user=folder.account.user)
    path = folder.data / "postmaster.pid"
    path.write_text(pid_file.replace(str(notice.server_pid), str(stranger.pid), 1))
    os.chown(path, folder.account.uid, folder.account.gid)
    try:
        with EmbeddedPostgres(warm_home) as postgres:
            assert postgres.server.server_pid not in (notice.server_pid, stranger.pid)
            assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_urls_are_there_only_while_it_is_open(warm_home: Path) -> None:
    postgres = EmbeddedPostgres(warm_home)
    with pytest.raises(NotStartedError):
        _ = postgres.service_url
    with postgres:
        assert postgres.service_url.startswith("postgresql+psycopg://commitgate_app@/commitgate?host=/")
        guardian_lock = postgres.folder.guardian_lock
        assert locks.is_held(guardian_lock)
    assert not locks.is_held(guardian_lock)
    with pytest.raises(NotStartedError):
        _ = postgres.service_url
    postgres.close()


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
