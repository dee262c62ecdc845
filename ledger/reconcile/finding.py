"""Findings: what reconciliation has to say about one call or one line of a tool's log."""

from dataclasses import dataclass
from enum import StrEnum


class FindingKind(StrEnum):
    """Every kind of finding (design.md, "Reconciliation"). The spelling is its stable code.

    ``orphan_effect``: a non-read was sent, and its block is not accepted. ``lost_effect``: accepted, nothing stood in
    its way, and it was not sent, or sent and left without an outcome. ``duplicate``: a WRITE that may have happened
    more than once. ``in_doubt``: it may or may not have happened, and nobody has said which. ``argument_mismatch``:
    what was sent is not what the accepted tokens spell. ``stale_read_final``: an answer was made final that had not
    seen an earlier conflicting call. ``key_divergence``: two records of one call disagree about what it belongs to.
    ``unknown_to_us``: in the tool's log only. ``missing_at_tool``: answered, as we recorded, and absent from a log
    that holds everything. ``late_evidence``: something came in after a person had resolved the doubt.
    ``unreadable_stream``: the recorded events do not follow one another, or are redacted; it could not be judged.
    """

    ORPHAN_EFFECT = "orphan_effect"
    LOST_EFFECT = "lost_effect"
    DUPLICATE = "duplicate"
    IN_DOUBT = "in_doubt"
    ARGUMENT_MISMATCH = "argument_mismatch"
    STALE_READ_FINAL = "stale_read_final"
    KEY_DIVERGENCE = "key_divergence"
    UNKNOWN_TO_US = "unknown_to_us"
    MISSING_AT_TOOL = "missing_at_tool"
    LATE_EVIDENCE = "late_evidence"
    UNREADABLE_STREAM = "unreadable_stream"


class Severity(StrEnum):
    """``violation``: a promise is broken. ``attention``: a person has to look and decide."""

    VIOLATION = "violation"
    ATTENTION = "attention"


_FOR_A_PERSON = frozenset(
    {
        FindingKind.IN_DOUBT,
        FindingKind.LATE_EVIDENCE,
        FindingKind.MISSING_AT_TOOL,
        FindingKind.UNREADABLE_STREAM,
    }
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. ``seq``: the event it hangs on. ``log_line``: line of the tool's log, from 1.

    ``tenant`` is None for a line of a tool's log that belongs to nobody, ``commit_key`` where that line names none,
    ``intent_id`` where no intent was ever held.
    """

    kind: FindingKind
    tenant: str | None
    commit_key: str | None
    intent_id: str | None
    seq: int | None
    detail: str
    tool: str | None = None
    log_line: int | None = None

    @property
    def severity(self) -> Severity:
        """How bad it is; follows from the kind."""
        return Severity.ATTENTION if self.kind in _FOR_A_PERSON else Severity.VIOLATION

    def to_json(self) -> dict[str, str | int | None]:
        """Its fields as JSON values, ``severity`` among them."""
        return {
            "kind": self.kind.value,
            "severity": self.severity.value,
            "tenant": self.tenant,
            "commit_key": self.commit_key,
            "intent_id": self.intent_id,
            "seq": self.seq,
            "tool": self.tool,
            "log_line": self.log_line,
            "detail": self.detail,
        }
