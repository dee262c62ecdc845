"""The real thing: the gateway's services over Postgres, two gateways taking turns on each stream."""

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import count

from sqlalchemy import Engine, delete, select

from effects.intent import ResultStatus
from gateway.errors import GatewayError
from gateway.principal import everyone
from gateway.turn import dispatching
from gateway.turn.advance import advance
from gateway.turn.opening import StreamTerms
from gateway.turn.unfolding import Unfolding
from gateway.wiring import Wired, wire
from ledger.append import Appended, Change, CloseLicence, Ledger, Licence, SeizeLicence
from ledger.change import SideRow
from ledger.events import Event
from ledger.rebuild import PROJECTIONS, check, rebuild
from ledger.schema import of_stream
from ledger.sharding import StreamName
from ledger.state import StreamState
from tests.ledger.model.core import OTHERS, end_if_silent, posted_intent, token_event
from tests.ledger.model.stream import Said
from tests.ledger.model.tools import POLICIES, Policy, document

Decide = Callable[[Unfolding], Sequence[SideRow]]


class World:
    """One database, a tenant for each policy. ``owner``: an engine under a login that may drop projections."""

    def __init__(self, engine: Engine, owner: Engine) -> None:
        self.owner = owner
        self.now = datetime.min
        self.engine = engine
        self.gateways = [wire(engine, clock=lambda: self.now, brakes=False) for _ in range(2)]
        self._streams = count()
        self.principals = {policy: everyone(f"tenant-{n}") for n, policy in enumerate(POLICIES)}

    def begin(self, policy: Policy, source: str, lanes: tuple[str, ...], now: datetime) -> "Live":
        self.now = now
        self.gateways[0].tables.apply(self.principals[policy], document(policy))
        return Live(self, policy, source, lanes, f"history-{next(self._streams)}")


