"""Logs of a worker: JSON lines that say whose call they are about, and nothing of what is in it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx2
import structlog

from effects.intent import IntentState
from tests.gateway.dispatcher.floor import Floor
from tests.gateway.dispatcher.test_spans import PARENT, TRACE, traced
from tests.gateway.toolserver import eventually, ok, reset, status
from tests.postgres import TestDatabase

COMMITGATE = Path(sys.executable).with_name("commitgate")
HIDDEN = {"argument": "4111-1111-argument", "answer": "the-answer-of-it", "header": "sk-live-header"}


def test_a_worker_tells_of_each_dispatch_whose_it_is_and_never_what_is_in_it(
    floor: Floor, database: TestDatabase, tmp_path: Path
) -> None:
    secret = "headers: {X-Api-Key: {env: TOOL_KEY}}"
    floor.put_in_force(
        pay=f'{{effect: WRITE, writes: ["{{card}}"], upstream: {{http: "URL/pay", {secret}}}}}',
        look=f'{{effect: READ_ONLY, reads: [], upstream: {{http: "URL/look", {secret}}}}}',
    )
    floor.tools.behave("/pay", status(503, HIDDEN["answer"].encode()), ok({"is": HIDDEN["answer"]}))
    floor.tools.behave("/look", reset, ok({"is": HIDDEN["answer"]}))
    lost, look = (floor.turn(tool, card=HIDDEN["argument"]) for tool in ("pay", "look"))
    environment = {
        **os.environ,
        "COMMITGATE_DATABASE_URL": database.service_url,
        "COMMITGATE_HOME": str(tmp_path),
        "COMMITGATE_LOG_LEVEL": "debug",
        "TOOL_KEY": HIDDEN["header"],
    }
    with subprocess.Popen(
        [COMMITGATE, "worker", "--metrics-port", "0"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as worker:
        assert worker.stdout is not None
        begun = json.loads(worker.stdout.readline())
        lost.until(IntentState.IN_DOUBT)
        look.until(IntentState.SETTLED, final=True)
        metrics = eventually(lambda: _metrics(begun["metrics"]))
        worker.terminate()
        _, told = worker.communicate(timeout=30)
        assert worker.returncode == 0
    [received] = floor.tools.received("/pay")
    assert received.headers["x-api-key"] == HIDDEN["header"]
    lines = [json.loads(line) for line in told.splitlines()]
    ended = {line["intent_id"]: line for line in lines if line["event"] == "dispatch_ended"}
    for turn in (lost, look):
        line = ended[turn.intent.intent_id]
        assert (line["commit_key"], line["attempt"]) == (turn.key, 1)
        [sent, *_] = floor.tools.received(f"/{line['tool']}")
        assert line["trace_id"] == sent.headers["traceparent"].split("-")[1]
    [alarm] = [line for line in lines if line["event"] == "doubt_opened"]
    assert (alarm["intent_id"], alarm["level"]) == (lost.intent.intent_id, "error")
    for what, value in HIDDEN.items():
        assert value not in told, what
        assert value not in metrics, what
    assert 'commitgate_dispatches_total{effect="WRITE",outcome="in_doubt"} 1.0' in metrics


def _metrics(address: str) -> str | None:
    text = httpx2.get(address).text
    return text if 'outcome="in_doubt"' in text and 'outcome="ok"' in text else None


def test_lines_of_a_dispatch_carry_its_trace(floor: Floor) -> None:
    turn = traced(floor, "write", PARENT)
    with (
        structlog.testing.capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines,
        floor.dispatching(),
    ):
        intent = turn.until(IntentState.SETTLED, final=True)
    [line] = [line for line in lines if line["event"] == "dispatch_ended"]
    assert (line["trace_id"], line["intent_id"], line["attempt"]) == (TRACE, intent.intent_id, 1)
    assert "trace_id" not in structlog.contextvars.get_contextvars()


def test_a_terminal_gets_words_and_a_pipe_json() -> None:
    script = (
        "from gateway.logs import configure_logs; configure_logs('warning'); import structlog; log = structlog.get_logger();"
        " log.info('quiet'); log.warning('loud', commit_key='k')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    [line] = done.stderr.splitlines()
    assert json.loads(line)["event"] == "loud"
    shown = _on_a_terminal(script)
    assert "loud" in shown
    assert "quiet" not in shown
    assert not re.search(r"^\{", shown)


def _on_a_terminal(script: str) -> str:
    main, other = os.openpty()
    subprocess.run([sys.executable, "-c", script], stderr=other, check=True)
    os.close(other)
    try:
        return os.read(main, 65536).decode()
    finally:
        os.close(main)


def test_of_an_error_that_quotes_only_the_first_line_is_kept() -> None:
    script = """
from gateway.logs import configure_logs
configure_logs()
import structlog
log = structlog.get_logger()
try:
    local = "row-value"
    try:
        raise KeyError("row-value\\nDETAIL: row-value")
    except KeyError as inner:
        raise ValueError("what happened\\nDETAIL: Failing row contains (row-value).") from inner
except ValueError as error:
    log.exception("failed", error=str(error), detail=f"refused\\n{local}")
"""
    done = subprocess.run(
        [sys.executable, "-c", script.replace('"row-value\\n', '"inner\\n')],
        capture_output=True,
        text=True,
        check=True,
    )
    [line] = done.stderr.splitlines()
    told = json.loads(line)
    assert (told["error"], told["detail"]) == ("what happened", "refused")
    assert [each["exc_type"] for each in told["exception"]] == ["ValueError", "KeyError"]
    assert "row-value" not in line
    shown = _on_a_terminal(script)
    assert "what happened" in shown
    assert "local =" not in shown
