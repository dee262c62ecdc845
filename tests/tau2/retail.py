"""The retail tasks of tau2-bench: real users' requests, and the calls that an agent should make for each."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data" / "tau2-retail"
ABSENT = f"the tau2 retail tasks are not here: no folder {FOLDER}"

LONG = os.environ.get("COMMITGATE_TEST_LONG") == "1"
STEP = 1 if LONG else 3
"""Every how manieth task is replayed; all of them in ``make test-long``."""

Arguments = Mapping[str, object]

ANY = "*"
"""The key of a call that may touch everything."""

AGING = "get_order_details"

_KEYS: Mapping[str, str | None] = {
    "calculate": None,
    "cancel_pending_order": "order:{order_id}",
    "exchange_delivered_order_items": "order:{order_id}",
    "find_user_id_by_email": "email:{email}",
    "find_user_id_by_name_zip": "name:{first_name}/{last_name}/{zip}",
    "get_item_details": "item:{item_id}",
    "get_order_details": "order:{order_id}",
    "get_product_details": "product:{product_id}",
    "get_user_details": "user:{user_id}",
    "list_all_product_types": "products",
    "modify_pending_order_address": "order:{order_id}",
    "modify_pending_order_items": "order:{order_id}",
    "modify_pending_order_payment": "order:{order_id}",
    "modify_user_address": "user:{user_id}",
    "return_delivered_order_items": "order:{order_id}",
    "transfer_to_human_agents": ANY,
}
_GENERIC = {"calculate": "READ_ONLY", "transfer_to_human_agents": "WRITE"}
_READERS = {"order_id": "get_order_details", "user_id": "get_user_details"}


@dataclass(frozen=True)
class Call:
    """One tool call."""

    tool: str
    arguments: Arguments

    @property
    def writes(self) -> bool:
        return effect_of(self.tool) == "WRITE"

    @property
    def key(self) -> str | None:
        return key_of(self.tool, self.arguments)

    @property
    def same(self) -> tuple[str, str]:
        """Equal for equal calls."""
        return self.tool, json.dumps(self.arguments, sort_keys=True)


@dataclass(frozen=True)
class Task:
    """One task: its name, and the calls that it takes, in order."""

    name: str
    calls: Sequence[Call]

    @property
    def gold_writes(self) -> list[Call]:
        return [call for call in self.calls if call.writes]


def present() -> bool:
    return (FOLDER / "actions.jsonl").is_file()


@cache
def tasks() -> tuple[Task, ...]:
    """All tasks, in the file's order."""
    lines = (FOLDER / "actions.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(_task(json.loads(line)) for line in lines)


def replayed_tasks() -> tuple[Task, ...]:
    """Those that are replayed in this run of the suite."""
    return tasks()[::STEP]


@cache
def tools() -> Mapping[str, str]:
    """Every tool and its effect class."""
    told = json.loads((FOLDER / "tools.json").read_text(encoding="utf-8"))
    effects = {"READ": "READ_ONLY", "WRITE": "WRITE"}
    return {name: effects.get(tool["kind"]) or _GENERIC[name] for name, tool in told.items()}


def effect_of(tool: str) -> str:
    return tools()[tool]


def key_of(tool: str, arguments: Arguments) -> str | None:
    """The key that a call reads or writes; None: none, ``ANY``: it may touch everything, or its arguments do not say."""
    template = _KEYS[tool]
    try:
        return None if template is None else template.format(**arguments)
    except KeyError:
        return ANY


def read_back(write: Call) -> Call:
    """A READ of what a WRITE has written."""
    for argument, reader in _READERS.items():
        if argument in write.arguments:
            return Call(reader, {argument: write.arguments[argument]})
    # Nothing reads what a transfer does; it may have touched anything, so any read is a read of its key.
    return Call("list_all_product_types", {})


def effect_table(origin: str, *, reads: str, timeout: str, max_age: str | None = None) -> dict[str, object]:
    """The table of the 16 tools, which answer at ``origin``. ``reads``: the policy ``reads_behind_writes``. ``max_age``: of
    an answer of ``get_order_details``.

    ``transfer_to_human_agents`` declares no footprint, so it overlaps every call.
    """
    entries: dict[str, object] = {}
    for name, effect in tools().items():
        entry: dict[str, object] = {
            "effect": effect,
            "timeout": timeout,
            "upstream": {"http": f"{origin}/tools/{name}"},
        }
        template = _KEYS[name]
        if template != ANY:
            entry["writes" if effect == "WRITE" else "reads"] = [] if template is None else [template]
        if max_age is not None and name == AGING:
            entry["max_age"] = max_age
        entries[name] = entry
    return {"policy": {"write_order": "strict", "reads_behind_writes": reads}, "tools": entries}


def _task(line: Mapping[str, object]) -> Task:
    actions = line["actions"]
    assert isinstance(actions, list)
    return Task(str(line["task"]), [Call(action["name"], action["arguments"]) for action in actions])
