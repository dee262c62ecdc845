"""Where accepted tokens spell calls, for reconciliation: the ledger does not know how calls are spelled."""

from collections.abc import Sequence

from decoding.calls.block import Block
from decoding.calls.formats import UnknownFormat, detector_for
from decoding.calls.scan import scan


def find_blocks(format_: str, texts: Sequence[str]) -> tuple[Block, ...] | None:
    """The closed blocks in a branch's tokens; None for a format that this gateway cannot read."""
    try:
        detector = detector_for(format_)
    except UnknownFormat:
        return None
    return scan(detector, texts)
