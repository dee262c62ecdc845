"""The identity of an intent: (tenant, commit key, branch, start, ordinal, round), spelled as one opaque id."""

import hashlib

from effects.canonical import canonical
from ledger.state import StreamState


def intent_id(stream: StreamState, branch: str, start: int, ordinal: int, round_: int) -> str:
    """The id of the intent with this identity: the same on every gateway, at every try."""
    identity = [stream.tenant, stream.commit_key, branch, start, ordinal, round_]
    return "int_" + hashlib.sha256(canonical(identity)).hexdigest()[:24]
