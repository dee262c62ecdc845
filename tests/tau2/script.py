"""What the target will say: a task's calls as messages in Hermes form, and the tokens of each."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.tau2.retail import Call, Task, read_back

MOST_CALLS = 4
LONGEST_TOKEN = 12


@dataclass(frozen=True)
class Token:
    """One token. ``spoilable``: it lies in a call's arguments, where drafters may be wrong."""

    text: str
    spoilable: bool


@dataclass(frozen=True)
class Message:
    """One model message: one commit key."""

    commit_key: str
    parent: str | None
    calls: Sequence[Call]
    tokens: Sequence[Token]


def run_of(task: Task, seed: int) -> str:
    """Names one run of a task; its messages' commit keys begin with it."""
    return f"tau2.s{seed}.t{task.name}"


def messages_of(task: Task, seed: int, random: Random) -> list[Message]:
    """The messages of one task; behind each WRITE, in the same message, a READ of what it wrote."""
    found: list[Message] = []
    left = list(task.calls)
    while left:
        count = random.randint(1, MOST_CALLS)
        calls: list[Call] = []
        for call in left[:count]:
            calls += [call, read_back(call)] if call.writes else [call]
        left = left[count:]
        key, parent = f"{run_of(task, seed)}-{len(found)}", found[-1].commit_key if found else None
        found.append(Message(key, parent, calls, _tokens(calls, random)))
    return found


def _tokens(calls: Sequence[Call], random: Random) -> list[Token]:
    text, arguments = "", []
    for call in calls:
        spelled = json.dumps(call.arguments, ensure_ascii=random.random() < 0.5)
        text += random.choice(["", "\n", "I look at it. ", "Für Sie: "])
        text += '<tool_call>\n{"name": "' + call.tool + '", "arguments": '
        arguments.append(range(len(text), len(text) + len(spelled)))
        text += spelled + "}\n</tool_call>"
    tokens, at = [], 0
    while at < len(text):
        end = min(at + random.randint(1, LONGEST_TOKEN), len(text))
        inside = any(at >= span.start and end <= span.stop for span in arguments)
        tokens.append(Token(text[at:end], inside and any(map(str.isalnum, text[at:end]))))
        at = end
    return tokens


def spoiled(text: str, random: Random) -> str:
    """The token as a drafter gets it wrong: one letter or digit is another."""
    at = random.choice([n for n, character in enumerate(text) if character.isalnum()])
    alphabet = "0123456789" if text[at].isdigit() else "abcdefghijklmnopqrstuvwxyz"
    return text[:at] + random.choice([c for c in alphabet if c != text[at]]) + text[at + 1 :]
