"""Bugs planted into the product here, each of which takes away one rule of probes, limits, early reads or forks."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from effects import limits
from effects.limits import Bucket, Rate
from gateway.dispatcher import claim
from gateway.service import brakes
from gateway.turn import advance, approving, probing
from gateway.turn.probing import ProbeCall
from gateway.turn.standing import Standing
from ledger.state import Intent

Plant = Any
"""Puts the bug into this process; taken out with ``monkeypatch``."""


def _believes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    due = probing.due

    def hasty(*asked: Any, late_wait: float) -> ProbeCall | float:
        return due(*asked, late_wait=late_wait - 60)

    monkeypatch.setattr(probing, "due", hasty)


def _sends_again(monkeypatch: pytest.MonkeyPatch) -> None:
    make = probing._assignment

    def call_itself(unfolding: Any, force: Any, intent: Intent, *about: Any) -> Any:
        made = make(unfolding, force, intent, *about)
        return replace(made, tool=intent.tool, arguments_raw=intent.arguments_raw)

    monkeypatch.setattr(probing, "_assignment", call_itself)


def _takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_rate: Rate, bucket: Bucket | None, now: datetime) -> tuple[Bucket, float]:
        return bucket or Bucket(1.0, now), 0.0

    monkeypatch.setattr(limits, "draw", full)


def _asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = claim._Claim.__init__

    def let_in(self: Any, *about: Any, **_admitted: Any) -> None:
        begin(self, *about, admitted_after=0)

    monkeypatch.setattr(claim._Claim, "__init__", let_in)
    monkeypatch.setattr(claim._Claim, "_is_admitted", lambda _self, _intent: True)


def _keeps_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    admitted = claim.Claims._claim_admitted

    async def forgetful(self: Any, *about: Any) -> Any:
        self._admissions._rows.places.clear()
        return await admitted(self, *about)

    monkeypatch.setattr(claim.Claims, "_claim_admitted", forgetful)


def _counts_no_early_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Standing, "early_beside", lambda _self, _case: 0)


def _never_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brakes, "on_probation", lambda _stopped_at, _now: True)


def _forgets_its_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advance, "repeats", lambda _inherited, _case: False)


def _takes_any_word(monkeypatch: pytest.MonkeyPatch) -> None:
    def allowed(case: Any, now: datetime) -> bool:
        return approving.needed(case, now) is None or case.intent.approval is not None

    monkeypatch.setattr(approving, "allowed", allowed)


def _forgets_what_it_showed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approving, "_redefined", lambda _case: False)


def _shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approving, "ask_anew", lambda _unfolding, _force, _intent_id: False)
    monkeypatch.setattr(approving, "_check_definition", lambda _intent, _now, *, seen: None)


PLANTS: Mapping[str, Plant] = {
    "believes a probe that finds nothing while the call may still arrive": _believes_at_once,
    "probes by sending the call itself": _sends_again,
    "takes nothing out of the bucket of a rate": _takes_nothing,
    "asks nobody whether a limited call may go": _asks_nobody,
    "keeps no place for a call that was let in": _keeps_no_place,
    "counts no early reads": _counts_no_early_reads,
    "lets a tool that stopped go early all the same": _never_rests,
    "does not ask about what a fork repeats": _forgets_its_origin,
    "takes a word that expired": _takes_any_word,
    "sends what was approved under another table": _forgets_what_it_showed,
    "takes a word about what nobody was shown": _shows_nothing,
}
