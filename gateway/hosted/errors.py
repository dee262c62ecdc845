"""What can be wrong with a hosted model's stream.

::

    HostedError
    ├── UnreadableEvent   hosted_event_unreadable   an event has a member of a type that no provider sends
    └── MessageOver       hosted_message_over       the message is finished; another one has a stream of its own
"""


class HostedError(Exception):
    """``code`` is stable."""

    code = "hosted_error"


class UnreadableEvent(HostedError):
    """The stream is to be treated as broken."""

    code = "hosted_event_unreadable"


class MessageOver(HostedError):
    """Nothing follows a finished message."""

    code = "hosted_message_over"
