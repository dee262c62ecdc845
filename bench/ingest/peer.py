"""The peer: the recorder of ``eventsourcing`` (PyPI), batches of 100 in one insert, same server, same run."""

import time
from uuid import uuid4

from sqlalchemy import make_url

BATCH = 100


def rate(admin_url: str, seconds: float, payload: bytes) -> float:
    """Events a second that its Postgres aggregate recorder takes, ``BATCH`` of one stream at a time."""
    from eventsourcing.persistence import StoredEvent
    from eventsourcing.postgres import PostgresAggregateRecorder, PostgresDatastore

    url = make_url(admin_url)
    store = PostgresDatastore(
        dbname=str(url.database),
        host=str(url.query.get("host") or url.host),
        port=str(url.query.get("port") or url.port or 5432),
        user=str(url.username),
        password=str(url.password or ""),
    )
    recorder = PostgresAggregateRecorder(store, events_table_name="bench_peer_events")
    recorder.create_table()
    begin = time.perf_counter()
    written = 0
    while time.perf_counter() - begin < seconds:
        stream = uuid4()
        recorder.insert_events(
            [StoredEvent(stream, version, "bench.Event", payload) for version in range(1, BATCH + 1)]
        )
        written += BATCH
    taken = time.perf_counter() - begin
    store.close()
    return written / taken
