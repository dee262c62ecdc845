"""Forks: what a message inherits from those that it forked from, read from the ledger before a decision is taken."""

from datetime import datetime

from gateway.errors import ForkOfItself, ForksTooDeep, UnknownForkOf
from gateway.turn.forking import MAX_FORKS, inheritance
from gateway.turn.unfolding import Inherited, Unfolding
from ledger.append import Ledger
from ledger.state import StreamState

NOTHING: Inherited = frozenset()


def begin(ledger: Ledger, state: StreamState, now: datetime) -> Unfolding:
    """A decision on ``state`` that knows what it inherited."""
    return Unfolding(state, now, inherited(ledger, state))


def inherited(ledger: Ledger, state: StreamState) -> Inherited:
    """What all the messages before it have sent that it must not repeat unasked; nothing where it is no fork.

    What they send later than this is read does not count: then the fork was first.
    """
    found: Inherited = NOTHING
    for ancestor in _ancestors(ledger, state.tenant, state.fork_of):
        found |= inheritance(ancestor)
    return found


def check_fork(ledger: Ledger, tenant: str, commit_key: str, fork_of: str | None) -> None:
    """Whether a new stream may be opened as a fork of ``fork_of``.

    Raises ``ForkOfItself``, ``UnknownForkOf``, and ``ForksTooDeep`` beyond ``MAX_FORKS`` messages in a chain.
    """
    if fork_of is None:
        return
    if fork_of == commit_key:
        raise ForkOfItself("a stream is no fork of itself", path="fork_of")
    if not ledger.read(tenant, fork_of).exists:
        raise UnknownForkOf(f"there is no stream {fork_of!r} to fork from", path="fork_of")
    if len(_ancestors(ledger, tenant, fork_of)) >= MAX_FORKS:
        raise ForksTooDeep(f"at most {MAX_FORKS} messages fork from each other", path="fork_of")


def _ancestors(ledger: Ledger, tenant: str, fork_of: str | None) -> list[StreamState]:
    found: list[StreamState] = []
    while fork_of is not None and len(found) < MAX_FORKS:
        found.append(ledger.read(tenant, fork_of))
        fork_of = found[-1].fork_of
    return found
