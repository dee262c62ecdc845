"""All that a front (HTTP, the command line) calls."""

from collections.abc import Callable
from dataclasses import dataclass

from gateway.service.doubts import Doubts
from gateway.service.intents import Intents
from gateway.service.streams import Streams
from gateway.service.tables import EffectTables


@dataclass(frozen=True, slots=True)
class Services:
    """The services of one gateway. ``ready()`` returns if the ledger can be used now, and raises what is wrong if not."""

    streams: Streams
    intents: Intents
    tables: EffectTables
    doubts: Doubts
    ready: Callable[[], None]
