"""All that a front (HTTP, the command line) calls."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from gateway.service.approvals import Approvals
from gateway.service.braking import Braking
from gateway.service.doubts import Doubts
from gateway.service.finished_calls import FinishedCalls
from gateway.service.intents import Intents
from gateway.service.keyring import Keyring
from gateway.service.log import SealedLog
from gateway.service.streams import Streams
from gateway.service.tables import EffectTables
from ledger.sharding import StreamName


@dataclass(frozen=True, slots=True)
class Services:
    """The services of one gateway.

    ``ready()`` returns if the ledger can be used now, and raises what is wrong if not. ``heads``: the seq of each of some
    streams. ``metrics``: those of the process, in Prometheus' text format.
    """

    streams: Streams
    intents: Intents
    tables: EffectTables
    doubts: Doubts
    braking: Braking
    approvals: Approvals
    log: SealedLog
    finished_calls: FinishedCalls
    keyring: Keyring
    heads: Callable[[Collection[StreamName]], Mapping[StreamName, int]]
    ready: Callable[[], None]
    metrics: Callable[[], bytes]
