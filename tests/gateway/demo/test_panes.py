"""What the terminal shows of a message."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from gateway.demo.callpane import VOIDED_SHOWN, CallPane
from gateway.demo.textpane import DRAFTED, OWN, REJECTED, TextPane

Event = dict[str, Any]


def shown(pane: CallPane, open_block: int | None = None) -> str:
    console = Console(width=140, file=io.StringIO())
    console.print(pane.table(open_block) or "")
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def styled(pane: TextPane, style: str) -> str:
    text = pane.text()
    return "".join(text.plain[span.start : span.end] for span in text.spans if span.style == style)


def held(name: str, effect: str = "READ_ONLY", **members: object) -> Event:
    said = {"tool": "get_order", "arguments_raw": '{"order_id": "W1"}', "effect": effect, **members}
    return {"type": "intent.held", "intent_id": name, **said}


def of(type_: str, name: str, **members: object) -> Event:
    return {"type": type_, "intent_id": name, **members}


def test_drafts_are_replaced_by_what_is_ruled() -> None:
    pane = TextPane()
    pane.draft(["Can", "celling", " it"])
    assert styled(pane, DRAFTED) == "Cancelling it"
    pane.rule(["Can"], ["celling", " it"], "cel")
    assert pane.text().plain == "Cancelling itcel"
    assert (styled(pane, DRAFTED), styled(pane, REJECTED), styled(pane, OWN)) == ("", "celling it", "cel")


def test_a_block_is_open_from_its_opener_to_its_closer_and_not_after_a_rejection() -> None:
    pane = TextPane()
    pane.draft(["Hi", "<tool_call>", "{}"])
    assert pane.open_block == 1
    pane.draft(["Hi", "<tool_call>", "{}", "</tool_call>"])
    assert pane.open_block is None
    pane.rule(["Hi"], ["<tool_call>", "{}", "</tool_call>"], "<tool_call>")
    assert pane.open_block == 1


def test_no_control_character_reaches_the_terminal() -> None:
    pane = TextPane()
    pane.rule(["a\x1b[31mb\nc"], [], None)
    assert "\x1b" not in pane.text().plain
    assert "\n" in pane.text().plain
    calls = CallPane()
    calls.tell(held("i", arguments_raw='{"x": "\\u001b[2J"}'))
    assert "\x1b" not in shown(calls)


def test_a_call_is_told_from_held_to_final() -> None:
    pane = CallPane()
    pane.tell(held("i"))
    pane.tell(of("intent.released", "i", release="early"))
    pane.tell(of("dispatch.started", "i", attempt=1))
    pane.tell(of("dispatch.settled", "i", status="ok", content={}))
    pane.tell({"type": "block.cleared", "intents": ["i"]})
    pane.tell(of("intent.stale", "i"))
    pane.tell(of("intent.released", "i", release="committed"))
    pane.tell(of("dispatch.started", "i", attempt=2))
    pane.tell(of("dispatch.settled", "i", status="tool_error", content={"error": "not_found"}))
    pane.tell(of("intent.final", "i"))
    story = "held → released early → sent → settled → cleared → stale → released → sent again"
    assert story in " ".join(shown(pane).split())
    assert "settled: not_found → final" in " ".join(shown(pane).split())


def test_many_voided_calls_are_counted() -> None:
    pane = CallPane()
    for n in range(VOIDED_SHOWN + 3):
        pane.tell(held(f"i{n}", "WRITE"))
        pane.tell(of("intent.voided", f"i{n}"))
    pane.tell(held("lives", "WRITE", tool=None, arguments_raw=None, problem="json_syntax"))
    text = shown(pane, open_block=7)
    assert "and 3 more drafted" in text
    assert "unparsable call (json_syntax)" in text
    assert "a block opens at token 7" in text
    assert len(text.strip().splitlines()) == VOIDED_SHOWN + 3
