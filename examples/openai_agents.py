"""``python -m examples.openai_agents``: an agent of the OpenAI Agents SDK whose tools are called through Commitgate.

What connects them is ``gated``. Every call of the model is a turn of its own, named by the run and the model's call id, so a
run that is taken up again after a crash is answered from the ledger.
"""

import asyncio
import json
from typing import Any

from agents import Agent, FunctionTool, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.tool_context import ToolContext
from openai import AsyncOpenAI

from examples.fakemodel.server import MODEL
from examples.stage import Stage, stage
from gateway.client import AsyncGate, CallEnded

RUN = "agents-1"


def gated(gate: AsyncGate, function: dict[str, Any], keys: list[str]) -> FunctionTool:
    """A tool of the SDK that is called through ``gate``. ``keys`` gets the commit keys."""

    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        commit_key = f"{RUN}-{context.tool_call_id}"
        keys.append(commit_key)
        async with gate.turn(commit_key) as turn:
            try:
                return json.dumps(await turn.call(context.tool_name, json.loads(arguments)))
            except CallEnded as ended:
                return f"{ended.code}: {ended}"

    return FunctionTool(
        name=function["name"],
        description=function["description"],
        params_json_schema=function["parameters"],
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )


async def converse(on: Stage) -> list[str]:
    """One conversation; the commit keys of its calls."""
    set_tracing_disabled(True)
    keys: list[str] = []
    async with AsyncGate(on.gateway) as gate, AsyncOpenAI(base_url=on.model, api_key="none") as client:
        agent = Agent(
            name="Clerk",
            instructions="You help customers of a shop.",
            model=OpenAIChatCompletionsModel(model=MODEL, openai_client=client),
            tools=[gated(gate, tool["function"], keys) for tool in on.tools],
        )
        result = await Runner.run(agent, f"Please cancel my order {on.order_id}.")
    print(result.final_output)
    return keys


def main() -> None:
    """Start everything, converse, show what happened."""
    with stage() as on:
        keys = asyncio.run(converse(on))
        on.show(*keys)


if __name__ == "__main__":
    main()
