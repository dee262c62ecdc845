"""``python -m examples.mcp_client``: a plain client of MCP that calls the shop's tools at the gateway's ``/mcp``.

It knows nothing of Commitgate but two names in ``_meta``: the commit key says to which message a call belongs, the call id
makes a retry the same call.
"""

import asyncio
import json

from mcp import Client

from examples.stage import Stage, stage

RUN = "mcp-1"


async def converse(on: Stage) -> None:
    """Look at an order, cancel it, and cancel it once more as a retry would."""
    async with Client(f"{on.gateway}/mcp") as client:
        listed = await client.list_tools()
        print(f"{len(listed.tools)} tools")
        cancel = {"order_id": on.order_id, "reason": "ordered by mistake"}
        for call_id, tool, arguments in (
            ("1", "get_order", {"order_id": on.order_id}),
            ("2", "cancel_order", cancel),
            ("2", "cancel_order", cancel),
        ):
            meta = {"commitgate/commit_key": RUN, "commitgate/call_id": call_id}
            result = await client.call_tool(tool, arguments, meta=meta)  # type: ignore[arg-type]
            replayed = (result.meta or {}).get("commitgate/replayed")
            print(f"{tool}: {json.dumps(result.structured_content)}, replayed {replayed}")


def main() -> None:
    """Start everything, call, show what happened."""
    with stage() as on:
        asyncio.run(converse(on))
        on.show(RUN)


if __name__ == "__main__":
    main()
