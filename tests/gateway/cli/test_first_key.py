"""``keys create --if-none``: the first key, and no second one, however often services are started."""

from __future__ import annotations

from tests.gateway.cli.test_keys import Run, run

__all__ = ["run"]


def test_only_the_first_key_is_made(run: Run) -> None:
    first = ("keys", "create", "--role", "admin", "--label", "first", "--if-none")
    code, [made], _ = run(*first)
    assert (code, made["roles"]) == (0, ["admin"])
    code, again, told = run(*first)
    assert (code, again) == (0, [])
    assert "nothing was done" in told
    run("keys", "revoke", str(made["id"]))
    assert run(*first)[1] == []  # a gateway that was closed once stays closed
    assert len(run("keys", "list")[1]) == 1
