"""What both clients share of their connection: where the gateway is, with which key, and how long to be patient."""

from dataclasses import dataclass
from typing import Any

import httpx2
from tenacity import RetryCallState, stop_after_delay, wait_exponential_jitter

from gateway.client.asking import Ask, Heard
from gateway.client.errors import ClientError, GatewayUnreachable
from gateway.version import version

PATIENCE = 30.0
"""Seconds for which a request is tried again while the gateway does not answer."""

TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Connection:
    """A gateway at ``url``, called with ``key`` (None: it runs open)."""

    url: str
    key: str | None = None
    patience: float = PATIENCE

    def arguments(self) -> dict[str, Any]:
        """What an HTTP client is made with. Proxies of the environment are ignored. Raises ``ClientError``."""
        headers = {"User-Agent": f"commitgate-client/{version()}"}
        if self.key is not None:
            if not self.key.isascii() or not self.key.isprintable():
                raise ClientError("the key is none of Commitgate's: those are printable ASCII")
            headers["Authorization"] = f"Bearer {self.key}"
        return {"base_url": self.url, "headers": headers, "timeout": TIMEOUT, "trust_env": False}

    def retrying(self) -> dict[str, Any]:
        """What a retry is made with: the same request again, for every one is safe to repeat."""
        return {
            "retry": _again,
            "wait": wait_exponential_jitter(multiplier=0.05, max=2.0, jitter=0.05),
            "stop": stop_after_delay(self.patience),
            "retry_error_callback": _give_up,
        }


def request_of(question: Ask) -> dict[str, Any]:
    """The arguments of one HTTP request."""
    arguments: dict[str, Any] = {"timeout": TIMEOUT + question.patience}
    if question.body is not None:
        arguments["json"] = question.body
    if question.query:
        arguments["params"] = dict(question.query)
    return arguments


def heard(answer: httpx2.Response) -> Heard:
    """An answer; one that is no JSON object came from something else than a gateway."""
    try:
        body = answer.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        body = {"code": "not_a_gateway", "detail": "the answer is no JSON object"}
        return Heard(max(answer.status_code, 400), body)
    return Heard(answer.status_code, body)


def _again(state: RetryCallState) -> bool:
    outcome = state.outcome
    if outcome is None:
        return False
    if outcome.failed:
        return isinstance(outcome.exception(), httpx2.TransportError)
    return bool(outcome.result().worth_repeating)


def _give_up(state: RetryCallState) -> Heard:
    outcome = state.outcome
    if outcome is not None and outcome.failed:
        error = outcome.exception()
        raise GatewayUnreachable(f"the gateway does not answer: {error}") from error
    answer: Heard = state.outcome.result()  # type: ignore[union-attr]
    return answer
