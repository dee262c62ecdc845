"""Python functions behind the upstream port.

Until its process says that it enters the function, a failure means NotSent; from then on, MaybeSent. The process says so
before it enters, so what dies without a word has done nothing.
"""

import asyncio
import json
from functools import partial

from effects.classes import EffectClass
from effects.intent import ResultStatus
from effects.strict_json import JSONRefused, parse
from gateway.turn.dispatching import Assignment
from gateway.upstream.callables.frames import RAISED, joined
from gateway.upstream.callables.pool import Pool
from gateway.upstream.callables.process import LONGEST_MESSAGE, Child, Ended, NotReady
from gateway.upstream.content import content_of, refused_in, truncated
from gateway.upstream.port import Answered, Layer, MaybeSent, NotSent, Reply
from gateway.upstream.secrets import EVERYTHING, NOTHING, SECRET_MISSING, Resolved, SecretMissing, Secrets
from gateway.upstream.trace import fresh_traceparent

OPEN_TIMEOUT = 10.0
"""Seconds within which a process is ready for a call; never longer than half of the tool's timeout."""

LINGER = 60.0
"""Seconds for which the process of an effect that nobody awaits any more may go on."""

SIZE = 8
"""Processes of one function."""

Told = tuple[bytes, bytes, bool]


class CallablesUpstream:
    """Calls functions in processes of their own, kept for each tenant and function. ``size``: how many run at once.

    A call that is given up goes on, and its process takes no other meanwhile: an effect for ``linger`` seconds, a read not at
    all. ``secrets``: what variables of the processes may refer to. Use it from one event loop at a time.
    """

    def __init__(self, *, secrets: Secrets = EVERYTHING, size: int = SIZE, linger: float = LINGER) -> None:
        """See the class."""
        self._secrets = secrets
        self._size = size
        self._linger = linger
        self._pools: dict[tuple[str, str], Pool] = {}
        self._retired: set[asyncio.Task[None]] = set()
        self._running: set[asyncio.Task[Told]] = set()

    async def send(self, call: Assignment, *, timeout: float | None) -> Reply:
        """Call once; see ``Upstream.send``."""
        if call.upstream.python is None:
            return NotSent("not_a_python_tool", lasting=True)
        if call.effect is not EffectClass.READ_ONLY and call.idempotency_key is None:
            return NotSent("no_idempotency_key", lasting=True)
        if not _is_object(call.arguments_raw):
            return NotSent("arguments_refused", lasting=True)
        running: list[asyncio.Task[Told]] = []
        try:
            async with asyncio.timeout(timeout):
                return await self._exchange(call, call.upstream.python, running)
        except TimeoutError:
            return MaybeSent("timeout") if running else NotSent("timeout")
        except NotReady as error:
            return NotSent(error.code, error.detail, lasting=error.lasting)
        except SecretMissing as error:
            return NotSent(SECRET_MISSING, str(error), lasting=True)

    async def aclose(self) -> None:
        """End every process; see ``Upstream.aclose``."""
        pools, self._pools = self._pools, {}
        await asyncio.gather(*(pool.close() for pool in pools.values()), *self._retired)
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _exchange(self, call: Assignment, function: str, running: list[asyncio.Task[Told]]) -> Reply:
        resolved = NOTHING
        if call.upstream.env:
            resolved = await asyncio.to_thread(self._secrets.resolve, call.tenant, call.upstream.env)
        pool = self._pool((call.tenant, function), resolved)
        child = await pool.take(min(OPEN_TIMEOUT, call.timeout / 2))
        task = asyncio.create_task(child.run(_body(call), call.max_result))
        running.append(task)
        self._running.add(task)
        task.add_done_callback(partial(self._over, pool, child))
        try:
            kind, said, whole = await asyncio.shield(task)
        except Ended:
            return MaybeSent("process_ended") if child.begun else NotSent("process_ended")
        except asyncio.CancelledError:
            self._give_up(child, task, is_read=call.effect is EffectClass.READ_ONLY)
            raise
        if kind == RAISED:
            return _refusal(said, resolved, whole, call.max_result)
        return _answer(resolved.hide(said, cut=not whole), whole, call.max_result)

    def _pool(self, place: tuple[str, str], resolved: Resolved) -> Pool:
        known = self._pools.get(place)
        if known is not None and known.resolved == resolved:
            return known
        if known is not None:
            closing = asyncio.create_task(known.close())
            self._retired.add(closing)
            closing.add_done_callback(self._retired.discard)
        made = self._pools[place] = Pool(place[1], resolved, self._size)
        return made

    def _over(self, pool: Pool, child: Child, task: asyncio.Task[Told]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            # Nobody may wait for it any more; asyncio complains about errors that nobody looked at.
            task.exception()
        pool.give_back(child)

    def _give_up(self, child: Child, task: asyncio.Task[Told], *, is_read: bool) -> None:
        if task.done():
            return
        if is_read:
            child.kill()
            return
        ending = asyncio.get_running_loop().call_later(self._linger, child.kill)
        task.add_done_callback(lambda _: ending.cancel())


def _is_object(raw: str) -> bool:
    try:
        return isinstance(parse(raw), dict)
    except JSONRefused:
        return False


def _body(call: Assignment) -> bytes:
    is_read = call.effect is EffectClass.READ_ONLY
    context = {
        "commit_key": call.commit_key,
        "intent_id": call.intent_id,
        "idempotency_key": None if is_read else call.idempotency_key,
        "traceparent": call.traceparent or fresh_traceparent(),
    }
    return joined(json.dumps(context).encode(), call.arguments_raw.encode())


def _refusal(said: bytes, resolved: Resolved, whole: bool, limit: int) -> Answered:
    error, _, message = said.decode(errors="replace").partition("\n")
    told = resolved.hide_text(message, LONGEST_MESSAGE, cut=not whole)
    content = {"error": resolved.hide_text(error, LONGEST_MESSAGE), "message": told}
    spelled = json.dumps(content).encode()
    kept = content if len(spelled) <= limit else truncated(spelled, limit)
    return Answered(ResultStatus.TOOL_ERROR, kept, Layer.TOOL)


def _answer(said: bytes, whole: bool, limit: int) -> Answered:
    content = content_of(said) if whole else truncated(said, limit)
    layer = refused_in(content)
    return Answered(ResultStatus.OK if layer is None else ResultStatus.TOOL_ERROR, content, layer)
