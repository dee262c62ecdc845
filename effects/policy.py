"""The policy of an effect table: how strictly calls wait for each other (design.md, "Order, freshness,
finality").
"""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class WriteOrder(StrEnum):
    """What a call that is not READ_ONLY waits for.

    ``STRICT``: every earlier call that is not READ_ONLY, and every earlier conflicting call. ``FOOTPRINT``:
    the conflicting ones only.
    """

    STRICT = "strict"
    FOOTPRINT = "footprint"


class ReadsBehindWrites(StrEnum):
    """Whether a read may be sent before an earlier conflicting write is terminal.

    ``HOLD``: no. ``SEND``: while its block is undecided; its answer is then sent for again.
    """

    HOLD = "hold"
    SEND = "send"


class Policy(BaseModel):
    """One policy for all tools of the table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    write_order: WriteOrder = WriteOrder.STRICT
    reads_behind_writes: ReadsBehindWrites = ReadsBehindWrites.HOLD
