"""Where requests go: judged by the address that is connected to, whatever the name said before."""

import asyncio
import json
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from effects.intent import ResultStatus
from effects.outbound import Outbound
from effects.secrets import Reference
from effects.upstream import Upstream
from gateway.turn.dispatching import Assignment
from gateway.upstream.guarded import guarded_client, was_refused
from gateway.upstream.http import HttpUpstream
from gateway.upstream.port import Answered, NotSent, Reply
from gateway.upstream.secrets import EVERYTHING, Resolved, SecretMissing, Secrets
from tests.gateway.toolserver import ToolServer, status
from tests.gateway.upstream.calls import assignment

MARK = "marker-4711-of-the-secret"


@pytest.fixture
def server() -> Iterator[ToolServer]:
    with ToolServer() as running:
        yield running


def answers(*found: list[str]):
    """A resolver that answers one after another, as a rebinding name does; the last is kept."""
    left = list(found)

    async def resolve(_host: str, _port: int) -> list[str]:
        return left.pop(0) if len(left) > 1 else left[0]

    return resolve, left


def fetch(client: httpx2.AsyncClient, url: str) -> int | bool:
    """The status; True where it was refused."""

    async def run() -> int | bool:
        async with client:
            try:
                return (await client.post(url)).status_code
            except httpx2.ConnectError as error:
                return was_refused(error)

    return asyncio.run(run())


def test_the_connection_goes_to_the_address_that_was_judged(server: ToolServer) -> None:
    resolve, left = answers(["127.0.0.1"], ["169.254.169.254"])
    port = server.url.rpartition(":")[2]
    assert fetch(guarded_client(Outbound(), resolve=resolve), f"http://rebinds.example:{port}/t") == 200
    # Asked once: there was no second look that could have been answered differently.
    assert left == [["169.254.169.254"]]
    assert server.received("/t")[0].headers["host"] == f"rebinds.example:{port}"


@pytest.mark.parametrize(
    "found", [["169.254.169.254"], ["127.0.0.1", "169.254.169.254"], ["::ffff:169.254.169.254"]]
)
def test_a_name_that_leads_to_metadata_is_refused(server: ToolServer, found: list[str]) -> None:
    resolve, _ = answers(found)
    port = server.url.rpartition(":")[2]
    assert fetch(guarded_client(Outbound(), resolve=resolve), f"http://evil.example:{port}/t") is True
    assert server.received() == []


def test_a_host_that_is_not_declared_is_refused(server: ToolServer) -> None:
    assert fetch(guarded_client(Outbound(), hosts={"other.example"}), server.url + "/t") is True
    assert fetch(guarded_client(Outbound(), hosts={"127.0.0.1"}), server.url + "/t") == 200


def test_redirects_are_not_followed(server: ToolServer) -> None:
    server.behave("/t", status(302, b"", {"Location": server.url + "/elsewhere"}))
    assert fetch(guarded_client(Outbound()), server.url + "/t") == 302
    assert server.received("/elsewhere") == []


def test_a_closed_port_is_no_refusal() -> None:
    assert fetch(guarded_client(Outbound()), "http://127.0.0.1:9/") is False


def send(call: Assignment, secrets: Secrets = EVERYTHING) -> Reply:
    async def run() -> Reply:
        upstream = HttpUpstream(secrets=secrets)
        try:
            return await upstream.send(call, timeout=10)
        finally:
            await upstream.aclose()

    return asyncio.run(run())


def with_headers(url: str, **headers: str | Reference) -> Assignment:
    import dataclasses

    return dataclasses.replace(assignment(url), upstream=Upstream(http=url, headers=headers))


def test_a_refused_address_is_certainly_not_sent() -> None:
    assert send(assignment("http://169.254.169.254/latest")) == NotSent("address_refused")
    assert send(assignment("http://metadata.google.internal/")) == NotSent("address_refused")


