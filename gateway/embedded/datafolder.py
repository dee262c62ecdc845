"""The data folder of a home: where the cluster, its locks and its logs lie.

`<home>/postgres`; or, where root steps down to an account that cannot enter the home,
`/var/lib/commitgate/<digest of the home>`, named by a pointer file in the home. No mode of a folder that was
there before is changed.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gateway.embedded.account import ServerAccount, server_account
from gateway.embedded.errors import FolderUnusableError

HOME_SETTING = "COMMITGATE_HOME"
FALLBACK = Path("/var/lib/commitgate")
POINTER = "postgres.location"


@dataclass(frozen=True)
class DataFolder:
    """The places in one data folder, and the account that owns its data."""

    root: Path
    account: ServerAccount

    @property
    def data(self) -> Path:
        """The cluster itself; there only once it is complete."""
        return self.root / "data"

    @property
    def software(self) -> Path:
        """Copies of executables that the account cannot reach where they are installed."""
        return self.root / "software"

    @property
    def socket(self) -> Path:
        """The folder of the server's socket, where its path is short enough."""
        return self.root / "socket"

    @property
    def users_lock(self) -> Path:
        """Held shared by every user of the server, alone by a guardian that is ending it."""
        return self.root / "users.lock"

    @property
    def start_lock(self) -> Path:
        """Held alone by the user that finds or starts the guardian."""
        return self.root / "start.lock"

    @property
    def guardian_lock(self) -> Path:
        """Held alone by the guardian for as long as it lives."""
        return self.root / "guardian.lock"

    @property
    def notice(self) -> Path:
        """Where the server listens, while it does."""
        return self.root / "server.json"

    @property
    def server_log(self) -> Path:
        """What the server says."""
        return self.root / "postgres.log"

    @property
    def guardian_log(self) -> Path:
        """What the guardian says."""
        return self.root / "guardian.log"


def default_home(environ: Mapping[str, str] = os.environ) -> Path:
    """COMMITGATE_HOME, else `~/.commitgate`."""
    return Path(environ.get(HOME_SETTING) or "~/.commitgate").expanduser()


def locate(home: Path, fallback: Path = FALLBACK) -> DataFolder:
    """The data folder of `home`, made where it is missing.

    Raises FolderUnusableError where it cannot be made, written or entered, NoServerAccountError where root
    has nobody to step down to.
    """
    home = home.expanduser().resolve()
    _make(home)
    inside, pointer = home / "postgres", home / POINTER
    told = _read_pointer(pointer)
    owner = _owner((told or inside) / "data")
    account = server_account(owner)
    if told is not None:
        return _ready(DataFolder(told, account))
    if not account.steps_down or account.can_enter(home):
        return _ready(DataFolder(inside, account))
    if owner is not None:
        raise FolderUnusableError(
            f"there is data in {inside}, and the account {account.name!r} that runs the server cannot enter"
            f" {home}"
        )
    _make(fallback, 0o755)
    folder = _ready(DataFolder(fallback / _digest(home), account))
    _write_pointer(pointer, folder.root)
    return folder


def _ready(folder: DataFolder) -> DataFolder:
    _make(folder.root, 0o711 if folder.account.steps_down else 0o700)
    if not os.access(folder.root, os.W_OK | os.X_OK):
        raise FolderUnusableError(
            f"the folder {folder.root} is not writable; set {HOME_SETTING} to one that is"
        )
    patience = time.monotonic() + 1.0  # another user may be between making the folder and opening it
    while not folder.account.can_enter(folder.root):
        if time.monotonic() > patience:
            raise FolderUnusableError(
                f"the account {folder.account.name!r} that runs the server cannot enter {folder.root}; set"
                f" {HOME_SETTING} to a folder that it can enter"
            )
        time.sleep(0.05)
    return folder


def _make(folder: Path, mode: int | None = None) -> None:
    """Make a folder, with this mode whatever the umask says; one that is there stays as it is."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(exist_ok=False)
        if mode is not None:
            folder.chmod(mode)
    except FileExistsError:
        if not folder.is_dir():
            raise FolderUnusableError(f"{folder} is there and is not a folder") from None
    except OSError as error:
        raise FolderUnusableError(
            f"the folder {folder} cannot be made: {error.strerror}; set {HOME_SETTING} to a folder"
            " that can be written"
        ) from error


def _owner(data: Path) -> int | None:
    try:
        return data.stat().st_uid
    except OSError:
        return None


def _digest(home: Path) -> str:
    return hashlib.sha256(os.fsencode(home)).hexdigest()[:16]


def _read_pointer(pointer: Path) -> Path | None:
    try:
        text = pointer.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise FolderUnusableError(f"the pointer file {pointer} cannot be read: {error}") from error
    if not Path(text).is_absolute():
        raise FolderUnusableError(
            f"the pointer file {pointer} names no absolute path; remove it to begin anew"
        )
    return Path(text)


def _write_pointer(pointer: Path, root: Path) -> None:
    draft = pointer.with_name(f"{POINTER}.{os.getpid()}")
    try:
        draft.write_text(f"{root}\n", encoding="utf-8")
        draft.replace(pointer)
    except OSError as error:
        raise FolderUnusableError(
            f"the pointer file {pointer} cannot be written: {error.strerror}"
        ) from error
