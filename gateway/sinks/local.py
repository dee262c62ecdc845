"""The event sink over the services of this process."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from decoding.errors import SinkError
from decoding.sink import Ack, Opened, TokenEvent
from gateway.errors import GatewayError
from gateway.principal import Principal
from gateway.service.streams import Streams
from gateway.sinks.ordered import OrderedDelivery
from gateway.turn.opening import StreamTerms
from gateway.wire.tokens import WriteEvents
from ledger.errors import LedgerError


class LocalSink:
    """Writes one branch of one stream through ``streams``, without HTTP."""

    def __init__(
        self,
        streams: Streams,
        caller: Principal,
        commit_key: str,
        terms: StreamTerms,
        *,
        branch: str = "main",
    ) -> None:
        self._streams = streams
        self._caller = caller
        self._commit_key = commit_key
        self._terms = terms
        self._branch = branch
        self._epoch = 0
        self._delivery = OrderedDelivery(self._deliver)

    def open(self) -> Opened:
        """Open or take over the stream. Raises ``SinkError`` with the gateway's code if it refuses."""
        with _refusals():
            self._streams.open(self._caller, self._commit_key, self._terms)
            state = self._streams.state(self._caller, self._commit_key)
        self._epoch = state.writer_epoch
        branch = state.branches[self._branch]
        known = tuple(id_ for id_ in branch.accepted.ids if id_ is not None)
        return Opened(state.writer_epoch, branch.head, branch.round, known, branch.text)

    def submit(self, batch: Sequence[TokenEvent]) -> Ack:
        """Queue one batch behind the ones before."""
        return self._delivery.submit(batch)

    def close(self) -> None:
        """Deliver what is queued."""
        self._delivery.close()

    def _deliver(self, batch: Sequence[TokenEvent], batch_id: str) -> int:
        body = {"writer_epoch": self._epoch, "events": [dict(event) for event in batch]}
        events = WriteEvents.model_validate(body).token_events()
        with _refusals():
            written = self._streams.write(
                self._caller,
                self._commit_key,
                self._epoch,
                events,
                batch_id=batch_id,
                raw_body=batch_id.encode(),
            )
        return int(json.loads(written.body)["seq"])


@contextmanager
def _refusals() -> Iterator[None]:
    """What services raise, as the port says it."""
    try:
        yield
    except GatewayError as error:
        raise SinkError(error.detail, code=error.stable_code) from error
    except LedgerError as error:
        raise SinkError(str(error), code=error.code) from error
