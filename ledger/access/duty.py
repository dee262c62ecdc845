"""The duties: what a login may be trusted with, one group role of the database for each."""

from enum import StrEnum

SERVICE_ROLE = "commitgate_service"
"""The group role of a process that does everything: it holds every duty of a service and no grant of its own."""


class Duty(StrEnum):
    """One kind of work. What each may do to each table stands under ``migrations/sql/grants``."""

    WRITER = "writer"
    """Appends what decoders, runtimes and operators say; may not grant a licence to dispatch."""

    DISPATCHER = "dispatcher"
    """Grants licences to dispatch, moves their leases, appends outcomes."""

    SEALER = "sealer"
    """Gives events their places in the log and signs checkpoints."""

    RECONCILER = "reconciler"
    """Reads everything that was recorded; writes nothing."""

    AUDITOR = "auditor"
    """Reads the views of schema ``audit``, of its own tenant alone (``ledger.access.auditors``)."""

    MIGRATOR = "migrator"
    """Owns the schemas and upgrades them. No process that serves has it."""

    REDACTOR = "redactor"
    """Takes payload and salt from events, and nothing else. Apart from every service."""

    @property
    def role(self) -> str:
        """Name of the group role whose members have this duty."""
        return f"commitgate_{self.value}"


SERVICE_DUTIES = frozenset({Duty.WRITER, Duty.DISPATCHER, Duty.SEALER, Duty.RECONCILER})
"""What members of ``commitgate_service`` may do, and the most that the login of a service may hold."""
