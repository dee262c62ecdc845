"""Which role may call what: the one table for every route (interface.md, "Auth"). A route that is not in it is nobody's.

``admin`` may do everything. Roles add up: a key holds several where a program does several kinds of work.
"""

import re
from collections.abc import Mapping

from gateway.principal import Role

ANYBODY: frozenset[Role] = frozenset()
"""No key is asked for."""

_OPEN, _DECODE, _RUN = ANYBODY, frozenset({Role.DECODER}), frozenset({Role.RUNTIME})
_OPERATE = frozenset({Role.OPERATOR})
_OVERSEE = frozenset({Role.AUDITOR, Role.OPERATOR})
_RECONCILE = frozenset({Role.RECONCILER})

ACCESS: Mapping[tuple[str, str], frozenset[Role]] = {
    ("GET", "/healthz"): _OPEN,
    ("GET", "/readyz"): _OPEN,
    ("GET", "/openapi.json"): _OPEN,
    ("GET", "/"): _OPEN,
    ("GET", "/metrics"): _OVERSEE,
    ("POST", "/v1/streams"): _RUN,
    ("GET", "/v1/streams/{}"): _RUN | _DECODE | _OVERSEE,
    ("GET", "/v1/streams/{}/events"): _RUN | _DECODE | _OVERSEE,
    ("POST", "/v1/streams/{}/events"): _DECODE,
    ("POST", "/v1/streams/{}/intents"): _RUN,
    ("GET", "/v1/streams/{}/intents/{}"): _RUN | _OVERSEE,
    ("GET", "/v1/effects"): _RUN | _OVERSEE,
    ("POST", "/v1/effects"): _OPERATE,
    ("GET", "/v1/doubts"): _OVERSEE,
    ("POST", "/v1/doubts/{}/{}"): _OPERATE,
    ("GET", "/v1/approvals"): _OVERSEE,
    ("POST", "/v1/approvals/{}/{}"): _OPERATE,
    ("GET", "/v1/dispatch"): _OVERSEE,
    ("POST", "/v1/dispatch/pause"): _OPERATE,
    ("POST", "/v1/dispatch/resume"): _OPERATE,
    ("GET", "/v1/ledger/events"): _OVERSEE,
    ("GET", "/v1/ledger/checkpoint"): _OVERSEE,
    ("GET", "/v1/ledger/proofs/inclusion"): _OVERSEE,
    ("GET", "/v1/ledger/proofs/consistency"): _OVERSEE,
    ("POST", "/v1/reconciliations"): _RECONCILE,
    ("GET", "/v1/reconciliations"): _RECONCILE | _OVERSEE,
    ("GET", "/v1/reconciliations/{}"): _RECONCILE | _OVERSEE,
    ("GET", "/v1/reconciliations/{}/findings"): _RECONCILE | _OVERSEE,
    ("GET", "/mcp"): _RUN,
    ("POST", "/mcp"): _RUN,
    ("DELETE", "/mcp"): _RUN,
}
"""By method and path, a parameter written ``{}``: the roles of which a caller needs one."""

WITHOUT_DATABASE = frozenset({("GET", "/metrics")})
"""Answered also while no key can be looked up: to keys that this process knew before."""

_PARAMETER = re.compile(r"\{[^}]*\}")


def place(method: str, path: str) -> tuple[str, str]:
    """The place in ``ACCESS`` of a route with this path (``/v1/streams/{key}``)."""
    return method, _PARAMETER.sub("{}", path)


def needed(method: str, path: str) -> frozenset[Role] | None:
    """The roles of which a caller of the route needs one; empty: no key is asked for; None: nobody may."""
    return ACCESS.get(place(method, path))
