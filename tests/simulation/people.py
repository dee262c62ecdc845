"""People of the simulation: one who settles doubts and decides about approvals, and an operator."""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from random import Random

from effects.intent import IntentState
from gateway.errors import GatewayError
from ledger.braking.schema import EVERY_TOOL
from ledger.errors import LedgerError
from ledger.state import Intent
from tests.equivalence.worlds import Setting
from tests.simulation.gateways import Gateways
from tests.simulation.network import Network
from tests.simulation.process import Killed
from tests.simulation.store import Store
from tests.simulation.tables import PROBE
from tests.simulation.writer import WHO


class Person:
    """Settles doubts by the tools' word, and decides about what awaits approval. ``patience``: seconds for which doubts are
    left to probes."""

    def __init__(
        self, store: Store, network: Network, gateways: Gateways, chance: Random, counts: Counter[str]
    ) -> None:
        self._store = store
        self._network = network
        self._gateways = gateways
        self._chance = chance
        self._counts = counts
        self._patience = chance.choice([0.0, 12.0, 18.0])

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._chance.uniform(0.5, 3))
            for commit_key, state in list(self._store.states.items()):
                for intent in list(state.intents.values()):
                    with suppress(Killed, LedgerError, GatewayError):
                        self._look_at(commit_key, intent)

    def _look_at(self, commit_key: str, intent: Intent) -> None:
        if intent.state is IntentState.IN_DOUBT:
            # Once nothing is under way to the tool, for then its word does not change any more.
            if not self._network.under_way[intent.intent_id] and not self._leaves(intent):
                self._resolve(commit_key, intent)
        elif intent.state is IntentState.AWAITING_APPROVAL and self._chance.random() < 0.5:
            self._decide(commit_key, intent)

    def _leaves(self, intent: Intent) -> bool:
        """Whether a probe is to find out first."""
        judged = self._store.tables[-1].classify(intent.tool, intent.arguments_raw)
        if judged.probe is None or intent.doubted_at is None:
            return False
        return (self._store.at - intent.doubted_at).total_seconds() < self._patience

    def _resolve(self, commit_key: str, intent: Intent) -> None:
        happened = self._network.acts[intent.intent_id] > 0
        self._counts["doubts resolved"] += 1
        self._gateways.ask(
            lambda gateway: gateway.doubts.resolve(
                WHO, commit_key, intent.intent_id, happened=happened, reason="as the tool says"
            )
        )

    def _decide(self, commit_key: str, intent: Intent) -> None:
        if self._chance.random() < 0.7:
            self._counts["approved"] += 1
            seen = None if intent.asked is None else intent.asked.definition
            self._gateways.ask(
                lambda gateway: gateway.approvals.approve(WHO, commit_key, intent.intent_id, definition=seen)
            )
            return
        self._counts["denied"] += 1
        self._gateways.ask(
            lambda gateway: gateway.approvals.deny(WHO, commit_key, intent.intent_id, reason="no")
        )


class Operator:
    """Changes the table now and then, and pauses a tool for a while. ``change``: puts another table in force."""

    def __init__(
        self,
        store: Store,
        setting: Setting,
        chance: Random,
        counts: Counter[str],
        *,
        change: Callable[[], None],
        say: Callable[[str], None],
        trouble: float,
    ) -> None:
        self._store = store
        self._tools = [EVERY_TOOL, PROBE, *setting.classes]
        self._chance = chance
        self._counts = counts
        self._change = change
        self._say = say
        self._trouble = trouble

    async def run(self) -> None:
        chance = self._chance
        while chance.random() < 0.6:
            await asyncio.sleep(chance.uniform(0, self._trouble / 2))
            if chance.random() < 0.5:
                self._change()
                self._counts["tables changed"] += 1
                continue
            tool = chance.choice(self._tools)
            self._say(f"paused: {tool}")
            self._counts["pauses"] += 1
            self._store.brakes.paused.add(tool)
            await asyncio.sleep(chance.uniform(0, self._trouble / 3))
            self._say(f"resumed: {tool}")
            self._store.brakes.paused.discard(tool)
