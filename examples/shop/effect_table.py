"""The shop's effect table, with the origin at which the shop really listens."""

from pathlib import Path

EFFECTS_FILE = Path(__file__).with_name("effects.yaml")
WRITTEN_ORIGIN = "http://127.0.0.1:9100"


def effects_yaml(origin: str) -> str:
    """The text of ``effects.yaml`` with every upstream at ``origin``, such as ``http://127.0.0.1:41234``."""
    return EFFECTS_FILE.read_text(encoding="utf-8").replace(WRITTEN_ORIGIN, origin.rstrip("/"))
