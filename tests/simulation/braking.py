"""What holds calls back in the simulated database: pauses, limits, stopped speculation, as ``ledger.braking`` keeps them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from effects import limits as limited
from effects.limits import Bucket
from ledger.braking.admission import FORGOTTEN, LOOK_AGAIN, Admission, Asking, Refusal
from ledger.braking.pausing import Pause
from ledger.braking.stops import Stop

if TYPE_CHECKING:
    from tests.simulation.process import Process
    from tests.simulation.store import LicenceRow

Place = tuple[str, str, str]
"""Tool (``*``: all together), commit key, intent."""


@dataclass
class BrakeRows:
    """``places``: of calls that were let in, their latest attempt before and since when. ``let_in``: every admission that
    there was, for whoever judges. ``stopped``: since when a tool's stop is what it is."""

    paused: set[str] = field(default_factory=set)
    stops: dict[str, Stop] = field(default_factory=dict)
    stopped: dict[str, datetime] = field(default_factory=dict)
    buckets: dict[str, Bucket] = field(default_factory=dict)
    places: dict[Place, tuple[int, datetime]] = field(default_factory=dict)
    let_in: list[tuple[Place, datetime]] = field(default_factory=list)


class _Table:
    """One table, as one process sees it."""

    def __init__(self, process: "Process") -> None:
        self._process = process

    @property
    def _rows(self) -> BrakeRows:
        self._process.asked()
        return self._process.store.brakes

    @property
    def _now(self) -> datetime:
        return self._process.store.at


class PausesTable(_Table):
    """As ledger.braking.pausing.Pauses."""

    def all(self) -> Mapping[str, list[Pause]]:
        # Whoever asks for both asks for pauses first.
        before, self._process.brakes_unanswered = self._process.brakes_unanswered, True
        paused = sorted(self._rows.paused)
        self._process.brakes_unanswered = before
        tenant = self._process.store.tenant
        return {tenant: [Pause(tool, "operator", "", self._now) for tool in paused]} if paused else {}


class StopsTable(_Table):
    """As ledger.braking.stops.Stops."""

    def all(self) -> Mapping[str, list[Stop]]:
        self._process.brakes_unanswered = True
        stops = self._rows.stops
        self._process.brakes_unanswered = False
        return {self._process.store.tenant: list(stops.values())} if stops else {}

    def stop(self, _tenant: str, stop: Stop) -> None:
        rows = self._rows
        tried = stop.tool in rows.stops
        rows.stops[stop.tool], rows.stopped[stop.tool] = stop, self._now
        self._tell("speculation tried again" if tried else "speculation stopped", stop.tool)

    def lift(self, _tenant: str, tool: str) -> None:
        if self._rows.stops.pop(tool, None) is not None:
            self._tell("speculation resumed", tool)

    def _tell(self, what: str, tool: str) -> None:
        self._process.store.counts[what] += 1
        self._process.fates.told(f"{self._process.name}: {what}: {tool}")


class AdmissionsTable(_Table):
    """As ledger.braking.admission.Admissions: all limits let the call in, or nothing is taken of any."""

    def ask(self, asking: Asking) -> Admission | Refusal:
        rows, now = self._rows, self._now
        taken: dict[str, Bucket] = {}
        for tool, limits in sorted(asking.limits.items()):
            if limits.concurrency is not None and self._running(rows, tool, asking) >= limits.concurrency:
                return self._refused(Refusal(tool, "concurrency", LOOK_AGAIN))
            if limits.rate is not None:
                taken[tool], wait = limited.draw(limits.rate, rows.buckets.get(tool), now)
                if wait:
                    return self._refused(Refusal(tool, "rate", wait))
        rows.buckets |= taken
        others = [p for p in rows.places if p[1:] == (asking.stream.commit_key, asking.intent_id)]
        alone = not any(self._runs(rows, place) and not self._is_sent(rows, place) for place in others)
        for tool, limits in asking.limits.items():
            place = (tool, asking.stream.commit_key, asking.intent_id)
            rows.let_in.append((place, now))
            if limits.concurrency is not None:
                rows.places[place] = (asking.after_attempt, now)
        return Admission(now, alone)

    def give_back(self, asking: Asking, admission: Admission) -> None:
        rows = self._rows
        for place in [p for p in rows.places if p[1:] == (asking.stream.commit_key, asking.intent_id)]:
            mine = admission.alone and rows.places[place][1] == admission.at
            if mine and not self._is_sent(rows, place):
                del rows.places[place]

    def _refused(self, refusal: Refusal) -> Refusal:
        self._process.store.counts[f"refused for {refusal.limit}"] += 1
        return refusal

    def _running(self, rows: BrakeRows, tool: str, asking: Asking) -> int:
        mine = (tool, asking.stream.commit_key, asking.intent_id)
        for place in [place for place in rows.places if place[0] == tool and not self._runs(rows, place)]:
            del rows.places[place]
        return sum(place[0] == tool and place != mine for place in rows.places)

    def _runs(self, rows: BrakeRows, place: Place) -> bool:
        """Licensed and without an outcome, or about to be licensed."""
        after, at = rows.places[place]
        licences = self._licences(place, after)
        fresh = at > self._now - timedelta(seconds=FORGOTTEN)
        return any(row.open for row in licences) or (not licences and fresh)

    def _is_sent(self, rows: BrakeRows, place: Place) -> bool:
        return any(row.open for row in self._licences(place, rows.places[place][0]))

    def _licences(self, place: Place, after: int) -> list["LicenceRow"]:
        return [
            row
            for (key, intent_id, attempt), row in self._process.store.licences.items()
            if (key, intent_id) == place[1:] and attempt > after
        ]
