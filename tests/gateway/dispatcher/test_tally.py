"""What a process wrote, as Prometheus is told it."""

from __future__ import annotations

import re
from typing import Any

import httpx2
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from effects.intent import IntentState
from gateway.errors import Unavailable
from gateway.metrics import Meter
from gateway.service.streams import Streams
from gateway.service.tables import EffectTables
from gateway.tally import MOST_TOOLS, OTHERS, Tally
from gateway.turn.scanner import BlockScanner
from ledger.append import Appended, Ledger
from ledger.events import EventType
from tests.gateway.dispatcher.floor import Floor, spelled
from tests.gateway.toolserver import eventually, ok, status


class Counted:
    """A floor whose writes are counted, and what was counted."""

    def __init__(self, floor: Floor) -> None:
        self.floor = floor
        self.registry = CollectorRegistry()
        self.tally = Tally(self.registry)
        floor.ledger = Ledger(floor.engine, clock=floor.clock, observer=self.tally)
        floor.tables = EffectTables(floor.ledger, floor.clock)
        floor.streams = Streams(floor.ledger, floor.tables, BlockScanner(), floor.clock)

    def value(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(f"commitgate_{name}", labels) or 0.0


@pytest.fixture
def counted(floor: Floor) -> Counted:
    return Counted(floor)


def test_a_write_waited_for_its_block_and_then_for_nothing(counted: Counted) -> None:
    floor = counted.floor
    turn = floor.draft("write", key="a")
    floor.clock.skip(5)
    turn.accept()
    with floor.dispatching():
        turn.until(IntentState.SETTLED, final=True)
    assert 5 <= counted.value("hold_seconds_sum", effect="WRITE", release="committed") < 60
    assert 5 <= counted.value("wait_seconds_sum", reason="undecided") < 60
    assert counted.value("release_latency_seconds_count", effect="WRITE") == 1
    assert counted.value("dispatch_seconds_count", effect="WRITE") == 1
    assert counted.value("dispatches_total", effect="WRITE", outcome="ok") == 1
    for state in ("held", "released", "final"):
        assert counted.value("intents_total", effect="WRITE", state=state) == 1
    assert counted.value("appends_total") == counted.value("append_group_size_sum") >= 4
    assert counted.value("appended_events_total") == len(turn.events)


def test_a_later_write_waited_for_the_earlier_one(counted: Counted) -> None:
    floor = counted.floor
    first = floor.tools.hold("/write")
    turn = floor.draft("write", key="a")
    turn.write(EventType.TOKENS_DRAFTED, round=0, start=2, tokens=[{"text": spelled("put", {"key": "a"})}])
    turn.write(EventType.TOKENS_RULED, round=0, start=0, end=3, accepted=3)
    with floor.dispatching():
        eventually(lambda: floor.tools.received("/write"))
        floor.clock.skip(7)
        first.release()
        eventually(lambda: counted.value("dispatches_total", effect="IDEMPOTENT", outcome="ok") == 1)
    assert 7 <= counted.value("wait_seconds_sum", reason="order") < 60
    assert 7 <= counted.value("hold_seconds_sum", effect="IDEMPOTENT", release="committed") < 60


def test_early_reads_are_used_or_wasted(counted: Counted) -> None:
    floor = counted.floor
    used, wasted = floor.draft("read"), floor.draft("read")
    with floor.dispatching():
        used.until(IntentState.SETTLED, final=False)
        wasted.until(IntentState.SETTLED, final=False)
        used.accept()
        wasted.reject()
    early = {
        outcome: counted.value("early_reads_total", tool="read", outcome=outcome)
        for outcome in ("sent", "used", "wasted", "stale")
    }
    assert early == {"sent": 2, "used": 1, "wasted": 1, "stale": 0}
    assert counted.value("wait_seconds_count", reason="nothing") == 2


def test_doubts_and_refusals_of_tools_are_outcomes(counted: Counted) -> None:
    floor = counted.floor
    floor.tools.behave("/write", status(503), status(422))
    lost, refused = floor.turn("write", key="a"), floor.turn("write", key="b")
    with floor.dispatching():
        eventually(lambda: {lost.intent.state, refused.intent.state} >= {IntentState.IN_DOUBT})
        eventually(lambda: {lost.intent.state, refused.intent.state} >= {IntentState.SETTLED})
    assert counted.value("dispatches_total", effect="WRITE", outcome="in_doubt") == 1
    assert counted.value("dispatches_total", effect="WRITE", outcome="tool_error") == 1


def test_what_cannot_be_counted_harms_nothing(counted: Counted) -> None:
    nonsense: Any = Appended(None, (None,))  # type: ignore[arg-type]
    counted.tally.appended(nonsense)
    assert counted.value("appends_total") == 1


def test_labels_of_tools_are_bounded_and_hold_no_ids(counted: Counted) -> None:
    floor = counted.floor
    floor.tools.behave("/read", ok())
    turn = floor.draft("read")
    with floor.dispatching():
        turn.until(IntentState.SETTLED, final=False)
    counted.tally._tools |= {f"tool-{n}" for n in range(MOST_TOOLS)}
    counted.tally._tools.discard("read")
    turn.accept()
    assert counted.value("early_reads_total", tool=OTHERS, outcome="used") == 1
    labels = {
        label for family in counted.registry.collect() for sample in family.samples for label in sample.labels
    }
    assert labels == {"effect", "state", "release", "reason", "outcome", "tool", "le"}


def test_names_are_as_prometheus_wants_them(floor: Floor) -> None:
    meter = Meter(floor.engine)
    with meter.serving(0) as address:
        assert address is not None
        assert address.startswith("http://127.0.0.1:")
        text = httpx2.get(address).text
        with pytest.raises(Unavailable), meter.serving(int(address.split(":")[2].split("/")[0])):
            pass
    families = [f for f in text_string_to_metric_families(text) if f.name.startswith("commitgate_")]
    assert {"commitgate_hold_seconds", "commitgate_approvals_waiting", "commitgate_doubts_open"} <= {
        family.name for family in families
    }
    for family in families:
        assert re.fullmatch(r"commitgate_[a-z_]+", family.name)
        assert family.documentation.endswith(".")
        if family.type == "histogram" and family.name.endswith("seconds"):
            assert not family.name.endswith("milliseconds")
