"""Durations as an effect table writes them: ``250ms``, ``10s``, ``5m``, ``24h``, ``7d``."""

import re

MAX_SECONDS = 3650 * 86400
"""Longest duration, ten years: its spelling in seconds is still read back."""

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SPELLING = re.compile(r"([0-9]{1,9})(ms|s|m|h|d)")


def parse_duration(spelling: object) -> float:
    """Seconds. Raises ValueError unless ``spelling`` is a whole number with its unit, above zero and at most ten years."""
    found = _SPELLING.fullmatch(spelling) if isinstance(spelling, str) else None
    if found is None:
        raise ValueError(
            f"a duration is a whole number with a unit (250ms, 10s, 5m, 24h, 7d), not {spelling!r}"
        )
    count = int(found[1])
    seconds = count / 1000 if found[2] == "ms" else float(count * _SECONDS[found[2]])
    if not 0 < seconds <= MAX_SECONDS:
        raise ValueError("a duration is longer than zero and at most 3650d")
    return seconds


def format_duration(seconds: float) -> str:
    """The one spelling that is kept of all that mean the same: whole seconds, else milliseconds."""
    milliseconds = round(seconds * 1000)
    return f"{milliseconds}ms" if milliseconds % 1000 else f"{milliseconds // 1000}s"
