"""What can go wrong with the embedded Postgres.

    EmbeddedPostgresError            embedded_postgres
    ├── BinariesNotFoundError        embedded_binaries_not_found
    ├── BinariesUnusableError        embedded_binaries_unusable
    ├── NoServerAccountError         embedded_no_server_account
    ├── FolderUnusableError          embedded_folder_unusable
    ├── DataVersionError             embedded_data_version_mismatch
    ├── BadSettingError              embedded_bad_setting
    ├── InitFailedError              embedded_init_failed
    ├── ServerStartError             embedded_start_failed
    ├── StartTimeoutError            embedded_start_timed_out
    └── NotStartedError              embedded_not_started

Every class carries a stable `code`; the message says what to do about it.
"""

from __future__ import annotations

from pathlib import Path

TAIL_LINES = 15


class EmbeddedPostgresError(Exception):
    """The embedded Postgres cannot be had."""

    code: str = "embedded_postgres"


class BinariesNotFoundError(EmbeddedPostgresError):
    """No Postgres executables are on this machine."""

    code = "embedded_binaries_not_found"


class BinariesUnusableError(EmbeddedPostgresError):
    """Postgres executables are there, and the server's account cannot run them."""

    code = "embedded_binaries_unusable"


class NoServerAccountError(EmbeddedPostgresError):
    """Root has no account to step down to: Postgres refuses to run as root."""

    code = "embedded_no_server_account"


class FolderUnusableError(EmbeddedPostgresError):
    """The data folder cannot be made, written or entered."""

    code = "embedded_folder_unusable"


class DataVersionError(EmbeddedPostgresError):
    """The data was made by another major version of Postgres."""

    code = "embedded_data_version_mismatch"


class BadSettingError(EmbeddedPostgresError):
    """A server setting has a name that cannot be one, or one that the launcher owns."""

    code = "embedded_bad_setting"


class InitFailedError(EmbeddedPostgresError):
    """A new cluster could not be made."""

    code = "embedded_init_failed"


class ServerStartError(EmbeddedPostgresError):
    """The server ended before it was ready."""

    code = "embedded_start_failed"


class StartTimeoutError(EmbeddedPostgresError):
    """The server was not ready in time."""

    code = "embedded_start_timed_out"


class NotStartedError(EmbeddedPostgresError):
    """A URL was asked of a hold that is not open."""

    code = "embedded_not_started"


def by_code(code: str, message: str) -> EmbeddedPostgresError:
    """The error that a guardian reported; the base class where the code is unknown."""
    for kind in EmbeddedPostgresError.__subclasses__():
        if kind.code == code:
            return kind(message)
    return EmbeddedPostgresError(message)


def log_tail(log: Path) -> str:
    """The last lines of a log as an indented block, or a note that there is none. Never raises."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL_LINES:]
    except OSError as error:
        return f"  (no log: {error})"
    return indented("\n".join(lines)) or "  (the log is empty)"


def indented(text: str) -> str:
    """The last lines of `text`, each indented by two blanks."""
    return "\n".join(f"  {line}" for line in text.strip().splitlines()[-TAIL_LINES:])
