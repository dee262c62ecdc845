"""Effect tables of the simulation: what an operator puts in force, one after the other."""

import json
from functools import cache
from random import Random

from effects.table import EffectTable
from gateway.service.brakes import KnownBrakes
from gateway.turn.tables import TableInForce
from ledger.braking.schema import EVERY_TOOL
from tests.equivalence.worlds import BANK, FILES, Setting
from tests.simulation.store import Store

PROBE = "what_happened"
"""The tool that tells of a call, by its intent's id, how often it acted. Only probes ask it."""

_TWISTS = ("", "", "WRITE", "expires", "raised", "window")


class Tables:
    """The tables of one seed. Limits, budgets and probes are the same in all of them, so that it can be judged at every
    moment whether they are kept."""

    def __init__(self, setting: Setting, random: Random) -> None:
        self._setting = setting
        self._random = random
        self._probes = random.random() < 0.6
        self._early_reads = random.choice([4, 4, 2, 1])
        self._limits = self._draw_limits() if random.random() < 0.4 else None

    def _draw_limits(self) -> tuple[str, str]:
        limits: dict[str, object] = {}
        rate, concurrency = self._random.choice(["1/s", "1/s", "6/min"]), self._random.choice([1, 1, 2])
        kinds = self._random.choice([("rate",), ("concurrency",), ("rate", "concurrency")])
        limits |= {"rate": rate} if "rate" in kinds else {}
        limits |= {"concurrency": concurrency} if "concurrency" in kinds else {}
        return self._random.choice([EVERY_TOOL, EVERY_TOOL, *self._setting.classes]), json.dumps(limits)

    def next(self) -> EffectTable:
        return _table(
            self._setting.name,
            self._random.choice(["hold", "send"]),
            self._random.choice(["strict", "footprint"]),
            self._random.random() < 0.7,
            self._random.choice(_TWISTS),
            self._probes,
            self._early_reads,
            self._limits,
        )


@cache
def _table(
    setting: str,
    reads: str,
    order: str,
    declared: bool,
    twist: str,
    probes: bool,
    early_reads: int,
    limits: tuple[str, str] | None,
) -> EffectTable:
    """``twist``: WRITEs need approval, which expires soon; IDEMPOTENT is WRITE now; the window is over soon."""
    chosen = FILES if setting == FILES.name else BANK
    told = json.loads(chosen.effects(declared=declared, reads_behind_writes=reads, write_order=order))
    told["policy"]["early_reads"] = early_reads
    for row in told["tools"].values():
        row["timeout"] = "2s"
        _twist(row, twist)
        if probes and row["effect"] != "READ_ONLY":
            row["probe"] = {"tool": PROBE, "arguments": {"name": "{name}"}, "happened": "result.acts > 0"}
    upstream = {"http": f"http://127.0.0.1:9/{PROBE}"}
    told["tools"][PROBE] = {"effect": "READ_ONLY", "reads": [], "upstream": upstream, "timeout": "2s"}
    if limits is not None:
        tool, kept_to = limits
        (told if tool == EVERY_TOOL else told["tools"][tool])["limits"] = json.loads(kept_to)
    return EffectTable.from_document(told)


def _twist(row: dict[str, object], twist: str) -> None:
    if row["effect"] == "WRITE" and twist in ("WRITE", "expires"):
        row["approval"] = "required"
        if twist == "expires":
            row["approval_expires"] = "1s"
    if row["effect"] == "IDEMPOTENT" and twist == "raised":
        row["effect"] = "WRITE"
        del row["window"]
    if row["effect"] == "IDEMPOTENT" and twist == "window":
        row["window"] = "4s"


class NewestTable:
    """As gateway.service.tables.EffectTables: the newest table, under the brakes that a process knows of."""

    def __init__(self, store: Store, brakes: KnownBrakes) -> None:
        self._store = store
        self._brakes = brakes

    def current(self, tenant: str) -> TableInForce:
        return self._store.tables[-1].under(self._brakes.of(tenant))

    def at_least(self, tenant: str, version: int, known: TableInForce) -> TableInForce:
        return known if known.version >= version else self.current(tenant)