def test_secrets_are_found_when_a_call_is_sent(
    server: ToolServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(MARK + "\n")
    monkeypatch.setenv("SHOP_TOKEN", MARK)
    call = with_headers(
        server.url + "/t",
        **{
            "Authorization": Reference(env="SHOP_TOKEN", prefix="Bearer "),
            "X-Key": Reference(file=str(file)),
            "X-Shop": "n",
        },
    )
    assert isinstance(send(call), Answered)
    headers = server.received("/t")[0].headers
    assert (headers["authorization"], headers["x-key"], headers["x-shop"]) == (f"Bearer {MARK}", MARK, "n")
    assert headers["idempotency-key"] == "sha256:abc"
    file.write_text("another-one")
    send(call)
    assert server.received("/t")[1].headers["x-key"] == "another-one"


def test_a_tool_that_repeats_the_secret_does_not_bring_it_into_the_answer(
    server: ToolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", MARK)
    server.behave(
        "/t", lambda e: e.answer(200, b'{"you": "' + e.received.headers["authorization"].encode() + b'"}')
    )
    reply = send(with_headers(server.url + "/t", Authorization=Reference(env="SHOP_TOKEN")))
    assert reply == Answered(ResultStatus.OK, {"you": "[secret]"})


@pytest.mark.parametrize("secret", ['say "friend"', r"c:\keys\mine", "ends-in-a-backslash\\"])
def test_a_secret_that_json_spells_otherwise_is_not_brought_in_either(
    server: ToolServer, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", secret)
    server.behave(
        "/t", lambda e: e.answer(200, json.dumps({"you": e.received.headers["x-token"], "n": 1}).encode())
    )
    reply = send(with_headers(server.url + "/t", **{"X-Token": Reference(env="SHOP_TOKEN")}))
    assert server.received("/t")[0].headers["x-token"] == secret
    assert reply == Answered(ResultStatus.OK, {"you": "[secret]", "n": 1})


def test_a_secret_within_another_does_not_keep_it_from_being_hidden() -> None:
    told = Resolved({}, ("swordfish", "swordfish-and-more"))
    assert told.hide(b"swordfish-and-more, swordfish") == b"[secret], [secret]"


@pytest.mark.parametrize("left", range(1, 9))
def test_what_is_cut_ends_with_no_beginning_of_a_secret(left: int) -> None:
    told = Resolved({}, ("swordfish", 'sw\\"ordfishes'))
    for spelled in (b"swordfish", b'sw\\"ordfishes', json.dumps('sw\\"ordfishes')[1:-1].encode()):
        assert told.hide(b"swordfish, " + spelled[:left], cut=True) == b"[secret], "
    assert told.hide(b"swor", cut=False) == b"swor"
    assert told.hide(b"nothing", cut=True) == b"nothing"


def test_an_answer_that_was_cut_in_the_middle_of_a_secret_brought_its_beginning_in(
    server: ToolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", MARK)
    server.behave("/t", lambda e: e.answer_half(b"x" * 44 + e.received.headers["authorization"][:6].encode()))
    call = with_headers(server.url + "/t", Authorization=Reference(env="SHOP_TOKEN"))
    reply = send(replace(call, max_result=46))
    assert isinstance(reply, Answered)
    assert isinstance(reply.content, dict)
    assert b64decode(reply.content["raw_base64"]) == b"x" * 44


def test_a_secret_that_is_not_there_means_not_sent(
    server: ToolServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COMMITGATE_DATABASE_URL", "mine")
    monkeypatch.setenv("TWO_LINES", "a\nX-Other: b")
    home = tmp_path / "home"
    home.mkdir()
    (home / "ledger.key").write_text("mine")
    (tmp_path / "link").symlink_to(home / "ledger.key")
    rules = Secrets(never=(home,))
    for reference in (
        Reference(env="NO_SUCH_VARIABLE"),
        Reference(env="COMMITGATE_DATABASE_URL"),
        Reference(env="TWO_LINES"),
        Reference(file=str(tmp_path / "nothing")),
        Reference(file=str(home / "ledger.key")),
        Reference(file=str(tmp_path / "link")),
        Reference(file="/proc/self/environ"),
        Reference(file="/dev/zero"),
    ):
        assert send(with_headers(server.url + "/t", Authorization=reference), rules) == NotSent(
            "secret_missing"
        )
    assert server.received() == []


@pytest.mark.parametrize("named", ["folder", "file"])
def test_a_hard_link_to_the_signing_key_was_read_once(tmp_path: Path, named: str) -> None:
    """The key was known by its path alone."""
    home = tmp_path / "home"
    home.mkdir()
    key = home / "ledger.key"
    key.write_text("mine")
    (tmp_path / "another-name").hardlink_to(key)
    (tmp_path / "other").write_text("theirs")
    (tmp_path / "other-link").hardlink_to(tmp_path / "other")
    rules = Secrets(never=(tmp_path / "not-there", home if named == "folder" else key))
    with pytest.raises(SecretMissing):
        rules.resolve("t", {"X-Token": Reference(file=str(tmp_path / "another-name"))})
    other = Reference(file=str(tmp_path / "other-link"))
    assert rules.resolve("t", {"X-Token": other}).values == {"X-Token": "theirs"}


def test_each_tenant_can_be_kept_to_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("T_a_TOKEN", "of-a")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "k").write_text("of-a")
    rules = Secrets(env=("T_{tenant}_*",), files=(f"{tmp_path}/{{tenant}}",))
    for reference in (Reference(env="T_a_TOKEN"), Reference(file=f"{tmp_path}/a/k")):
        assert rules.resolve("a", {"X-Token": reference}).values == {"X-Token": "of-a"}
        with pytest.raises(SecretMissing) as missing:
            rules.resolve("b", {"X-Token": reference})
        assert "of-a" not in str(missing.value)
    assert "of-a" not in repr(rules.resolve("a", {"X-Token": Reference(env="T_a_TOKEN")}))
