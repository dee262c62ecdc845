"""Both clients under one face, so that every test runs with each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from gateway.client import AsyncGate, AsyncTurn, Gate, Turn


class Awaited:
    """An async turn whose methods are waited for."""

    def __init__(self, turn: AsyncTurn, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._turn = turn
        self._run = run

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._turn, name)
        if not callable(found):
            return found
        return lambda *args, **kwargs: self._run(found(*args, **kwargs))


class Plain:
    """The client that blocks."""

    @contextmanager
    def turn(self, url: str, key: str | None = None, **terms: Any) -> Iterator[Turn]:
        with Gate(url, patience=5) as gate, gate.turn(key, **terms) as turn:
            yield turn


class Asyncio:
    """The client for asyncio, in a loop of its own."""

    @contextmanager
    def turn(self, url: str, key: str | None = None, **terms: Any) -> Iterator[Awaited]:
        with asyncio.Runner() as runner:
            gate = AsyncGate(url, patience=5)
            turn = gate.turn(key, **terms)
            runner.run(turn.__aenter__())
            try:
                yield Awaited(turn, runner.run)
            except BaseException as error:
                runner.run(turn.__aexit__(type(error), error, error.__traceback__))
                raise
            else:
                runner.run(turn.__aexit__(None, None, None))
            finally:
                runner.run(gate.aclose())


Kind = Plain | Asyncio
