"""Producers as processes of their own, begun together."""

import multiprocessing
from collections.abc import Sequence
from multiprocessing.connection import Connection

from bench.ingest.producer import Job, Told, produce

START_SECONDS = 120


def run(jobs: Sequence[Job]) -> list[Told]:
    """Run all jobs at once, each in a fresh process; what each told. RuntimeError where one broke."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(len(jobs))
    pipes = [context.Pipe(duplex=False) for _ in jobs]
    processes = [
        context.Process(target=_child, args=(job, barrier, sending))
        for job, (_receiving, sending) in zip(jobs, pipes, strict=True)
    ]
    for process in processes:
        process.start()
    told = [_heard(receiving, job) for job, (receiving, _sending) in zip(jobs, pipes, strict=True)]
    for process in processes:
        process.join()
    broken = [one.error for one in told if one.error is not None]
    if broken:
        raise RuntimeError(f"a producer broke: {broken[0]}")
    return told


def _heard(pipe: Connection, job: Job) -> Told:
    if not pipe.poll(START_SECONDS + job.warm_up + job.seconds):
        return Told(error="it did not end in time")
    told: Told = pipe.recv()
    return told


def _child(job: Job, barrier: "multiprocessing.synchronize.Barrier", pipe: Connection) -> None:
    try:
        told = produce(job, lambda: barrier.wait(START_SECONDS))
    except Exception as error:  # noqa: BLE001 - the parent says it
        told = Told(error=f"{type(error).__name__}: {error}")
    pipe.send(told)
