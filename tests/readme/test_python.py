"""The Python of the README runs as it stands there, but for where the gateway and the model are."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.fakemodel.server import MODEL, Message, serving
from gateway.client import Gate, answer_of
from tests.gateway.desk import Desk, open_desk
from tests.gateway.toolserver import ok, reset
from tests.postgres import TestDatabase

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
ORDER = {"order_id": "W1"}


def block(marker: str) -> str:
    (found,) = [text for text in BLOCKS if marker in text]
    return str(found)


@pytest.fixture
def desk(database: TestDatabase, tmp_path: Path) -> Iterator[Desk]:
    with open_desk(database, tmp_path) as made:
        made.apply(
            get_order={"effect": "READ_ONLY", "reads": ["order:{order_id}"]},
            cancel_order={"effect": "WRITE", "writes": ["order:{order_id}"]},
        )
        made.tools.behave("/get_order", ok({"status": "open"}))
        yield made


def test_the_ten_lines_call_both_tools_and_are_answered_from_the_ledger_the_second_time(desk: Desk) -> None:
    text = block("turn.call(").replace("http://127.0.0.1:8700", desk.front.url)
    for _ in range(2):
        exec(
            compile(
                text.replace("    try:", "    assert order == {'status': 'open'}\n    try:"),
                "README.md",
                "exec",
            ),
            {},
        )
    assert len(desk.tools.received("/get_order")) == len(desk.tools.received("/cancel_order")) == 1


def test_the_ten_lines_meet_a_doubt(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.tools.behave("/cancel_order", reset)
    exec(
        compile(block("turn.call(").replace("http://127.0.0.1:8700", desk.front.url), "README.md", "exec"), {}
    )
    assert "somebody will find out: int_" in capsys.readouterr().out


def test_a_hosted_stream_becomes_calls(desk: Desk) -> None:
    openai = pytest.importorskip("openai")
    script = [Message("Let me look.", (("get_order", ORDER), ("cancel_order", ORDER)))]
    with (
        serving(script) as url,
        openai.OpenAI(base_url=url, api_key="none") as client,
        Gate(desk.front.url) as gate,
        gate.turn("hosted") as turn,
    ):
        names = {
            "client": client,
            "turn": turn,
            "messages": [{"role": "user", "content": "cancel it"}],
            "tools": [],
        }
        exec(
            compile(block("OpenAIChat(").replace('model="..."', f'model="{MODEL}"'), "README.md", "exec"),
            names,
        )
        answers = [answer_of(turn.wait(intent_id)) for intent_id in turn.intents]
    assert answers == [{"status": "open"}, {"ok": True}]
    assert names["model"].complete
