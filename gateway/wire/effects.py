"""``/v1/effects``: the effect table in force (interface.md, "Tools (upstreams)")."""

from typing import Any

from gateway.wire.base import Answer, JSONObject


class EffectsView(Answer):
    """The table in force. ``version`` 0: none was ever applied, and every tool is unknown."""

    version: int
    digest: str
    table: JSONObject


TABLE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["tools"],
    "properties": {name: {"type": "object"} for name in ("tools", "servers", "policy")},
    "additionalProperties": False,
    "description": "An effect table. What is wrong in it is answered with its place (`invalid_effects`).",
}
"""The outermost shape of a table document; ``effects.table`` reads it and has the last word."""
