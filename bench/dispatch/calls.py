"""The calls: each a model message of its own with one accepted WRITE, as a runtime releases it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from effects.strict_json import JSONValue
from effects.table import EffectTable
from gateway.turn.finished_call import FinishedCall, write_call
from gateway.turn.scanner import BlockScanner
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from gateway.wiring import utc_now
from ledger.change import Change
from ledger.state import StreamState

TOOL = "book"


def table(url: str) -> dict[str, JSONValue]:
    """The effect table of the bench: one WRITE at ``url``."""
    return {"tools": {TOOL: {"effect": "WRITE", "writes": ["seat:{seat}"], "upstream": {"http": url}}}}


@dataclass(frozen=True, slots=True)
class Calls:
    """Makes the decisions of one arm. What a gateway reads once is read once here too."""

    force: TableInForce
    scanner: BlockScanner

    @classmethod
    def to(cls, url: str) -> Self:
        """Calls to the tool at ``url``."""
        return cls(TableInForce(1, EffectTable.from_document(table(url))), BlockScanner())

    def released(self, number: int) -> Callable[[StreamState], Change]:
        """The decision that opens a stream, accepts its one call and releases it."""
        call = FinishedCall(tool=TOOL, arguments={"seat": number, "note": "window, please"}, last=True)

        def decide(state: StreamState) -> Change:
            unfolding = Unfolding(state, utc_now())
            write_call(unfolding, call, "bench", self.scanner, self.force)
            return unfolding.change()

        return decide