class Live:
    """One stream."""

    replays_batches = True

    def __init__(self, world: World, policy: Policy, source: str, lanes: tuple[str, ...], key: str) -> None:
        self._world, self._principal, self._key = world, world.principals[policy], key
        self._acts = count()
        self._name = StreamName.of(self._principal.tenant, key)
        self.log: list[Event] = []
        terms = StreamTerms(source=source, branches=lanes, branches_mode="disjoint")
        self._gateway().streams.open(self._principal, key, terms)
        self._look()

    def take_over(self, now: datetime) -> None:
        if self.reopen(StreamTerms(), now) is not None:
            raise AssertionError("a takeover was refused")

    def reopen(self, terms: StreamTerms, now: datetime) -> str | None:
        return self._refusable(now, lambda g: g.streams.open(self._principal, self._key, terms))

    def write(self, epoch: int, events: list[Said], now: datetime) -> str | None:
        """Under a batch id of its own, which ``replay`` gives again."""
        self._batch = f"batch-{next(self._acts)}"
        return self._refusable(now, lambda g: self._write(g, epoch, events, self._body(events)))

    def replay(self, epoch: int, events: list[Said], now: datetime, *, same_body: bool) -> str:
        """ "replayed", "written", or the code of the refusal; the writer's epoch may be over by now."""
        answer = ""

        def act(gateway: Wired) -> None:
            nonlocal answer
            body = self._body(events) + (b"" if same_body else b" ")
            answer = "replayed" if self._write(gateway, epoch, events, body) else "written"

        return self._refusable(now, act) or answer

    def post(self, said: Said, now: datetime) -> str:
        replayed = False

        def act(gateway: Wired) -> None:
            nonlocal replayed
            _, replayed = gateway.intents.post(self._principal, self._key, posted_intent(said))

        return self._refusable(now, act) or ("replay" if replayed else "held")

    def claim(self, intent_id: str, now: datetime) -> bool:
        sent = False

        def decide(unfolding: Unfolding) -> Sequence[SideRow]:
            nonlocal sent
            call = dispatching.claim(unfolding, self._force, intent_id, worker="w", epoch=1)
            sent = call is not None
            if call is None:
                return ()
            licence = Licence(
                intent_id=intent_id,
                attempt=call.attempt,
                branch=unfolding.intent(intent_id).branch,
                effect=call.effect.value,
                worker="w",
                epoch=1,
                lease_seconds=0,
                once_key=intent_id if call.effect.value == "WRITE" else None,
            )
            return (licence,)

        self._append(now, decide)
        return sent

    def answer(
        self, intent_id: str, attempt: int, status: str, content: object, now: datetime, *, unsent: bool
    ) -> bool:
        on_time = False
        outcome = dispatching.Outcome(ResultStatus(status), content, unsent=unsent)

        def decide(unfolding: Unfolding) -> Sequence[SideRow]:
            nonlocal on_time
            on_time = dispatching.settle(unfolding, self._force, intent_id, attempt, outcome)
            closing = CloseLicence(intent_id=intent_id, attempt=attempt, epoch=1, unsent=unsent)
            return (closing,) if on_time else ()

        self._append(now, decide)
        return on_time

    def lose(self, intent_id: str, attempt: int, retry_after: float, now: datetime) -> bool:
        """Told by the worker itself, or seen by the sweep once the lease is over."""
        lost, seize = False, next(self._acts) % 2 == 0

        def decide(unfolding: Unfolding) -> Sequence[SideRow]:
            nonlocal lost
            told = (intent_id, attempt)
            lost = dispatching.lose(unfolding, self._force, *told, because="lost", retry_after=retry_after)
            if not lost:
                return ()
            if seize:
                return (SeizeLicence(intent_id=intent_id, attempt=attempt, seen_epoch=1),)
            return (CloseLicence(intent_id=intent_id, attempt=attempt, epoch=1),)

        self._append(now, decide)
        return lost

    def resolve(self, intent_id: str, happened: bool, now: datetime) -> str | None:
        told = {"happened": happened, "reason": "seen"}
        return self._refusable(
            now,
            lambda g: g.doubts.resolve(self._principal, self._key, intent_id, **told),  # type: ignore[arg-type]
        )

    def approve(self, intent_id: str, now: datetime, *, of_others: bool) -> str | None:
        digest = OTHERS if of_others else None
        return self._refusable(
            now,
            lambda g: g.approvals.approve(
                self._principal, self._key, intent_id, note="n", arguments_digest=digest
            ),
        )

    def deny(self, intent_id: str, now: datetime, *, of_others: bool) -> str | None:
        digest = OTHERS if of_others else None
        return self._refusable(
            now,
            lambda g: g.approvals.deny(
                self._principal, self._key, intent_id, reason="no", arguments_digest=digest
            ),
        )

    def fall_silent(self, now: datetime) -> None:
        def decide(unfolding: Unfolding) -> Sequence[SideRow]:
            end_if_silent(unfolding, self._force)
            return ()

        self._append(now, decide)

    def settle_down(self, now: datetime) -> None:
        def decide(unfolding: Unfolding) -> Sequence[SideRow]:
            advance(unfolding, self._force)
            return ()

        self._append(now, decide)

    def check(self) -> None:
        """Every gateway, and one that has just begun, see one state; projections are what events amount to, and come back
        equal when they were dropped."""
        states = [g.ledger.read(*self._place) for g in self._world.gateways]
        fresh = Ledger(self._world.engine, clock=lambda: self._world.now).read(*self._place)
        if any(state != fresh for state in states):
            raise AssertionError("a remembered state is not what the events amount to")
        differences = list(check(self._world.engine, only=self._name))
        if differences:
            raise AssertionError(f"projections differ: {differences}")
        before = self._rows()
        with self._world.owner.begin() as connection:
            for table in PROJECTIONS:
                connection.execute(delete(table).where(of_stream(table, self._name)))
        rebuild(self._world.engine, only=self._name)
        if self._rows() != before:
            raise AssertionError(f"rebuilt rows differ:\n{before}\n{self._rows()}")

    @property
    def _place(self) -> tuple[str, str]:
        return self._principal.tenant, self._key

    @property
    def _force(self):  # type: ignore[no-untyped-def]
        return self._world.gateways[0].tables.current(self._principal.tenant)

    def _rows(self) -> dict[str, list[tuple[object, ...]]]:
        with self._world.owner.connect() as connection:
            return {
                table.name: sorted(
                    (
                        tuple(value for name, value in row._mapping.items() if name != "unsealed")
                        for row in connection.execute(select(table).where(of_stream(table, self._name)))
                    ),
                    key=str,
                )
                for table in PROJECTIONS
            }

    def _gateway(self) -> Wired:
        return self._world.gateways[next(self._acts) % 2]

    def _body(self, events: list[Said]) -> bytes:
        return json.dumps(events).encode()

    def _write(self, gateway: Wired, epoch: int, events: list[Said], body: bytes) -> bool:
        told = [token_event(said) for said in events]
        written = gateway.streams.write(
            self._principal, self._key, epoch, told, batch_id=self._batch, raw_body=body
        )
        return written.replayed

    def _refusable(self, now: datetime, act: Callable[[Wired], object]) -> str | None:
        self._world.now = now
        try:
            act(self._gateway())
        except GatewayError as refused:
            return refused.stable_code
        finally:
            self._look()
        return None

    def _append(self, now: datetime, decide: Decide) -> Appended:
        self._world.now = now

        def change(state: StreamState) -> Change:
            unfolding = Unfolding(state, now)
            side = tuple(decide(unfolding))
            return Change(unfolding.events, side)

        done = self._gateway().ledger.append(*self._place, change)
        self._look()
        return done

    def _look(self) -> None:
        """What another gateway than the one that wrote last makes of the stream."""
        ledger = self._gateway().ledger
        self.state = ledger.read(*self._place)
        self.log += ledger.events(*self._place, after=len(self.log), limit=10_000)
