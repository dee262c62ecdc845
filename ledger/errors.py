"""What can go wrong in the ledger. ``code`` is stable and stands for the class outside of Python.

LedgerError                     ledger_error
├── BadDatabaseUrl              bad_database_url
├── UnsafeLogin                 unsafe_database_login
├── MissingPrivileges           missing_database_privileges
├── UnknownLogin                unknown_login
├── NotAnAuditor                not_an_auditor
├── UnfitAuditor                unfit_auditor
├── SchemaOutdated              schema_outdated
├── LedgerUnavailable           ledger_unavailable
│   └── StatementsBroken        statements_broken
├── UnreadableStream            stream_unreadable
│   └── BrokenHistory           broken_history
├── UnwritableValue             unwritable_value
├── AppendContention            append_contention
├── OutcomeUnknown              commit_outcome_unknown
├── BatchIdTaken                batch_id_taken
├── LeaseLost                   lease_lost
├── ToolLogRefused              tool_log_refused
├── BadCursor                   bad_cursor
├── UnknownTenant               unknown_tenant
├── UnknownEvent                unknown_event
├── NotSealed                   not_sealed
├── LogForked                   log_forked
├── LogMissing                  log_missing
├── RedactionRefused            redaction_refused
│   ├── ReservedStream          redaction_reserved_stream
│   ├── NotRecorded             redaction_not_recorded
│   ├── StreamNotOver           redaction_stream_not_over
│   └── IntentNotOver           redaction_intent_not_over
├── EvidenceRefused             evidence_refused
│   ├── KeyRefused              ledger_key_refused
│   ├── NoteRefused             note_refused
│   ├── CheckpointRefused       checkpoint_refused
│   ├── ProofRefused            proof_refused
│   ├── TilesBroken             tiles_broken
│   ├── KeptRefused             kept_checkpoint_refused
│   └── ExportRefused           export_refused
└── LicenceRefused              speculative_effect_violation
"""

from collections.abc import Sequence
from typing import ClassVar


class LedgerError(Exception):
    """The ledger could not do what was asked; nothing of it was written unless the class says otherwise."""

    code: ClassVar[str] = "ledger_error"


class BadDatabaseUrl(LedgerError):
    """The database URL cannot be read, or names another database than PostgreSQL through psycopg."""

    code = "bad_database_url"


class UnsafeLogin(LedgerError):
    """The login could change what is recorded, so a service must not run under it."""

    code = "unsafe_database_login"

    def __init__(self, login: str, reasons: Sequence[str]) -> None:
        """``reasons``: each power that a service's login must not have."""
        super().__init__(
            f"database login {login!r} {', '.join(reasons)}; services need a login that has "
            "nothing but membership of commitgate_service, or of the groups of its duties"
        )
        self.login = login
        self.reasons = tuple(reasons)


class MissingPrivileges(LedgerError):
    """The login cannot do the work of its process: it is not a member of the duty's group."""

    code = "missing_database_privileges"

    def __init__(self, login: str, roles: Sequence[str]) -> None:
        """``roles``: the groups that it would have to be a member of."""
        super().__init__(
            f"database login {login!r} is not a member of {', '.join(roles)}"
            " (commitgate_service holds every duty of a service)"
        )
        self.login = login
        self.roles = tuple(roles)


class UnknownLogin(LedgerError):
    """No role of the database has this name."""

    code = "unknown_login"

    def __init__(self, login: str) -> None:
        """``login``: the name that was given."""
        super().__init__(f"no role of the database is called {login!r}: CREATE ROLE ... LOGIN comes first")
        self.login = login


class NotAnAuditor(LedgerError):
    """The login is no auditor of any tenant."""

    code = "not_an_auditor"

    def __init__(self, login: str) -> None:
        """``login``: the name that was given."""
        super().__init__(f"login {login!r} is no auditor")
        self.login = login


