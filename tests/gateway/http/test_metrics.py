"""``/metrics``: what it says is so."""

from __future__ import annotations

import socket

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from gateway.http.app import create_app
from gateway.http.settings import HttpSettings
from gateway.metrics import LedgerCollector, Meter
from gateway.wiring import services_over, wire
from ledger.connect import connect
from ledger.errors import LedgerUnavailable
from ledger.log.sealer import Sealed
from tests.gateway.http.front import Front, serving


def _values(text: str) -> dict[str, float]:
    return {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.labels
    }


def _fresh(front: Front) -> dict[str, float]:
    """The ledger's metrics, asked for now."""
    return {family.name: family.samples[0].value for family in LedgerCollector(front.engine).collect()}


def test_tells_how_the_ledger_stands(front: Front) -> None:
    size = front.seal()
    before = _fresh(front)
    assert before["commitgate_database_up"] == 1
    assert before["commitgate_log_size"] == before["commitgate_checkpoint_size"] == size
    assert before["commitgate_unsealed_events"] == before["commitgate_sealing_lag_seconds"] == 0
    front.in_doubt()
    waiting = _fresh(front)
    assert waiting["commitgate_doubts_open"] == before["commitgate_doubts_open"] + 1
    assert waiting["commitgate_oldest_doubt_age_seconds"] > before["commitgate_oldest_doubt_age_seconds"]
    assert waiting["commitgate_unsealed_events"] > 0
    assert waiting["commitgate_sealing_lag_seconds"] > 0
    front.seal()
    assert _fresh(front)["commitgate_unsealed_events"] == 0


def test_is_text_that_prometheus_reads(front: Front) -> None:
    answer = front.client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    values = _values(answer.text)
    assert values["commitgate_database_up"] == 1
    assert values["process_resident_memory_bytes"] > 0


def test_two_meters_in_one_process_know_nothing_of_each_other(front: Front) -> None:
    one, two = Meter(front.engine), Meter(front.engine)
    one.sealed(Sealed(0, 5, events=5))
    one.failed(LedgerUnavailable("away"))
    assert _values(one.text().decode())["commitgate_sealed_events_total"] == 5
    assert 'commitgate_sealing_errors_total{code="ledger_unavailable"} 1.0' in one.text().decode()
    assert _values(two.text().decode())["commitgate_sealed_events_total"] == 0


def test_answers_while_the_database_does_not() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        engine = connect(f"postgresql+psycopg://u@127.0.0.1:{closed.getsockname()[1]}/d")
        services = services_over(wire(engine), ready=lambda: None)
        with serving(create_app(services, HttpSettings())) as served:
            answer = httpx2.get(served.url + "/metrics")
    assert answer.status_code == 200
    values = _values(answer.text)
    assert values["commitgate_database_up"] == 0
    assert "commitgate_log_size" not in values
    assert values["process_resident_memory_bytes"] > 0
