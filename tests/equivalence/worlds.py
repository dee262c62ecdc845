"""Stateful tools: a file system with a current directory, and a bank. Every call sees what all calls before it did."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

Call = tuple[str, dict[str, object]]


class World(Protocol):
    """A thing that tools act on."""

    def act(self, tool: str, arguments: Mapping[str, object]) -> object:
        """Do one call and give its answer."""

    def snapshot(self) -> object:
        """All state, comparable."""


@dataclass
class FileSystem:
    cwd: str = "/a"
    files: dict[str, str] = field(default_factory=lambda: {"/a/x": "1", "/b/y": "2"})

    def act(self, tool: str, arguments: Mapping[str, object]) -> object:
        name = str(arguments.get("name", ""))
        if tool == "cd":
            self.cwd = "/" + name
            return self.cwd
        if tool == "pwd":
            return self.cwd
        if tool == "ls":
            return sorted(f for f in self.files if f.startswith(self.cwd + "/"))
        path = f"{self.cwd}/{name}"
        if tool == "touch":
            self.files[path] = str(arguments.get("text"))
            return path
        if tool == "append":
            self.files[path] = self.files.get(path, "") + str(arguments.get("text"))
            return len(self.files[path])
        if tool == "rm":
            return self.files.pop(path, None) is not None
        return self.files.get(path)

    def snapshot(self) -> object:
        return (self.cwd, dict(self.files))


@dataclass
class Bank:
    accounts: dict[str, int] = field(default_factory=lambda: {"p": 50, "q": 50, "r": 0})

    def act(self, tool: str, arguments: Mapping[str, object]) -> object:
        needed = {
            "balance": {"name"},
            "set": {"name", "amount"},
            "deposit": {"name", "amount"},
            "transfer": {"name", "amount", "to"},
        }
        if not needed.get(tool, {"?"}) <= arguments.keys():
            return "bad call"
        name = str(arguments["name"])
        if tool == "balance":
            return self.accounts.get(name)
        amount = int(str(arguments["amount"]))
        if tool == "set":
            self.accounts[name] = amount
            return amount
        if tool == "deposit":
            self.accounts[name] = self.accounts.get(name, 0) + amount
            return self.accounts[name]
        to = str(arguments["to"])
        if self.accounts.get(name, 0) < amount:
            return "refused"
        self.accounts[name] -= amount
        self.accounts[to] = self.accounts.get(to, 0) + amount
        return [self.accounts[name], self.accounts[to]]

    def snapshot(self) -> object:
        return dict(self.accounts)


@dataclass(frozen=True)
class Setting:
    """A kind of world: how it begins, its tools' rows in the effect table, and calls that may be made on it."""

    name: str
    begin: Callable[[], World]
    classes: Mapping[str, str]
    footprints: Mapping[str, tuple[list[str], list[str]]]
    draw: Callable[[Random], Call]

    def effects(self, *, declared: bool, reads_behind_writes: str, write_order: str) -> str:
        """The effect table, JSON being YAML."""
        tools: dict[str, object] = {}
        for tool, effect in self.classes.items():
            row: dict[str, object] = {"effect": effect, "upstream": {"http": f"http://127.0.0.1:9/{tool}"}}
            if effect == "IDEMPOTENT":
                row["window"] = "1h"
            if declared:
                reads, writes = self.footprints[tool]
                row |= {"reads": reads} | ({} if effect == "READ_ONLY" else {"writes": writes})
            tools[tool] = row
        policy = {"reads_behind_writes": reads_behind_writes, "write_order": write_order}
        return json.dumps({"policy": policy, "tools": tools})


def _file_call(random: Random) -> Call:
    tool = random.choice(["cd", "pwd", "ls", "touch", "append", "rm", "cat", "cat", "ls"])
    if tool == "cd":
        return tool, {"name": random.choice("abc")}
    if tool in ("pwd", "ls"):
        return tool, {}
    arguments: dict[str, object] = {"name": random.choice("xyz")}
    if tool in ("touch", "append"):
        arguments["text"] = str(random.randrange(10, 99))
    return tool, arguments


def _bank_call(random: Random) -> Call:
    tool = random.choice(["balance", "balance", "set", "deposit", "transfer"])
    arguments: dict[str, object] = {"name": random.choice("pqr")}
    if tool != "balance":
        arguments["amount"] = random.randrange(10, 99)
    if tool == "transfer":
        arguments["to"] = random.choice("pqr")
    return tool, arguments


FILES = Setting(
    "files",
    FileSystem,
    {
        "cd": "IDEMPOTENT", "pwd": "READ_ONLY", "ls": "READ_ONLY", "touch": "IDEMPOTENT", "append": "WRITE",
        "rm": "WRITE", "cat": "READ_ONLY",
    },
    {
        "cd": ([], ["cwd"]), "pwd": (["cwd"], []), "ls": (["cwd", "file:*"], []),
        "touch": (["cwd"], ["file:{name}"]), "append": (["cwd"], ["file:{name}"]), "rm": (["cwd"], ["file:{name}"]),
        "cat": (["cwd", "file:{name}"], []),
    },
    _file_call,
)  # fmt: skip
BANK = Setting(
    "bank",
    Bank,
    {"balance": "READ_ONLY", "set": "IDEMPOTENT", "deposit": "WRITE", "transfer": "WRITE"},
    {
        "balance": (["account:{name}"], []), "set": ([], ["account:{name}"]), "deposit": ([], ["account:{name}"]),
        "transfer": ([], ["account:{name}", "account:{to}"]),
    },
    _bank_call,
)  # fmt: skip
