"""``python -m examples.langgraph_agent``: a LangGraph agent whose model's stream goes through Commitgate, token by token.

What connects them is ``speak`` and ``act``. Each message of the model is a turn: its deltas are drafted as they come, so that
reads run while the message is still being written, and the finished message rules on them.
"""

import json
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from openai import OpenAI

from examples.fakemodel.server import MODEL
from examples.stage import Stage, stage
from gateway.client import CallEnded, Gate, answer_of
from gateway.hosted import OpenAIChat

RUN = "graph-1"


def _added(known: list[Any], new: list[Any]) -> list[Any]:
    return known + new


class Conversation(TypedDict):
    """The state of the graph."""

    messages: Annotated[list[dict[str, Any]], _added]
    keys: Annotated[list[str], _added]


def graph(on: Stage, gate: Gate, client: OpenAI) -> Any:
    """The agent: it speaks until it has nothing more to do."""

    def speak(state: Conversation) -> dict[str, Any]:
        commit_key = f"{RUN}-{len(state['messages'])}"
        with gate.turn(commit_key) as turn:
            message = OpenAIChat(head=turn.head, round=turn.round)
            text = ""
            for chunk in client.chat.completions.create(
                model=MODEL,
                messages=state["messages"],  # type: ignore[arg-type]
                tools=on.tools,  # type: ignore[arg-type]
                stream=True,
            ):
                text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
                turn.write(message.feed(chunk.model_dump()))
            turn.write(message.finish())
            # The calls run while this waits for them, in the order that the effect table asks for.
            calls = [turn.wait(intent_id) for intent_id in turn.intents]
        said: dict[str, Any] = {"role": "assistant", "content": text}
        answers = []
        if calls:
            ids = {call.intent_id: message.call_ids[call.span[0]] for call in calls}
            said["tool_calls"] = [_as_sent(call, ids[call.intent_id]) for call in calls]
            answers = [
                {"role": "tool", "tool_call_id": ids[call.intent_id], "content": _told(call)}
                for call in calls
            ]
        return {"messages": [said, *answers], "keys": [commit_key]}

    built = StateGraph(Conversation)
    built.add_node("speak", speak)
    built.add_edge(START, "speak")
    built.add_conditional_edges(
        "speak", lambda state: "speak" if state["messages"][-1]["role"] == "tool" else END
    )
    return built.compile()


def _as_sent(call: Any, call_id: str) -> dict[str, Any]:
    function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
    return {"id": call_id, "type": "function", "function": function}


def _told(call: Any) -> str:
    try:
        return json.dumps(answer_of(call))
    except CallEnded as ended:
        return f"{ended.code}: {ended}"


def main() -> None:
    """Start everything, converse, show what happened."""
    with stage() as on, Gate(on.gateway) as gate, OpenAI(base_url=on.model, api_key="none") as client:
        asked = {"role": "user", "content": f"Please cancel my order {on.order_id}."}
        state = graph(on, gate, client).invoke({"messages": [asked], "keys": []})
        print(state["messages"][-1]["content"])
        on.show(*state["keys"])


if __name__ == "__main__":
    main()
