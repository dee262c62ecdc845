"""What a demonstration counted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateway.demo.evidence import Evidence
from gateway.demo.logcheck import LogCheck

if TYPE_CHECKING:
    from decoding.turn import DraftCounts
    from ledger.reconcile.summary import Summary as Reconciled


@dataclass(slots=True)
class Tokens:
    """A drafter's tokens over all turns: ``drafted == accepted + rejected + unreached``.

    ``rejected``: differed from the target's own; ``unreached``: stood behind one that did.
    """

    drafted: int = 0
    accepted: int = 0
    rejected: int = 0
    unreached: int = 0

    def add(self, counts: "DraftCounts") -> None:
        """Count one message."""
        self.drafted += counts.drafted
        self.accepted += counts.accepted
        self.rejected += counts.rejected
        self.unreached += counts.unreached

    def to_json(self) -> dict[str, int]:
        """The counts."""
        return {
            "drafted": self.drafted,
            "accepted": self.accepted,
            "rejected": self.rejected,
            "unreached": self.unreached,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Everything that is counted at the end.

    ``refused``: calls that the gateway would not send. ``evidence``: None where this run did not seal.
    """

    turns: int
    messages: int
    tokens: Mapping[str, Tokens]
    refused: int
    reconciled: "Reconciled"
    log: LogCheck
    evidence: Evidence | None
    seconds: float
    kept: Mapping[str, str] = field(default_factory=dict)

    @property
    def anomalies(self) -> int:
        """Findings of reconciliation, contradictions of the shop's own log, and a ledger that does not verify."""
        forged = self.evidence is not None and self.evidence.fault is not None
        return sum(self.reconciled.findings.values()) + len(self.log.mismatches) + forged

    def never_seen(self) -> list[str]:
        """Names of counters that are zero, other than anomalies."""
        counts: dict[str, int] = {}
        for drafter, tokens in self.tokens.items():
            told = tokens.to_json()
            counts |= {
                f"tokens {name} ({drafter})": told[name] for name in ("drafted", "accepted", "rejected")
            }
        counts |= {f"blocks {name}": count for name, count in self._blocks().items()}
        counts |= {f"early reads {name}": count for name, count in self._early_reads().items()}
        counts["writes"] = self.log.writes
        return [name for name, count in counts.items() if not count]

    def to_json(self) -> dict[str, Any]:
        """All counts as JSON values."""
        return {
            "turns": self.turns,
            "messages": self.messages,
            "tokens": {drafter: tokens.to_json() for drafter, tokens in self.tokens.items()},
            "blocks": self._blocks(),
            "early_reads": self._early_reads(),
            "writes": {
                "sent": self.log.writes,
                "exactly_once": self.log.exactly_once,
                "refused_by_shop": self.log.refused,
            },
            "refused": self.refused,
            "sealed": None if self.evidence is None else self.evidence.to_json(),
            "findings": dict(self.reconciled.findings),
            "mismatches": list(self.log.mismatches),
            "anomalies": self.anomalies,
            "seconds": round(self.seconds, 1),
            **({"kept": dict(self.kept)} if self.kept else {}),
        }

    def _blocks(self) -> dict[str, int]:
        return {"cleared": self.reconciled.blocks_cleared, "voided": self.reconciled.blocks_voided}

    def _early_reads(self) -> dict[str, int]:
        found = self.reconciled
        return {
            "used": found.early_used,
            "wasted": found.early_wasted,
            "stale": found.early_stale,
            "adopted": found.early_adopted,
        }
