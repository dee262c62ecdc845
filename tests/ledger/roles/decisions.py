"""What each login may do to each object, decided by hand. Whatever is not said here, nobody may.

A new table, view, function or schema without a line here fails ``test_privileges``: somebody has to decide.
"""

from collections.abc import Mapping

from tests.ledger.roles.logins import SERVICE

Privileges = Mapping[str, str]

ALL = "writer dispatcher sealer reconciler"
NOBODY: Privileges = {}

SCHEMAS: Mapping[str, Privileges] = {
    "ledger": dict.fromkeys((*ALL.split(), "redactor"), "usage"),
    "audit": {"auditor": "usage"},
    # As PostgreSQL 15 and later make it: everybody may look, nobody may create.
    "public": dict.fromkeys((*ALL.split(), "auditor", "redactor", "nobody"), "usage"),
}

TABLES: Mapping[str, Privileges] = {
    "ledger.events": {
        "writer": "select insert",
        "dispatcher": "select insert",
        "sealer": "select",
        "reconciler": "select",
        "redactor": "select update(payload) update(salt)",
    },
    "ledger.streams": {
        "writer": "select insert update delete",
        "dispatcher": "select insert update",
        "sealer": "select update(unsealed)",
        "reconciler": "select",
    },
    "ledger.intents": {
        "writer": "select insert update delete",
        "dispatcher": "select insert update",
        "reconciler": "select",
    },
    "ledger.dispatches": {
        "writer": "select",
        "dispatcher": "select insert update(once_key) update(epoch) update(lease_until) update(open)"
        " update(unsent)",
        "reconciler": "select",
    },
    "ledger.batches": {"writer": "select insert"},
    "ledger.pauses": {
        "writer": "select insert update delete",
        "dispatcher": "select",
        "reconciler": "select",
    },
    "ledger.log": {
        "sealer": "select update(size) update(sealer) update(lease_until)",
        "reconciler": "select",
    },
    "ledger.seals": {"sealer": "select insert", "reconciler": "select"},
    "ledger.tiles": {"sealer": "select insert update(hashes)", "reconciler": "select"},
    "ledger.checkpoints": {"sealer": "select insert", "reconciler": "select"},
    "ledger.stops": {"writer": "select insert update delete", "dispatcher": "select"},
    "ledger.buckets": {"writer": "select", "dispatcher": "select insert update delete"},
    "ledger.admissions": {"writer": "select", "dispatcher": "select insert update delete"},
    "ledger.incarnations": {"dispatcher": "select insert update"},
    "ledger.auditors": NOBODY,
    "ledger.keys": {"writer": "select update(last_used_at)"},
    "ledger.alembic_version": dict.fromkeys(ALL.split(), "select"),
    **{
        f"audit.{view}": {"auditor": "select"}
        for view in (
            "tokens",
            "rulings",
            "intents",
            "dispatches",
            "timeline",
            "dispatched_vs_accepted",
            "early_reads",
            "doubts",
            "bindings",
            "effect_history",
        )
    },
}

INNER_VIEWS = "ledger.audited_"
"""What the views of schema audit are made of; they read it as its owner, and nobody else does."""

# Functions of triggers need no line: nobody calls them, and firing one takes no privilege.
FUNCTIONS: Mapping[str, Privileges] = {
    "ledger.effect_rank(text)": {"dispatcher": "execute"},
    "ledger.tenant_shard(text)": {"dispatcher": "execute"},
    "ledger.refuse_licence(text,text,integer,text)": {"dispatcher": "execute"},
    "ledger.envelope(ledger.events)": {"sealer": "execute", "reconciler": "execute"},
    "audit.shard(text,text)": {"auditor": "execute"},
    "ledger.told_payload(text)": {"auditor": "execute"},
    "ledger.incarnation()": {"dispatcher": "execute"},
}


LENDING = ["ledger.forget_batches()"]
"""Functions that run with their owner's rights: each a trigger's, which nobody else can fire."""


def decided(decision: Privileges, kind: str) -> frozenset[str]:
    """The privileges of one kind of login; the services' login has those of all duties of a service."""
    kinds = ALL.split() if kind == SERVICE else [kind]
    told = frozenset(word for one in kinds for word in decision.get(one, "").split())
    # Who may update a whole table may update its columns: that is said once.
    return frozenset(word for word in told if not ("(" in word and word.split("(")[0] in told))
