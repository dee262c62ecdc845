"""Tables on a narrow terminal: what has to be copied out of them is there in one piece."""

import pytest

from gateway.cli.output import Format, Row, show_row, show_rows

COMMIT_KEY = "0192f0d1-1111-7000-8000-0123456789ab"
INTENT_ID = "int_0123456789abcdef01234567"
INTENT: Row = {
    "commit_key": COMMIT_KEY,
    "intent_id": INTENT_ID,
    "tool": "cancel_order",
    "arguments": {"order_id": "W1", "why": "nobody wants it any more, so it goes back to where it came from"},
    "state": "in_doubt",
    "reason": "timeout",
}


def _shown(capsys: pytest.CaptureFixture[str], rows: list[Row], columns: list[str], **more: str) -> list[str]:
    show_rows(rows, columns, Format.TABLE, **more)
    return capsys.readouterr().out.splitlines()


@pytest.fixture(params=[40, 80, 120, 200])
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("COLUMNS", str(request.param))
    return int(request.param)


@pytest.mark.parametrize("columns", [list(INTENT), ["commit_key", "state", "arguments"]])
def test_tables_cut_commit_keys_and_intent_ids(
    capsys: pytest.CaptureFixture[str], width: int, columns: list[str]
) -> None:
    lines = _shown(capsys, [INTENT, INTENT], columns)
    for column in {"commit_key", "intent_id"} & set(columns):
        assert sum(str(INTENT[column]) in line for line in lines) == 2
    whole = "".join(lines)
    assert "…" not in whole
    assert "in_doubt" in whole


@pytest.mark.usefixtures("width")
def test_nothing_of_a_row_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    # Folded text is there in pieces, in order and column by column.
    words = "".join(
        _shown(capsys, [{"reason": "one two three " * 20, "commit_key": "k"}], ["commit_key", "reason"])
    )
    assert [words.count(word) for word in ("one", "two", "three")] == [20, 20, 20]


def test_a_table_that_fits_is_a_table_and_no_wider_than_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = _shown(capsys, [INTENT], ["commit_key", "state", "arguments"], title="version 1")
    assert lines[0].strip() == "version 1"
    assert lines[1].startswith("┏")
    assert {len(line) for line in lines} == {80}


def test_a_long_commit_key_is_shown_whole_beyond_the_edge(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    longest = "k" * 128
    assert any(longest in line for line in _shown(capsys, [{**INTENT, "commit_key": longest}], list(INTENT)))


@pytest.mark.parametrize("shown", [["tool", "state"], ["commit_key", "intent_id", "tool", "state"]])
def test_a_terminal_obeys_no_name_that_a_model_made_up(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, shown: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = _shown(capsys, [{**INTENT, "tool": "\x1b[2J[bold]x\n", "state": "[red]held"}], shown)
    whole = "\n".join(lines)
    assert "\x1b" not in whole
    assert "\\u001b[2J[bold]x" in whole
    assert "[red]held" in whole


def test_one_row_is_a_member_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    show_row(INTENT, Format.TABLE)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(INTENT)
    assert lines[0] == f"commit_key  {COMMIT_KEY}"


def test_an_empty_table_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert _shown(capsys, [], list(INTENT)) == ["nothing to show"]
