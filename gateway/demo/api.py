"""The gateway over HTTP, as any runtime would use it."""

from types import TracebackType
from typing import Any, Self

import httpx2

from gateway.demo.errors import DemoFailed
from gateway.sinks.http import bearer

Json = dict[str, Any]

LONG_POLL = 20.0
PAGE = 500
NOT_FOUND = 404


class Api:
    """A client of one gateway. Raises ``DemoFailed`` where it does not answer, or refuses."""

    def __init__(self, url: str, api_key: str | None = None) -> None:
        self.url = url
        self.api_key = api_key
        self._client = httpx2.Client(
            base_url=url, timeout=LONG_POLL + 30, trust_env=False, headers=bearer(api_key)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def apply_effects(self, yaml: str) -> Json:
        """Put an effect table in force."""
        headers = {"Content-Type": "application/yaml"}
        return self._call("POST", "/v1/effects", content=yaml.encode(), headers=headers)

    def stream(self, key: str) -> Json:
        """The whole stream: text, intents, how it ended."""
        return self._call("GET", f"/v1/streams/{key}")

    def events(self, key: str, after: int) -> tuple[list[Json], int]:
        """The next events behind ``after``, and the stream's seq; none before the stream is opened."""
        path = f"/v1/streams/{key}/events"
        page = self._call(
            "GET", path, params={"after": after, "limit": PAGE}, missing={"events": [], "seq": 0}
        )
        return page["events"], page["seq"]

    def rested(self, key: str, intent_id: str) -> Json:
        """The intent once nothing more is to be waited for, or as it is when the time of one request is up."""
        return self._call("GET", f"/v1/streams/{key}/intents/{intent_id}", params={"wait": LONG_POLL})

    def _call(self, method: str, path: str, *, missing: Json | None = None, **arguments: Any) -> Json:
        """The answer; ``missing`` instead of it where the gateway knows no such thing, if given."""
        try:
            answer = self._client.request(method, path, **arguments)
            body = answer.json()
        except (httpx2.HTTPError, ValueError) as error:
            raise DemoFailed(f"the gateway does not answer {method} {path}: {error}") from error
        if answer.status_code == NOT_FOUND and missing is not None:
            return missing
        if answer.status_code >= 400 or not isinstance(body, dict):
            raise DemoFailed(f"the gateway refused {method} {path}: {body}")
        return body
