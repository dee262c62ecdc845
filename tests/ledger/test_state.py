"""The state of a stream as a value."""

from dataclasses import fields, replace
from datetime import UTC, datetime
from types import MappingProxyType

from ledger.state import Branch, StreamState


def test_what_token_events_make_of_a_state_is_everything_else_unchanged():
    """A field that is added later must not be lost on the way."""
    before = StreamState(
        tenant="t", commit_key="k", seq=4, writer_epoch=2, format="f", source="detected", binding="pair",
        branches_mode="disjoint", threshold=0.5, parent="p", labels=MappingProxyType({"a": 1}), finished="stop",
        opened_at=datetime(2026, 1, 1, tzinfo=UTC), last_writer_at=datetime(2026, 1, 2, tzinfo=UTC),
        branches=MappingProxyType({"main": Branch("main"), "side": Branch("side")}), intents=MappingProxyType({}),
        redacted=frozenset({1}), fork_of="q",
    )  # fmt: skip
    defaults = StreamState("", "")
    assert {f.name for f in fields(before) if getattr(before, f.name) == getattr(defaults, f.name)} == {
        "intents"
    }
    at, moved = datetime(2026, 1, 3, tzinfo=UTC), Branch("main", 1)
    after = before.with_branches({"main": moved}, at=at, seq=5)
    branches = MappingProxyType({**before.branches, "main": moved})
    assert after == replace(before, seq=5, last_writer_at=at, branches=branches)
    assert after.intents is before.intents
