"""A turn as its user sees it under either client, without asking anything."""

from collections.abc import Mapping

from gateway.client.flow import TurnFlow
from gateway.wire.views import IntentView


class SeenTurn:
    """What ``flow`` knows of its stream."""

    def __init__(self, flow: TurnFlow) -> None:
        self._flow = flow

    @property
    def commit_key(self) -> str:
        """The stream's commit key."""
        return self._flow.commit_key

    @property
    def text(self) -> str:
        """What was accepted when the stream was looked at last."""
        return self._flow.text

    @property
    def head(self) -> int:
        """Number of accepted tokens."""
        return self._flow.head

    @property
    def drafted_end(self) -> int:
        """Head plus pending drafts."""
        return self._flow.drafted_end

    @property
    def round(self) -> int:
        """Number of rejections so far."""
        return self._flow.round

    @property
    def intents(self) -> Mapping[str, IntentView]:
        """The calls as they were seen last, by intent id."""
        return self._flow.intents
