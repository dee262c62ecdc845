"""``commitgate decode``: what it refuses, and one message through a real ledger."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from gateway.cli.decode import Rule
from gateway.cli.decode import decode as decode_command
from gateway.errors import BadInput, InvalidRequest, NotSupported
from tests.gateway.demo.running import COMMAND, REPOSITORY
from tests.postgres import TestDatabase

SHOP_MODELS = REPOSITORY / "examples" / "shop" / "models"
ASK = "Show me order W710."


def decode(*arguments: str, database: TestDatabase | None = None) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "OMP_NUM_THREADS": "1"}
    if database is not None:
        environ["COMMITGATE_DATABASE_URL"] = database.service_url
    argv = [sys.executable, "-c", COMMAND, "decode", *arguments]
    return subprocess.run(
        argv, env=environ, cwd="/", capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"rule": Rule.RATIO}, NotSupported),
        ({"window": "auto"}, NotSupported),
        ({"draft": ["ngram", "ngram"]}, NotSupported),
        ({"window": "-1"}, InvalidRequest),
        ({"window": "x"}, InvalidRequest),
        ({"window": "²"}, InvalidRequest),
    ],
)
def test_what_is_not_built_or_makes_no_sense_is_refused(asked: dict[str, Any], error: type[BadInput]) -> None:
    with pytest.raises(error):
        decode_command(target="nowhere", prompt=ASK, **asked)


def test_a_model_that_is_not_there_is_named(database: TestDatabase) -> None:
    done = decode("--target", "/no/such/model", "--prompt", ASK, database=database)
    assert done.returncode == 1
    assert "error: model_not_loadable: there is no model in /no/such/model" in done.stderr
    assert "Traceback" not in done.stderr


def test_one_message_is_printed_and_recorded(database: TestDatabase) -> None:
    models = ("--target", str(SHOP_MODELS / "target"), "--draft", str(SHOP_MODELS / "drafter"))
    done = decode(*models, "--prompt", ASK, "--window", "8", "--format", "json", database=database)
    assert done.returncode == 0, done.stderr
    *texts, last = [json.loads(line) for line in done.stdout.splitlines()]
    text = "".join(line["text"] for line in texts)
    summary = last["summary"]
    assert "<tool_call>" in text
    assert summary["calls"] >= 1
    assert summary["finish_reason"] == "stop"
    counts = summary["drafters"]["drafter"]
    assert counts["drafted"] == counts["accepted"] + counts["rejected"] + counts["unreached"] > 0
