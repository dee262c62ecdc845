"""An intent as the result of ``tools/call``: the tool's own answer where it is final, else where the call stands."""

import json
from collections.abc import Mapping
from typing import Any

from mcp_types import CallToolResult, TextContent
from pydantic import ValidationError

from effects.intent import ResultStatus
from gateway.http.problems import Trouble

COMMIT_KEY = "commitgate/commit_key"
CALL_ID = "commitgate/call_id"
LAST = "commitgate/last"
INTENT_ID = "commitgate/intent_id"
REPLAYED = "commitgate/replayed"

_REPEAT = "Call again with the same commitgate/commit_key and commitgate/call_id to learn more; nothing is sent twice."
_STANDING = {
    "in_doubt": "The call may or may not have happened. It is not sent again; a person or a probe will decide.",
    "awaiting_approval": f"The call waits for a person's approval. {_REPEAT}",
    "held": f"The call has not been sent yet. {_REPEAT}",
    "released": f"The call has not been sent yet. {_REPEAT}",
    "dispatched": f"The call was sent and has not been answered yet. {_REPEAT}",
    "settled": f"The answer is not final yet. {_REPEAT}",
    "refused": "The call was refused and not sent.",
    "denied": "A person denied the call; it was not sent.",
    "voided": "The call was voided.",
}


def result_of(view: Mapping[str, Any], *, replayed: bool) -> CallToolResult:
    """The result that a client of MCP sees of an intent's view (``gateway.service.views.intent_view``)."""
    meta = {COMMIT_KEY: view["commit_key"], INTENT_ID: view["intent_id"], REPLAYED: replayed}
    answer = view.get("result")
    if answer is not None and answer["status"] in (ResultStatus.OK, ResultStatus.TOOL_ERROR):
        return _answered(answer["content"], failed=answer["status"] == ResultStatus.TOOL_ERROR, meta=meta)
    standing = {
        "state": view["state"],
        "reason": view["reason"],
        "commit_key": view["commit_key"],
        "intent_id": view["intent_id"],
    }
    said = _STANDING[str(view["state"])]
    happened = answer is not None and answer["status"] == ResultStatus.HAPPENED_UNKNOWN_RESULT
    if view.get("detail") is not None:
        standing["detail"] = view["detail"]
        said = f"{said} {_why(view['detail'])}"
    if answer is not None:
        standing["status"] = answer["status"]
        said = "The call happened; its answer is not known." if happened else "The call did not happen."
    return _said(said, standing, failed=not happened, meta=meta)


def _why(detail: Mapping[str, Any]) -> str:
    """What of the call was refused, for a model that is to do better."""
    return ": ".join(str(detail[name]) for name in ("path", "because") if detail.get(name))


def refusal(trouble: Trouble) -> CallToolResult:
    """A call that could not be taken: ``structuredContent.code`` is stable."""
    body = {"code": trouble.code, "detail": trouble.detail, **trouble.extra}
    return _said(f"{trouble.code}: {trouble.detail}", body, failed=True, meta={})


def _said(text: str, structured: dict[str, Any], *, failed: bool, meta: dict[str, Any]) -> CallToolResult:
    content = [TextContent(type="text", text=text)]
    return CallToolResult(content=content, structured_content=structured, is_error=failed, _meta=meta)


def _answered(content: object, *, failed: bool, meta: dict[str, Any]) -> CallToolResult:
    """The tool's answer: as it is where it came by MCP, else as JSON text and, where it is an object, structured too."""
    if isinstance(content, dict) and isinstance(content.get("content"), list):
        try:
            own = CallToolResult.model_validate({**content, "isError": failed})
        except ValidationError:
            pass  # An HTTP tool's answer that only looks like one of MCP.
        else:
            return own.model_copy(update={"meta": {**(own.meta or {}), **meta}})
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    structured = content if isinstance(content, dict) else {"result": content}
    return _said(text, structured, failed=failed, meta=meta)
