"""What a seed must have come to: nothing lost, nothing twice, and as if the calls had run one by one."""

import json
from collections import Counter
from collections.abc import Sequence

from decoding.calls.hermes import HermesDetector
from decoding.calls.scan import scan
from effects.classes import EffectClass
from effects.intent import BlockState, IntentState, ResultStatus
from gateway.turn.probing import Found
from ledger.events import Event, EventType
from ledger.state import Intent, StreamState
from tests.equivalence.worlds import Setting
from tests.simulation.network import Network
from tests.simulation.store import Store
from tests.simulation.writer import Writer

_HAPPENED = (ResultStatus.OK, ResultStatus.HAPPENED_UNKNOWN_RESULT)


def judged(
    store: Store, writer: Writer, setting: Setting, network: Network, counts: Counter[str]
) -> list[str]:
    """The faults of one message once it is over; ``counts`` learns what was provoked."""
    state = store.read(writer.commit_key)
    faults = [*_lost(state), *_told_wrongly(state, network), *_recorded_twice(store, writer.commit_key)]
    faults += _not_serial(state, setting, network, writer.commit_key)
    faults += _probed_wrongly(store.events[writer.commit_key], network)
    _count(store, state, counts)
    counts.update(writer.heard)
    return [f"{writer.commit_key}: {fault}" for fault in faults]


def _lost(state: StreamState) -> list[str]:
    """Every block of the accepted text is an intent, and every intent is over."""
    accepted = [token.text for token in state.branches["main"].accepted]
    spelled = sum(len(block.calls) for block in scan(HermesDetector(), accepted))
    cleared = [i for i in state.intents.values() if i.block is BlockState.CLEARED]
    faults = [f"{i.intent_id} is {i.state}" for i in state.intents.values() if not i.terminal]
    if len(cleared) != spelled:
        faults.append(f"{spelled} calls are accepted, {len(cleared)} are cleared")
    if state.finished in ("stop", "length"):
        faults += [f"{i.intent_id} was lost: {i.state}" for i in cleared if i.state is IntentState.VOIDED]
    return faults


def _told_wrongly(state: StreamState, network: Network) -> list[str]:
    return [
        f"{i.intent_id} is {i.state} {i.result_status}, and acted {network.acts[i.intent_id]} times"
        for i in state.intents.values()
        if i.effect is not EffectClass.READ_ONLY and _happened(i) != (network.acts[i.intent_id] > 0)
    ]


def _recorded_twice(store: Store, commit_key: str) -> list[str]:
    settled = Counter(
        (e.intent_id, e.attempt) for e in store.events[commit_key] if e.type is EventType.DISPATCH_SETTLED
    )
    return [f"{name} was settled {number} times" for name, number in settled.items() if number > 1]


def _probed_wrongly(events: Sequence[Event], network: Network) -> list[str]:
    """What a probe found is what the tool's log says: that it acted, it had by then; that it did not, it never did."""
    faults = []
    for event in (event for event in events if event.type is EventType.DISPATCH_PROBED):
        verdict, acted = event.payload["verdict"], network.first_act.get(str(event.intent_id))
        if verdict == Found.HAPPENED and (acted is None or acted > event.at):
            faults.append(f"{event.intent_id} had not happened when a probe said so at {event.at}")
        if verdict == Found.NOT_HAPPENED and acted is not None:
            faults.append(
                f"{event.intent_id} happened at {acted}; at {event.at} a probe said that it had not"
            )
    return faults


def _not_serial(state: StreamState, setting: Setting, network: Network, commit_key: str) -> list[str]:
    world, faults = setting.begin(), []
    for intent in sorted((i for i in state.intents.values() if i.final), key=lambda i: i.place):
        if not _happened(intent):
            continue
        answer = world.act(str(intent.tool), json.loads(intent.arguments_raw or "{}"))
        if intent.result_status is ResultStatus.OK and answer != intent.result_content:
            faults.append(
                f"{intent.intent_id} {intent.tool} answered {intent.result_content}, one by one {answer}"
            )
    if world.snapshot() != network.worlds[commit_key].snapshot():
        faults.append(f"the world is {network.worlds[commit_key].snapshot()}, one by one {world.snapshot()}")
    return faults


def _happened(intent: Intent) -> bool:
    return intent.final and intent.result_status in _HAPPENED


def _count(store: Store, state: StreamState, counts: Counter[str]) -> None:
    counts["messages"] += 1
    counts["calls"] += len(state.intents)
    counts[f"ended {state.finished}"] += 1
    counts["forks"] += state.fork_of is not None
    approved: set[str] = set()
    for event in store.events[state.commit_key]:
        if event.type.value.startswith(("dispatch.", "intent.", "stream.taken")):
            counts[event.type.value] += 1
        if event.type is EventType.DISPATCH_PROBED:
            counts[f"probed: {event.payload['verdict']}"] += 1
        elif event.type is EventType.INTENT_APPROVED:
            approved.add(str(event.intent_id))
        elif event.type is EventType.INTENT_AWAITING_APPROVAL:
            counts[f"asked: {event.payload['because']}"] += 1
            counts["approval expired"] += event.intent_id in approved
