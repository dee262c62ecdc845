"""What can be wrong with a hosted model's stream.

::

    HostedError
    ├── UnreadableEvent   hosted_event_unreadable   an event has a member of a type that no provider sends
    ├── ProviderFailed    hosted_provider_failed    an event says that the provider's stream failed
    └── MessageOver       hosted_message_over       the message is finished; another one has a stream of its own
"""


class HostedError(Exception):
    """``code`` is stable."""

    code = "hosted_error"


class UnreadableEvent(HostedError):
    """The stream is to be treated as broken."""

    code = "hosted_event_unreadable"


class ProviderFailed(HostedError):
    """The provider said in its stream that it failed. ``type`` and ``text`` are its own words, either may be empty."""

    code = "hosted_provider_failed"

    def __init__(self, type_: str, text: str) -> None:
        """The message shows both."""
        told = ": ".join(part for part in (type_, text) if part)
        super().__init__(f"the provider's stream failed: {told or 'it does not say why'}")
        self.type = type_
        self.text = text


class MessageOver(HostedError):
    """Nothing follows a finished message."""

    code = "hosted_message_over"