class UnfitAuditor(LedgerError):
    """The login sees more than one tenant's rows, whatever it is shown: it would be an auditor in name alone."""

    code = "unfit_auditor"

    def __init__(self, login: str, reasons: Sequence[str]) -> None:
        """``reasons``: each power that an auditor must not have."""
        super().__init__(
            f"login {login!r} {', '.join(reasons)}, so it sees every tenant; an auditor needs a login of its own,"
            " with nothing but membership of commitgate_auditor"
        )
        self.login = login
        self.reasons = tuple(reasons)


class SchemaOutdated(LedgerError):
    """The newest migration is not applied to this database."""

    code = "schema_outdated"

    def __init__(self, current: str | None, head: str) -> None:
        """``current``: revision of the database, None where it has none; ``head``: the one that is needed."""
        super().__init__(
            f"the database schema is at {current or 'no revision'}, {head} is needed: "
            "run `commitgate db upgrade`"
        )
        self.current = current
        self.head = head


class LedgerUnavailable(LedgerError):
    """The database does not answer, or the connection broke before COMMIT. Nothing is written; try again."""

    code = "ledger_unavailable"


class StatementsBroken(LedgerUnavailable):
    """The connection broke while a tool's statements ran; it may be they that broke it. Nothing of them is left."""

    code = "statements_broken"


class UnreadableStream(LedgerError):
    """The events of a stream cannot be read as one story: somebody wrote past the ledger. Other streams are as they were."""

    code = "stream_unreadable"

    def __init__(self, commit_key: str, why: str) -> None:
        """``why``: what does not fit, in a few words."""
        super().__init__(f"stream {commit_key!r} cannot be read: {why}")
        self.commit_key = commit_key
        self.why = why


class BrokenHistory(UnreadableStream):
    """The events of a stream do not follow one another: one is missing, or was given twice."""

    code = "broken_history"

    def __init__(self, commit_key: str, *, expected: int, found: int) -> None:
        """``expected``: seq that had to come next; ``found``: the one that came."""
        super().__init__(commit_key, f"event {expected} has to come next, found {found}")
        self.expected = expected
        self.found = found


class UnwritableValue(LedgerError):
    """A value has no canonical JSON (RFC 8785), or holds what a text column cannot (NUL)."""

    code = "unwritable_value"


class AppendContention(LedgerError):
    """Other writers of the stream were faster, too many times in a row."""

    code = "append_contention"


class OutcomeUnknown(LedgerError):
    """The connection was lost at COMMIT and could not be asked about since: written or not, nobody knows."""

    code = "commit_outcome_unknown"


class BatchIdTaken(LedgerError):
    """A batch of this name is recorded already: answer from it (``Ledger.batch``)."""

    code = "batch_id_taken"


class LeaseLost(LedgerError):
    """The lease is no longer held under this epoch: somebody else decided what becomes of the dispatch."""

    code = "lease_lost"

    def __init__(self, intent_id: str, attempt: int, epoch: int) -> None:
        """``epoch``: the one that was expected to hold."""
        super().__init__(f"lease of {intent_id} attempt {attempt} is not held under epoch {epoch}")
        self.intent_id = intent_id
        self.attempt = attempt
        self.epoch = epoch


class ToolLogRefused(LedgerError):
    """A tool's log cannot be read as one: the file, or a line of it."""

    code = "tool_log_refused"

    def __init__(self, path: str, reason: str, line: int | None = None) -> None:
        """``line``: from 1; None where the file as a whole is meant."""
        place = path if line is None else f"{path}, line {line}"
        super().__init__(f"tool log {place}: {reason}")
        self.path = path
        self.reason = reason
        self.line = line


class BadCursor(LedgerError):
    """Text that no run of reconciliation gave as its cursor."""

    code = "bad_cursor"


class UnknownTenant(LedgerError):
    """No event of this tenant is recorded."""

    code = "unknown_tenant"

    def __init__(self, tenant: str) -> None:
        """``tenant``: the name that was given."""
        super().__init__(f"no event of a tenant {tenant!r} is recorded")
        self.tenant = tenant


