"""Which statements a plain engine does not have. Imports nothing but re: it is loaded into every process of a plain run."""

import re

_FEATURES = {
    "LISTEN/NOTIFY": r"(?:^|;)\s*(?:un)?listen\b|(?:^|;)\s*notify\b|\bpg_notify\b|\bpg_listening_channels\b",
    "advisory locks": r"\bpg_(?:try_)?advisory_\w+",
    "SKIP LOCKED": r"\bskip\s+locked\b",
}
_PATTERNS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _FEATURES.items()}
_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


def forbidden(statement: str) -> str | None:
    """The feature that ``statement`` uses and a plain engine lacks; None where there is none."""
    bare = _COMMENTS.sub(" ", statement)
    return next((name for name, pattern in _PATTERNS.items() if pattern.search(bare)), None)
