"""The event sink over the HTTP API of a gateway."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpx2
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_exponential_jitter

from decoding.errors import SinkError
from decoding.sink import Ack, Opened, TokenEvent
from gateway.sinks.ordered import OrderedDelivery

PATIENCE = 30.0
"""Seconds for which a batch is tried again while the gateway cannot be reached."""


class HttpSink:
    """Writes one branch of one stream through a gateway at ``base_url``.

    A batch carries a batch id, so one whose answer was lost is sent again without being written twice.
    ``api_key``: a key with the roles runtime and decoder; None: the gateway runs open.
    """

    def __init__(
        self,
        base_url: str,
        commit_key: str,
        terms: Mapping[str, object],
        *,
        branch: str = "main",
        patience: float = PATIENCE,
        api_key: str | None = None,
    ) -> None:
        self._client = httpx2.Client(
            base_url=base_url, timeout=30.0, trust_env=False, headers=bearer(api_key)
        )
        self._commit_key = commit_key
        self._terms = dict(terms)
        self._branch = branch
        self._epoch = 0
        self._again = Retrying(
            retry=retry_if_exception_type((httpx2.TransportError, _TryAgain)),
            wait=wait_exponential_jitter(multiplier=0.05, max=2.0, jitter=0.05),
            stop=stop_after_delay(patience),
            reraise=True,
        )
        self._delivery = OrderedDelivery(self._deliver)

    def open(self) -> Opened:
        """Open or take over the stream. Raises ``SinkError`` with the gateway's code if it refuses."""
        body = {"commit_key": self._commit_key, **self._terms}
        opened = self._call("POST", "/v1/streams", json=body)
        self._epoch = int(opened["writer_epoch"])
        shown = self._call("GET", f"/v1/streams/{self._commit_key}", params={"ids": "true"})
        branch = shown["branches"][self._branch]
        known = [token for token in branch["ids"] if token is not None]
        return Opened(self._epoch, branch["head"], branch["round"], tuple(known), branch["text"])

    def submit(self, batch: Sequence[TokenEvent]) -> Ack:
        """Queue one batch behind the ones before."""
        return self._delivery.submit(batch)

    def close(self) -> None:
        """Deliver what is queued and let the connection go."""
        self._delivery.close()
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _deliver(self, batch: Sequence[TokenEvent], batch_id: str) -> int:
        body = {"writer_epoch": self._epoch, "batch_id": batch_id, "events": [dict(event) for event in batch]}
        return int(self._call("POST", f"/v1/streams/{self._commit_key}/events", json=body)["seq"])

    def _call(self, method: str, path: str, **arguments: Any) -> Any:
        try:
            return self._again(self._once, method, path, **arguments)
        except (httpx2.TransportError, _TryAgain) as error:
            raise SinkError(f"the gateway cannot be reached: {error}", code="gateway_unreachable") from error

    def _once(self, method: str, path: str, **arguments: Any) -> Any:
        answer = self._client.request(method, path, **arguments)
        if answer.status_code in (502, 503, 504):
            raise _TryAgain(f"the gateway answered {answer.status_code}")
        if answer.status_code >= 400:
            problem = _problem(answer)
            code, detail = (
                str(problem.get("code", "refused")),
                str(problem.get("detail") or answer.status_code),
            )
            if code == "contention":
                raise _TryAgain(detail)
            raise SinkError(detail, code=code)
        return answer.json()


def bearer(api_key: str | None) -> dict[str, str]:
    """The headers that show a key; none where there is no key."""
    return {} if api_key is None else {"Authorization": f"Bearer {api_key}"}


class _TryAgain(Exception):
    """The gateway cannot answer now."""


def _problem(answer: httpx2.Response) -> dict[str, object]:
    try:
        body = answer.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
