"""The peers, on the same server in the same run: ``dbos`` (a workflow of two steps) and ``pgqueuer`` (batches of 100)."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

from sqlalchemy import make_url

from bench.server import libpq

WORKFLOW_THREADS = 32
BATCH = 100


def dbos_steps(admin_url: str, seconds: float) -> float:
    """Steps a second of workflows with two steps that do nothing, many at a time."""
    from dbos import DBOS, DBOSConfig

    config = DBOSConfig(name="bench", system_database_url=libpq(admin_url))
    DBOS(config=config)

    @DBOS.step()
    def step(number: int) -> dict[str, int]:
        return {"ok": number}

    @DBOS.workflow()
    def book(number: int) -> int:
        return step(number)["ok"] + step(number)["ok"]

    DBOS.launch()
    try:
        begin = time.monotonic()
        done = 0

        def work() -> int:
            made = 0
            while time.monotonic() - begin < seconds:
                book(made)
                made += 2
            return made

        with ThreadPoolExecutor(WORKFLOW_THREADS) as threads:
            done = sum(one.result() for one in [threads.submit(work) for _ in range(WORKFLOW_THREADS)])
        return done / (time.monotonic() - begin)
    finally:
        DBOS.destroy()


def pgqueuer_jobs(admin_url: str, seconds: float) -> float:
    """Jobs a second of a queue that is filled beforehand, ``BATCH`` taken at a time."""
    return asyncio.run(_pgqueuer_jobs(admin_url, seconds))


async def _pgqueuer_jobs(admin_url: str, seconds: float) -> float:
    import psycopg
    from pgqueuer import PgQueuer, PsycopgDriver, Queries
    from pgqueuer.models import Job
    from psycopg import sql

    url = libpq(admin_url)
    name = f"bench{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    own = libpq(make_url(admin_url).set(database=name).render_as_string(hide_password=False))
    async with await psycopg.AsyncConnection.connect(own, autocommit=True) as working:
        driver = PsycopgDriver(working)
        queries = Queries(driver)
        await queries.install()
        count = 2000
        await queries.enqueue(["book"] * count, [b"{}"] * count, [0] * count)
        queue = PgQueuer(driver)
        done = 0
        begin = time.monotonic()

        @queue.entrypoint("book")
        async def book(_job: Job) -> None:
            nonlocal done
            done += 1
            if done == count or time.monotonic() - begin > seconds:
                queue.shutdown.set()

        await queue.run(batch_size=BATCH)
        return done / (time.monotonic() - begin)
