"""The arms: what a runtime, or an operator, chooses between. Each has an effect table of its own over the same tools."""

from dataclasses import dataclass

from effects.strict_json import JSONValue

READ, WRITE = "look_up", "book"


@dataclass(frozen=True, slots=True)
class Arm:
    """``speculates``: reads go on drafts. ``perfect``: no draft is wrong. ``whole``: tokens are written at the end alone."""

    name: str
    speculates: bool = False
    perfect: bool = False
    whole: bool = False


EARLY = Arm("early reads", speculates=True)
HOLD = Arm("hold everything")
WHOLE = Arm("wait for the whole message", whole=True)
ORACLE = Arm("early reads, perfect drafts", speculates=True, perfect=True)
ARMS = (EARLY, HOLD, WHOLE, ORACLE)


def table(arm: Arm, origin: str) -> dict[str, JSONValue]:
    """The effect table of an arm, over the tools at ``origin``; a read of it speculates as the gateway's default has it."""
    read: dict[str, JSONValue] = {
        "effect": "READ_ONLY",
        "reads": ["order:{order}"],
        "upstream": {"http": f"{origin}/{READ}"},
    }
    if not arm.speculates:
        read["speculate"] = False
    write: dict[str, JSONValue] = {
        "effect": "WRITE",
        "writes": ["order:{order}"],
        "upstream": {"http": f"{origin}/{WRITE}"},
    }
    return {"tools": {READ: read, WRITE: write}}
