"""The MCP server of the front: ``tools/list`` and ``tools/call``, each a question to the gateway's services."""

import time
from collections.abc import Mapping
from typing import Any

import anyio
from fastapi.concurrency import run_in_threadpool
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

from gateway.errors import GatewayError, InvalidRequest
from gateway.http.caller import Call
from gateway.http.problems import problem_of
from gateway.mcp.listing import listed
from gateway.mcp.rendering import CALL_ID, COMMIT_KEY, LAST, refusal, result_of
from gateway.traceparent import TRACE_LABEL, parsed_traceparent
from gateway.tracing import current_traceparent
from gateway.turn.finished_call import FinishedCall
from gateway.wire.base import COMMIT_KEY_PATTERN, is_commit_key
from ledger.errors import LedgerError

CALL = "commitgate.call"
"""Key of the ASGI scope under which the endpoint leaves who calls, and what."""

_INSTRUCTIONS = (
    "Tools behind Commitgate. Give calls of one model message the same _meta['commitgate/commit_key'], and each call its own "
    "_meta['commitgate/call_id']: a retry with the same call id is answered from the ledger and never sent twice. "
    "Without a call id there is no protection against a retry."
)
_LONGEST_CALL_ID = 256


def mcp_server(version: str) -> Server[Any]:
    """The server. It keeps nothing between requests, so any gateway may answer any of them."""

    async def list_tools(
        context: ServerRequestContext[Any, Any], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        call = _call_in(context)
        force = await run_in_threadpool(call.services.tables.show, call.principal)
        return listed(force.table.tools)

    async def call_tool(
        context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult:
        try:
            return await _called(_call_in(context), params)
        except (GatewayError, LedgerError) as error:
            return refusal(problem_of(error))

    return Server(
        "commitgate",
        version=version,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _called(call: Call, params: CallToolRequestParams) -> CallToolResult:
    meta: Mapping[str, object] = dict(params.meta or {})
    key, trace = _commit_key(meta), _trace(meta)
    finished = FinishedCall(
        tool=params.name,
        arguments=params.arguments or {},
        call_id=_call_id(meta),
        # A call that names no message is a message of its own.
        last=key is None or meta.get(LAST) is True,
        labels={} if trace is None else {TRACE_LABEL: trace},
        traceparent=trace,
    )
    calls = call.services.finished_calls
    commit_key, intent_id, replayed = await run_in_threadpool(calls.call, call.principal, key, finished)
    view = await _rest(call, commit_key, intent_id)
    return result_of(view, replayed=replayed)


async def _rest(call: Call, commit_key: str, intent_id: str) -> Mapping[str, Any]:
    """The intent once it is final, refused, denied, voided or in doubt; as it stands where that takes too long."""
    until = time.monotonic() + call.settings.mcp_wait_seconds
    while True:
        view, rests = await run_in_threadpool(
            call.services.intents.get, call.principal, commit_key, intent_id
        )
        left = until - time.monotonic()
        if rests or left <= 0 or call.stopping() or view["state"] == "awaiting_approval":
            return view
        await anyio.sleep(min(call.settings.poll_seconds, left))
        await call.still_admitted()


def _call_in(context: ServerRequestContext[Any, Any]) -> Call:
    call = context.request.scope[CALL] if context.request is not None else None
    if not isinstance(call, Call):
        raise AssertionError("the endpoint names the caller of every request")
    return call


def _commit_key(meta: Mapping[str, object]) -> str | None:
    key = meta.get(COMMIT_KEY)
    if key is None:
        return None
    if not isinstance(key, str) or not is_commit_key(key):
        raise InvalidRequest(f"_meta[{COMMIT_KEY!r}] must match {COMMIT_KEY_PATTERN}", path=COMMIT_KEY)
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
