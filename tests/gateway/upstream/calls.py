"""Calls to send."""

from effects.classes import EffectClass
from gateway.turn.dispatching import Assignment


def assignment(
    url: str,
    effect: EffectClass = EffectClass.WRITE,
    *,
    arguments: str = "{}",
    timeout: float = 10.0,
    key: str | None = "sha256:abc",
) -> Assignment:
    return Assignment(
        tenant="default",
        commit_key="turn-1",
        intent_id="intent-1",
        attempt=1,
        epoch=1,
        tool="tool",
        arguments_raw=arguments,
        effect=effect,
        idempotency_key=key,
        url=url,
        timeout=timeout,
        window=None,
    )
