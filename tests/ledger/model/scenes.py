"""Scenes: acts in a row that are seldom met by chance. A scene starts wherever the history stands, so most of them go wrong
in ways of their own; nothing is expected of them but that model and ledger agree.

Words: what is drafted; ``a block`` and ``all`` are accepted, or all ``reject``ed; a verb is done to every call that it fits;
seconds are waited; ``draft`` drafts what follows it.
"""

from tests.ledger.model.tools import spell

Scene = tuple[str | float, ...]

PUT_READ = spell("put", "x") + " " + spell("read", "x")
SCENES: tuple[Scene, ...] = (
    (PUT_READ, "send", "ok", "all", "send", "ok", "send", "ok"),
    (PUT_READ, "send", "ok", "a block", "send", "ok", "all", "send", "ok"),
    (PUT_READ, "send", "a block", "send", "ok", 61.0, "all"),
    (spell("put", "y"), "all", "send", "lose", 3601.0, "send"),
    (spell("put", "y"), "all", "send", "lose for a minute", 61.0, "send", "old", "ok"),
    (spell("bare", "y"), "all", "send", "lose", "late"),
    (spell("create", "y"), "all", "send", "lose", "resolve", "late"),
    (spell("create", "x") + spell("peek", "x"), "all", "send", "lose", "resolve", "send", "ok"),
    (spell("look", "y") + spell("create", "y"), "send", "ok", 301.0, "all", "send", "ok"),
    (spell("read", "y"), "send", "lose to the end", "all", "late"),
    (spell("read", "x"), "send", "reject", "ok"),
    (spell("read", "y") + spell("peek", "x"), "send", "reject", "lose", "late"),
    (spell("read", "x"), "send", "ok", "reject", "draft " + spell("read", "x"), "all"),
    (spell("read", "x"), "send", "reject", "draft " + spell("read", "x"), "ok", "all"),
    (
        spell("look", "y"),
        "send",
        "reject",
        "draft " + spell("look", "y"),
        "lose",
        "send",
        "all",
        "send",
        "ok",
    ),
    (spell("peek", "x") + spell("peek", "x"), "send", "all", "send", "ok"),
    (PUT_READ, "post the last", "post the first", "all"),
    (spell("grant", "x"), "all", "approve", "send", "ok"),
    (spell("grant", "x") + spell("read", "x"), "all", "deny", "send", "ok"),
    (spell("grant", "y"), "all", "approve", 3601.0, "send", "approve", "send", "lose", "resolve"),
    (spell("spend", "x"), "all", "approve", 61.0, "approve", "send", "lose", "send", "ok"),
    (spell("spend", "x"), "all", "approve", "send", "lose", 3601.0, "send"),
    (spell("consult", "x"), "send", "all", "approve", "send", "lose", "send", "ok"),
    (spell("consult", "x"), "all", "approve", "send", "unsent"),
    (spell("poke", "x") + "a", "post the first", "all", "post the first", "send", "unsent"),
)