class UnknownEvent(LedgerError):
    """The stream has no event with this seq."""

    code = "unknown_event"

    def __init__(self, commit_key: str, seq: int) -> None:
        """``seq``: the one that was asked for."""
        super().__init__(f"stream {commit_key!r} has no event {seq}")
        self.commit_key = commit_key
        self.seq = seq


class NotSealed(LedgerError):
    """An event has no place in the log yet, or none that is signed for."""

    code = "not_sealed"


class LogForked(LedgerError):
    """The log is not an extension of what was signed before: it was taken back or rewritten. Nothing is signed."""

    code = "log_forked"

    def __init__(self, origin: str, size: int, where: str) -> None:
        """``size``: that of the checkpoint that does not fit; ``where`` it stands."""
        super().__init__(f"the log {origin} does not extend its checkpoint of size {size} in {where}")
        self.origin = origin
        self.size = size


class LogMissing(LedgerError):
    """The row is gone that says what the log is called and how far it goes. Nothing that is sealed can be told by it."""

    code = "log_missing"

    def __init__(self) -> None:
        """See the class."""
        super().__init__("the row of the log is gone: somebody deleted it; restore a backup")


class RedactionRefused(LedgerError):
    """What is asked for cannot be redacted, or not yet; nothing was taken away."""

    code = "redaction_refused"


class ReservedStream(RedactionRefused):
    """A stream of the ledger's own holds no text of a model or a tool."""

    code = "redaction_reserved_stream"


class NotRecorded(RedactionRefused):
    """There is no such stream, or no such intent in it."""

    code = "redaction_not_recorded"


class StreamNotOver(RedactionRefused):
    """The stream is not finished: what it still says would be held against what is gone."""

    code = "redaction_stream_not_over"


class IntentNotOver(RedactionRefused):
    """An intent whose text would go is not final, voided, refused or denied. In doubt is not over."""

    code = "redaction_intent_not_over"


class EvidenceRefused(LedgerError):
    """Something that should prove what the log holds cannot be read, or does not prove it."""

    code = "evidence_refused"


class KeyRefused(EvidenceRefused):
    """Text that is no signing key or verifier key of the log, or whose key hash does not fit the key."""

    code = "ledger_key_refused"


class NoteRefused(EvidenceRefused):
    """A signed note cannot be read, or no good signature of the wanted key stands under it."""

    code = "note_refused"


class CheckpointRefused(EvidenceRefused):
    """The text of a note is no checkpoint."""

    code = "checkpoint_refused"


class ProofRefused(EvidenceRefused):
    """A proof does not lead to the root that it should prove, or cannot exist for these sizes."""

    code = "proof_refused"


class TilesBroken(EvidenceRefused):
    """A tile holds fewer hashes than a log of that size must have."""

    code = "tiles_broken"

    def __init__(self, level: int, tile: int, *, needed: int, found: int) -> None:
        """``needed`` and ``found``: numbers of hashes."""
        super().__init__(f"tile {tile} of level {level} holds {found} hashes, {needed} are needed")
        self.level = level
        self.tile = tile
        self.found = found


class KeptRefused(EvidenceRefused):
    """What should be checkpoints that were kept outside is none, or there is none of them."""

    code = "kept_checkpoint_refused"


class ExportRefused(EvidenceRefused):
    """A line of an exported log has no form that the format knows, or is written out of order."""

    code = "export_refused"

    def __init__(self, message: str, index: int | None = None) -> None:
        """``index``: of the event that cannot be written; None where something else is meant."""
        super().__init__(message)
        self.index = index


class LicenceRefused(LedgerError):
    """The database refused a dispatch that contradicts the rule; ``constraint`` names what it contradicts."""

    code = "speculative_effect_violation"

    def __init__(self, message: str, constraint: str) -> None:
        """``constraint``: name of the constraint, or of the check of the licence trigger, that refused."""
        super().__init__(message)
        self.constraint = constraint
