"""Settings from the environment: names begin with ``COMMITGATE_`` (interface.md, "Start")."""

from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from gateway.upstream.local import LocalUpstreams
from gateway.upstream.secrets import Secrets

MIB = 1024 * 1024
NOTIFIED_POLL, PLAIN_POLL = 0.2, 0.05
"""Seconds between looks for released calls, with NOTIFY and without it."""


class Settings(BaseSettings):
    """What an operator can set. Durations in seconds, sizes in bytes.

    ``database_url`` unset: the embedded Postgres of ``home``. ``migration_database_url``: the owner's login, for
    ``db upgrade`` and ``db auditors`` only. ``reconciliation_database_url``: a login that only reads, for ``reconcile`` and
    ``ledger rebuild --check``; unset: the services' login. ``redaction_database_url``: the login that redacts, which no
    service may be. ``api_key``: the key under which commands call a gateway.
    ``secret_env``, ``secret_files``: what headers of effect tables may refer to: patterns of variables, and folders; several
    with commas between, ``{tenant}`` in them stands for the tenant. ``pgbouncer``: a pooler in transaction mode stands before
    the database, so nothing is prepared.
    ``wake``: how a dispatcher hears of what another process let go: ``notify`` (LISTEN on a connection of its own, and a
    slow poll) or ``poll`` alone; always ``poll`` behind a pooler. ``poll_seconds`` unset: as ``wake`` needs it.
    ``lease_seconds``: shortest lease of a dispatch; a tool's timeout plus ``lease_margin`` lengthens it.
    ``seal``: whether this process takes part in sealing the log, every ``seal_seconds``, and in signing for it, every
    ``checkpoint_seconds`` in which it grew; with the key in the file ``ledger_key`` (unset: in ``home``; all processes need
    the same), publishing to the folder ``checkpoints`` (unset: in ``home``). ``trace_content``: spans carry arguments and
    answers of calls, too. ``log_level``: what is logged at least; ``debug`` tells of every dispatch.
    ``local_upstreams``: whether effect tables may start commands, name Python functions and hold SQL: for every tenant, or for
    none; unset: for ``tenant`` alone.
    """

    model_config = SettingsConfigDict(env_prefix="COMMITGATE_", extra="ignore", frozen=True)

    home: Path = Field(default_factory=lambda: Path.home() / ".commitgate")
    database_url: str | None = None
    migration_database_url: str | None = None
    reconciliation_database_url: str | None = None
    redaction_database_url: str | None = None
    api_key: str | None = Field(default=None, repr=False)
    secret_env: str = "*"  # noqa: S105 - a pattern
    secret_files: str = "/"  # noqa: S105 - a folder
    pgbouncer: bool = False
    pool_size: int = Field(default=10, ge=1, le=200)
    tenant: str = Field(default="default", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    lease_seconds: float = Field(default=10.0, gt=0)
    lease_margin: float = Field(default=5.0, ge=0)
    sweep_seconds: float = Field(default=1.0, gt=0)
    wake: Literal["notify", "poll"] = "notify"
    poll_seconds: float | None = Field(default=None, gt=0)
    late_wait_seconds: float = Field(default=60.0, ge=0)
    idle_timeout: float = Field(default=600.0, gt=0)
    concurrency: int = Field(default=32, ge=1, le=1000)
    body_limit: int = Field(default=4 * MIB, ge=1024)
    seal: bool = True
    seal_seconds: float = Field(default=0.1, gt=0)
    checkpoint_seconds: float = Field(default=1.0, gt=0)
    ledger_key: Path | None = None
    checkpoints: Path | None = None
    trace_content: bool = False
    local_upstreams: bool | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @property
    def secrets(self) -> Secrets:
        """What headers of effect tables may refer to; never to what is this process's own."""
        own = (self.home, self.ledger_key_file)
        env, files = (tuple(part.split(",")) for part in (self.secret_env, self.secret_files))
        return Secrets(env, files, own)

    @property
    def local(self) -> LocalUpstreams:
        """Whose tables may run code here."""
        return LocalUpstreams(self.local_upstreams, self.tenant)

    @property
    def ledger_key_file(self) -> Path:
        """Where the log's signing key is; the verifier key lies beside it, with the suffix ``.pub``."""
        return self.ledger_key or self.home / "ledger.key"

    @property
    def checkpoints_folder(self) -> Path:
        """Where signed checkpoints are published, outside the database."""
        return self.checkpoints or self.home / "checkpoints"

    @property
    def notify(self) -> bool:
        """Whether NOTIFY and LISTEN are used; a pooler in transaction mode cannot carry LISTEN."""
        return self.wake == "notify" and not self.pgbouncer

    @property
    def poll_interval(self) -> float:
        """Seconds between looks for released calls: the safety net under NOTIFY, the only way without it."""
        if self.poll_seconds is not None:
            return self.poll_seconds
        return NOTIFIED_POLL if self.notify else PLAIN_POLL
