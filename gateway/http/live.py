"""A stream's events as they come: server-sent events (HTML standard, section 9.2).

``id`` is the event's seq, so that a client that was cut off goes on where it was. The answer ends once nothing more is to
be expected; a client that reconnects after that is told so by 204, which ends its reconnecting.
"""

import json
from collections.abc import AsyncIterator, Callable
from typing import cast

import anyio
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from sse_starlette.event import ServerSentEvent
from sse_starlette.sse import EventSourceResponse, SendTimeoutError
from starlette.types import Receive, Scope, Send

from effects.strict_json import MAX_INTEGER
from gateway.errors import InvalidRequest, Unauthorised
from gateway.http.caller import Call
from gateway.http.following import Follower
from gateway.http.masking import shown_events
from gateway.http.problems import is_unavailable
from gateway.service.streams import Followed
from ledger.sharding import StreamName

EVENT_STREAM = "text/event-stream"
PAGE = 200
"""Events read at once for one client: so many at most wait in memory for one that is slow."""

_SEPARATOR = "\n"
_AWAY = 1.0

Following = Callable[[Follower], AsyncIterator[ServerSentEvent]]


class LiveEvents(EventSourceResponse):
    """What ``following`` makes while ``stream`` is followed; a client that takes nothing for long is let go."""

    def __init__(self, call: Call, stream: StreamName, following: Following) -> None:
        super().__init__(
            _nothing(),
            ping=call.settings.heartbeat_seconds,
            ping_message_factory=lambda: ServerSentEvent(comment="", sep=_SEPARATOR),
            send_timeout=call.settings.send_seconds,
            sep=_SEPARATOR,
        )
        self._followers = call.followers
        self._stream = stream
        self._following = following

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer. That a client was let go is nobody's error."""
        async with self._followers.follow(self._stream) as follower:
            self.body_iterator = self._following(follower)
            try:
                await super().__call__(scope, receive, send)
            except SendTimeoutError:
                return


def wants_live(accept: str | None) -> bool:
    """Whether an ``Accept`` header lists ``text/event-stream``."""
    listed = (part.partition(";")[0].strip().lower() for part in (accept or "").split(","))
    return EVENT_STREAM in listed


def last_seq(last_event_id: str | None, after: int) -> int:
    """Where to go on: what a client that reconnects had last, else ``after``. Raises ``InvalidRequest``."""
    text = (last_event_id or "").strip()
    if not text:
        return after
    if not text.isascii() or not text.isdigit() or int(text[:17]) > MAX_INTEGER:
        told = [{"place": "Last-Event-ID", "reason": "not a seq"}]
        raise InvalidRequest("Last-Event-ID: not a seq", errors=told)
    return int(text)


async def live_events(call: Call, commit_key: str, *, after: int, reconnects: bool) -> Response:
    """The answer: events beyond ``after`` as they come. Raises ``UnknownCommitKey``, ``TooManyFollowers``."""
    call.followers.check()
    first = await run_in_threadpool(_read, call, commit_key, after)
    if first.ended and not first.events and reconnects:
        return Response(status_code=204)
    stream = StreamName.of(call.principal.tenant, commit_key)
    return LiveEvents(call, stream, lambda follower: _events(call, commit_key, after, first, follower))


async def _events(
    call: Call, commit_key: str, after: int, page: Followed | None, follower: Follower
) -> AsyncIterator[ServerSentEvent]:
    while not call.stopping():
        try:
            await call.still_admitted()
        except Unauthorised:
            return
        if page is not None:
            for view in await run_in_threadpool(shown_events, call, commit_key, page.events):
                after = cast("int", view["seq"])
                data = json.dumps(view, separators=(",", ":"))
                yield ServerSentEvent(data, id=str(after), sep=_SEPARATOR)
            if page.ended:
                return
        if page is None or not page.events:
            page = None
            if not await follower.beyond(after):
                continue
        page = await _next(call, commit_key, after)


async def _next(call: Call, commit_key: str, after: int) -> Followed | None:
    """The next events; None where the database is away: whoever listens keeps listening."""
    try:
        return await run_in_threadpool(_read, call, commit_key, after)
    except Exception as error:
        if not is_unavailable(error):
            raise
        await anyio.sleep(_AWAY)
        return None


def _read(call: Call, commit_key: str, after: int) -> Followed:
    return call.services.streams.follow(call.principal, commit_key, after=after, limit=PAGE)


async def _nothing() -> AsyncIterator[ServerSentEvent]:
    return
    yield
