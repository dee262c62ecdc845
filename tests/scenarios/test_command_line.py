"""What the command line tells of a story that went through the gateway, and that it would tell of a call that did not."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gateway.cli.main import run
from tests.processes import ROOT, commitgate
from tests.scenarios.books import Books, books, call_text
from tests.scenarios.gated import GatedTurn, apply_effects
from tests.scenarios.naive import Naive
from tests.scenarios.story import CREATE_LAST, MALFORMED, PERCENT, WANTED


@dataclass(frozen=True)
class Played:
    """The second story, over, with its shop still open."""

    turn: GatedTurn
    shop: Books


@pytest.fixture(scope="module")
def played(gateway: httpx2.Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    with books(tmp_path_factory.mktemp("shop")) as shop:
        apply_effects(gateway, shop.origin, "send")
        turn = GatedTurn(gateway)
        for move in CREATE_LAST.moves():
            turn.play(move)
        turn.settled()
        yield Played(turn, shop)


def test_streams_show_tells_the_turn_in_order(played: Played, environ: dict[str, str]) -> None:
    command = commitgate("streams", "show", played.turn.key, "--format", "json")
    env = {**os.environ, **environ}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert [line["type"] for line in lines] == [event["type"] for event in played.turn.events()]
    told = iter(line["text"] for line in lines)
    for said in (
        "opened: hermes calls detected",
        "drafted 48 tokens [0, 48) round 0",
        "held WRITE delete_coupon",
        "held READ_ONLY get_coupon",
        f'held WRITE create_coupon {{"code": "{MALFORMED}"',
        "released get_coupon as READ_ONLY early, on drafts",
        "dispatched get_coupon attempt 1",
        "get_coupon attempt 1 settled ok",
        "ruled [0, 48): 39 accepted, cut at 39",
        "voided create_coupon: token_rejected",
        "released delete_coupon as WRITE on accepted tokens",
        f'held WRITE create_coupon {{"code": "{WANTED}"',
        "get_coupon is stale: overtaken at seq",
        "delete_coupon is final, with the answer of attempt 1",
        "released get_coupon as READ_ONLY on accepted tokens",
        "get_coupon is final, with the answer of attempt 2",
    ):
        # Each is looked for behind the one before it: the iterator never goes back.
        assert any(said in text for text in told), said


def test_streams_show_as_a_table_tells_the_same(played: Played, here: Callable[..., tuple[int, str]]) -> None:
    rc, out = here("streams", "show", played.turn.key, "--format", "table")
    assert rc == 0
    assert len(out.splitlines()) == len(played.turn.events())
    assert "get_coupon is stale: overtaken at seq" in out


def test_reconcile_finds_nothing_and_then_the_call_that_went_past_the_gate(
    played: Played, here: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    key = played.turn.key
    command = ("reconcile", "run", "--commit-key", key, "--complete", "--format", "json", "--tool-log")
    rc, out = here(*command, str(played.shop.log))
    summary = json.loads(out.splitlines()[-1])["summary"]
    assert (rc, summary["findings"], summary["log_entries"]) == (0, {}, len(played.shop.requests()))

    log = tmp_path / "with-strays.jsonl"
    with books(tmp_path / "naive") as shop, Naive(shop, key) as naive:
        for move in CREATE_LAST.moves():
            naive.apply(move)
        log.write_bytes(played.shop.log.read_bytes() + _renumbered(shop.log, by=1000))
        strays = sorted(str(request) for request in shop.requests())
    rc, out = here(*command, str(log))
    *findings, last = (json.loads(line) for line in out.splitlines())
    assert rc == 3
    assert last["summary"]["findings"] == {"unknown_to_us": len(strays)}
    assert [f["kind"] for f in findings] == ["unknown_to_us"] * len(strays)
    assert sorted(f["tool"] for f in findings) == [stray.partition("(")[0] for stray in strays]
    assert call_text("create_coupon", {"code": MALFORMED, "percent": PERCENT}) in strays


@pytest.fixture
def here(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Runs a command in this process: (exit code, what it printed)."""

    def run_here(*arguments: str) -> tuple[int, str]:
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("sys.argv", ["commitgate", *arguments])
        with pytest.raises(SystemExit) as ended:
            run()
        return int(ended.value.code or 0), capsys.readouterr().out

    return run_here


def _renumbered(log: Path, *, by: int) -> bytes:
    lines: list[dict[str, Any]] = [json.loads(line) for line in log.read_text().splitlines()]
    return b"".join(json.dumps(line | {"n": line["n"] + by}).encode() + b"\n" for line in lines)
