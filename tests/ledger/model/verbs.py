"""What is done to a call that waits for something, and to which calls it can be done."""

from ledger.state import Intent

VERBS = (
    "ok",
    "ok",
    "lose",
    "lose",
    "late",
    "old",
    "resolve",
    "unsent",
    "error",
    "lose for a minute",
    "unavailable",
    "approve",
    "approve",
    "deny",
)
COMMON = ("ok", "ok", "lose", "nothing yet", "nothing yet", "error")


def fits(intent: Intent, verb: str) -> bool:
    if verb == "late":
        return intent.attempts > 0 and intent.open_attempt is None
    if verb == "old":
        return intent.attempts > 1
    if verb == "resolve":
        return intent.state == "in_doubt"
    if verb in ("approve", "deny"):
        return intent.state == "awaiting_approval"
    return intent.open_attempt is not None
