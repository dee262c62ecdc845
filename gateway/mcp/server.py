"""The MCP server of the front: ``tools/list`` and ``tools/call``, each a question to the gateway's services."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
from fastapi.concurrency import run_in_threadpool
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

from gateway.errors import GatewayError, InvalidRequest
from gateway.http.problems import problem_of
from gateway.http.settings import HttpSettings
from gateway.mcp.listing import listed
from gateway.mcp.rendering import CALL_ID, COMMIT_KEY, LAST, refusal, result_of
from gateway.principal import Principal
from gateway.service.services import Services
from gateway.traceparent import TRACE_LABEL, parsed_traceparent
from gateway.tracing import current_traceparent
from gateway.turn.finished_call import FinishedCall
from ledger.errors import LedgerError

PRINCIPAL = "commitgate.principal"
"""Key of the ASGI scope under which the endpoint leaves the caller."""

_INSTRUCTIONS = (
    "Tools behind Commitgate. Give calls of one model message the same _meta['commitgate/commit_key'], and each call its own "
    "_meta['commitgate/call_id']: a retry with the same call id is answered from the ledger and never sent twice. "
    "Without a call id there is no protection against a retry."
)
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_LONGEST_CALL_ID = 256


@dataclass(frozen=True, slots=True)
class Front:
    """What the server works with. ``stopping``: the process is about to end."""

    services: Services
    settings: HttpSettings
    stopping: Callable[[], bool]


def mcp_server(front: Front, version: str) -> Server[Any]:
    """The server. It keeps nothing between requests, so any gateway may answer any of them."""

    async def list_tools(
        context: ServerRequestContext[Any, Any], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        force = await run_in_threadpool(front.services.tables.show, _principal(context))
        return listed(force.table.tools)

    async def call_tool(
        context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult:
        try:
            return await _call(front, _principal(context), params)
        except (GatewayError, LedgerError) as error:
            return refusal(problem_of(error))

    return Server(
        "commitgate",
        version=version,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _call(front: Front, principal: Principal, params: CallToolRequestParams) -> CallToolResult:
    meta: Mapping[str, object] = dict(params.meta or {})
    key, trace = _commit_key(meta), _trace(meta)
    call = FinishedCall(
        tool=params.name,
        arguments=params.arguments or {},
        call_id=_call_id(meta),
        # A call that names no message is a message of its own.
        last=key is None or meta.get(LAST) is True,
        labels={} if trace is None else {TRACE_LABEL: trace},
        traceparent=trace,
    )
    calls = front.services.finished_calls
    commit_key, intent_id, replayed = await run_in_threadpool(calls.call, principal, key, call)
    view = await _rest(front, principal, commit_key, intent_id)
    return result_of(view, replayed=replayed)


async def _rest(front: Front, principal: Principal, commit_key: str, intent_id: str) -> Mapping[str, Any]:
    """The intent once it is final, refused, denied, voided or in doubt; as it stands where that takes too long."""
    until = time.monotonic() + front.settings.mcp_wait_seconds
    while True:
        view, rests = await run_in_threadpool(front.services.intents.get, principal, commit_key, intent_id)
        left = until - time.monotonic()
        if rests or left <= 0 or front.stopping() or view["state"] == "awaiting_approval":
            return view
        await anyio.sleep(min(front.settings.poll_seconds, left))


def _principal(context: ServerRequestContext[Any, Any]) -> Principal:
    principal = context.request.scope[PRINCIPAL] if context.request is not None else None
    if not isinstance(principal, Principal):
        raise AssertionError("the endpoint names the caller of every request")
    return principal


def _commit_key(meta: Mapping[str, object]) -> str | None:
    key = meta.get(COMMIT_KEY)
    if key is None:
        return None
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise InvalidRequest(f"_meta[{COMMIT_KEY!r}] must match {_KEY.pattern}", path=COMMIT_KEY)
    return key


def _call_id(meta: Mapping[str, object]) -> str | None:
    call_id = meta.get(CALL_ID)
    if call_id is None:
        return None
    if not isinstance(call_id, str) or not 0 < len(call_id) <= _LONGEST_CALL_ID:
        raise InvalidRequest(
            f"_meta[{CALL_ID!r}] must be a text of 1 to {_LONGEST_CALL_ID} characters", path=CALL_ID
        )
    return call_id


def _trace(meta: Mapping[str, object]) -> str | None:
    """The trace context of the call: the SDK's own span of it, a child of what the client sent, where spans are recorded."""
    span = current_traceparent()
    sent = meta.get("traceparent")
    return span or parsed_traceparent(sent if isinstance(sent, str) else None)
