"""The tools as a model is told about them: from ``tools.json``."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOOLS_FILE = Path(__file__).with_name("tools.json")


@dataclass(frozen=True, slots=True)
class Signature:
    """One tool's name, purpose in one line, and argument names in the order in which calls spell them."""

    name: str
    description: str
    arguments: tuple[str, ...]

    @property
    def line(self) -> str:
        """The one-line signature, such as ``set_address(order_id, address)``."""
        return f"{self.name}({', '.join(self.arguments)})"


def signatures() -> tuple[Signature, ...]:
    """All tools of the shop, in the order of the file."""
    return tuple(
        Signature(entry["name"], entry["description"], tuple(entry["arguments"]))
        for entry in json.loads(TOOLS_FILE.read_text(encoding="utf-8"))
    )


NUMBERS = ("amount", "percent")


def as_functions() -> list[dict[str, Any]]:
    """The tools in the form that ``apply_chat_template(tools=...)`` takes (OpenAI function schemas)."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": {
                    "type": "object",
                    "properties": {
                        name: {"type": "integer" if name in NUMBERS else "string"} for name in tool.arguments
                    },
                    "required": list(tool.arguments),
                },
            },
        }
        for tool in signatures()
    ]
