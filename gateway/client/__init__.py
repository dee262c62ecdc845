"""The client of a gateway, for agent runtimes: one import, without torch and without a database.

    from gateway.client import Gate

    with Gate("http://127.0.0.1:8700") as gate, gate.turn("order-17-step-3") as turn:
        order = turn.call("get_order", {"order_id": "W1"})
        turn.call("cancel_order", {"order_id": "W1"})

``turn.call`` writes a call as an accepted block and gives the tool's answer. After a crash the same code under the same
commit key is answered from the ledger: nothing is sent twice, and a call that differs from what was recorded is refused
(``Diverged``). A runtime that has tokens writes them with ``draft``, ``rule`` and ``accept`` instead, and reads may run
before they are decided. ``AsyncGate`` is the same with ``await``.
"""

from gateway.client.asynchronous import AsyncGate, AsyncTurn
from gateway.client.errors import (
    AnswerTooLarge,
    AnswerUnknown,
    CallDenied,
    CallDidNotHappen,
    CallEnded,
    CallInDoubt,
    CallNotFinal,
    CallRefused,
    CallVoided,
    ClientError,
    Diverged,
    GatewayRefused,
    GatewayUnreachable,
    ToolFailed,
    ToolUnavailable,
    TurnNotEntered,
)
from gateway.client.flow import answer_of
from gateway.client.synchronous import Gate, Turn
from gateway.wire.views import IntentView, StreamView

__all__ = [
    "AnswerTooLarge",
    "AnswerUnknown",
    "AsyncGate",
    "AsyncTurn",
    "CallDenied",
    "CallDidNotHappen",
    "CallEnded",
    "CallInDoubt",
    "CallNotFinal",
    "CallRefused",
    "CallVoided",
    "ClientError",
    "Diverged",
    "Gate",
    "GatewayRefused",
    "GatewayUnreachable",
    "IntentView",
    "StreamView",
    "ToolFailed",
    "ToolUnavailable",
    "Turn",
    "TurnNotEntered",
    "answer_of",
]
