"""The tools of the model's world: what an effect table says of them, and the same said again for the model."""

import json
from dataclasses import dataclass

WINDOW = 3600.0
MAX_AGE = 300.0


@dataclass(frozen=True)
class Tool:
    """``touches``: "name" a thing named by the argument, "nothing", or "anything" of its upstream (undeclared).

    ``asks``: which calls wait for a person, "" none, "always", or a name: those that name anything else do not.
    ``allowed_for``: seconds for which a person's word is good.
    """

    effect: str
    touches: str
    upstream: str = "a"
    speculates: bool = False
    max_age: float | None = None
    window: float | None = None
    asks: str = ""
    allowed_for: float = 3600.0

    def asked_for(self, arguments: dict[str, object] | None) -> str | None:
        """Why a call with these arguments waits for a person; None if it does not."""
        if self.asks in ("", "always"):
            return "required" if self.asks else None
        plainly_not = arguments is not None and arguments.get("name", self.asks) != self.asks
        return None if plainly_not else "condition"


TOOLS = {
    "create": Tool("WRITE", "name"),
    "put": Tool("IDEMPOTENT", "name", window=WINDOW),
    "bare": Tool("IDEMPOTENT", "name"),
    "read": Tool("READ_ONLY", "name", speculates=True),
    "look": Tool("READ_ONLY", "name", speculates=True, max_age=MAX_AGE),
    "search": Tool("READ_ONLY", "nothing"),
    "peek": Tool("READ_ONLY", "anything", upstream="b", speculates=True),
    "poke": Tool("WRITE", "name", upstream="b"),
    "grant": Tool("WRITE", "name", asks="always"),
    "spend": Tool("IDEMPOTENT", "name", window=WINDOW, asks="x", allowed_for=60.0),
    "consult": Tool("READ_ONLY", "name", upstream="b", speculates=True, asks="always", allowed_for=60.0),
}
UNKNOWN = Tool("WRITE", "anything", upstream="?")


@dataclass(frozen=True)
class Policy:
    """``strict``: ``write_order: strict``. ``ahead``: ``reads_behind_writes: send``."""

    strict: bool
    ahead: bool


POLICIES = tuple(Policy(strict, ahead) for strict in (True, False) for ahead in (False, True))


def document(policy: Policy) -> str:
    """The effect table, JSON being YAML."""
    return json.dumps(
        {
            "policy": {
                "write_order": "strict" if policy.strict else "footprint",
                "reads_behind_writes": "send" if policy.ahead else "hold",
            },
            "tools": {name: _row(name, tool) for name, tool in TOOLS.items()},
        }
    )


def _row(name: str, tool: Tool) -> dict[str, object]:
    port = {"a": 9, "b": 10}[tool.upstream]
    row: dict[str, object] = {"effect": tool.effect, "upstream": {"http": f"http://127.0.0.1:{port}/{name}"}}
    keys = {"name": ["thing:{name}"], "nothing": [], "anything": None}[tool.touches]
    if keys is not None:
        row["reads" if tool.effect == "READ_ONLY" else "writes"] = keys
    if tool.effect == "READ_ONLY" and not tool.speculates:
        row["open_world"] = True
    if tool.max_age is not None:
        row["max_age"] = f"{tool.max_age:.0f}s"
    if tool.asks:
        row["approval"] = "required" if tool.asks == "always" else f"name == '{tool.asks}'"
        row["approval_expires"] = f"{tool.allowed_for:.0f}s"
    if tool.window is not None:
        row["window"] = f"{tool.window:.0f}s"
    return row


def spell(tool: str, name: str) -> str:
    """The call as a model spells it."""
    return f'<tool_call>{{"name": "{tool}", "arguments": {{"name": "{name}"}}}}</tool_call>'
