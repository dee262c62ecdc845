"""Calls to send."""

from effects.classes import EffectClass
from effects.tool import DEFAULT_MAX_RESULT
from effects.upstream import Server, Upstream
from gateway.turn.dispatching import Assignment


def assignment(
    url: str = "",
    effect: EffectClass = EffectClass.WRITE,
    *,
    arguments: str = "{}",
    timeout: float = 10.0,
    key: str | None = "sha256:abc",
    tool: str = "tool",
    upstream: Upstream | None = None,
    server: Server | None = None,
    max_result: int = DEFAULT_MAX_RESULT,
    traceparent: str | None = None,
) -> Assignment:
    return Assignment(
        tenant="default",
        commit_key="turn-1",
        intent_id="intent-1",
        attempt=1,
        epoch=1,
        tool=tool,
        arguments_raw=arguments,
        effect=effect,
        idempotency_key=key,
        # Unchecked: what the table would refuse must not break the adapter either.
        upstream=upstream or Upstream.model_construct(http=url),
        timeout=timeout,
        window=None,
        server=server,
        max_result=max_result,
        traceparent=traceparent,
    )
