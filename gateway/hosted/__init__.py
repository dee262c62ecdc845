"""Hosted models: a provider's stream turned into token events (interface.md, the last of "Token events").

Deltas are drafted, each call in Hermes form as one token; the finished message rules on all of them; a broken or retried
stream rejects them. The adapters are pure: they take decoded events and give token events, and know no network, no SDK and
no ledger. What they write belongs on a stream with ``tool_calls: {format: hermes, from: detected}`` and
``binding: {kind: hosted}``.
"""

from gateway.hosted.anthropic_messages import AnthropicMessages
from gateway.hosted.errors import HostedError, MessageOver, ProviderFailed, UnreadableEvent
from gateway.hosted.lane import TokenEvent
from gateway.hosted.openai_chat import OpenAIChat
from gateway.hosted.openai_responses import OpenAIResponses

__all__ = [
    "AnthropicMessages",
    "HostedError",
    "MessageOver",
    "OpenAIChat",
    "OpenAIResponses",
    "ProviderFailed",
    "TokenEvent",
    "UnreadableEvent",
]
