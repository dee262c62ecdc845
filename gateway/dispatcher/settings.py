"""How a dispatcher works. All times in seconds."""

from dataclasses import dataclass

from ledger.sharding import SHARDS


@dataclass(frozen=True, slots=True)
class DispatcherSettings:
    """Settings of one dispatcher; the defaults of design.md, "Dispatch".

    ``lease_floor``: shortest lease; a tool's timeout plus ``lease_margin`` lengthens it. ``tries``: transmissions of a
    call that may be repeated, ``backoff`` the pause after the first, doubling. ``retry_pause``: pause before an
    IDEMPOTENT call is dispatched again, doubling up to ``longest_pause``. ``late_wait``: how much longer the answer of
    a call in doubt is awaited. ``grace``: how long a dispatcher that stops waits for its running calls.
    ``probe_pause``: pause after the first probe of a doubt, doubling up to ``longest_probe_pause``.
    ``sweep_batch``: found things that are worked on at a time.
    """

    lease_floor: float = 30.0
    lease_margin: float = 10.0
    poll_interval: float = 0.05
    sweep_interval: float = 1.0
    sweep_batch: int = 100
    idle_timeout: float = 600.0
    late_wait: float = 60.0
    concurrency: int = 32
    tries: int = 5
    backoff: float = 0.1
    retry_pause: float = 1.0
    longest_pause: float = 60.0
    grace: float = 10.0
    probe_pause: float = 5.0
    longest_probe_pause: float = 300.0
    probes_at_once: int = 16
    ledger_threads: int = 8
    shards: tuple[int, ...] = tuple(range(SHARDS))

    def lease_seconds(self, tool_timeout: float) -> float:
        """Length of the lease on a call to a tool with this timeout."""
        return max(self.lease_floor, tool_timeout + self.lease_margin)

    def pause_after(self, attempt: int) -> float:
        """Pause before the dispatch that follows ``attempt``."""
        return min(self.retry_pause * float(2 ** min(attempt - 1, 30)), self.longest_pause)

    def probe_pause_after(self, number: int) -> float:
        """Pause behind the probe that ``number`` others came before."""
        return min(self.probe_pause * float(2 ** min(number, 30)), self.longest_probe_pause)
