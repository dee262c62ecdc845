"""The policy of an effect table: how strictly calls wait for each other (design.md, "Order, freshness,
finality").
"""

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictInt

DEFAULT_EARLY_READS = 4
"""Early reads that one commit key may have outstanding where the table does not say."""


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
    """One policy for all tools of the table.

    ``early_reads``: how many early reads one commit key may have outstanding (let go and not answered); 0: none is sent.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    write_order: WriteOrder = WriteOrder.STRICT
    reads_behind_writes: ReadsBehindWrites = ReadsBehindWrites.HOLD
    early_reads: Annotated[StrictInt, Field(ge=0, le=1000)] = DEFAULT_EARLY_READS
