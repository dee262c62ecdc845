"""Values as text: what stands between the tags is what is sent, as a string."""

import pytest

from decoding.calls.block import Call
from decoding.calls.formats import detector_for
from decoding.calls.scan import scan
from tests.decoding.calls.test_formats import outcomes

DETECTOR = detector_for("qwen3_coder")


def block(body: str) -> str:
    return f"<tool_call>\n{body}\n</tool_call>"


def function(*values: tuple[str, str], name: str = "f") -> str:
    inner = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in values)
    return f"<function={name}>\n{inner}</function>"


def test_values_are_strings_and_keep_their_bytes() -> None:
    text = block(function(("b", "1\n\n  2 \\n"), ("a", ""), ("n", "42"), ("q", '{"x": "<b>"}')))
    ((made,),) = [found.calls for found in scan(DETECTOR, list(text))]
    raw = '{"a":"","b":"1\\n\\n  2 \\\\n","n":"42","q":"{\\"x\\": \\"<b>\\"}"}'
    assert made == Call(0, "f", raw, built=True)


def test_only_one_line_end_at_each_side_belongs_to_the_tags() -> None:
    text = block("<function=f><parameter=a>\n\nx\n\n</parameter><parameter=b>y</parameter></function>")
    assert outcomes(scan(DETECTOR, [text])) == [("f", '{"a":"\\nx\\n","b":"y"}', None)]


def test_no_parameters() -> None:
    assert outcomes(scan(DETECTOR, [block("<function=f></function>")])) == [("f", "{}", None)]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("", "xml_syntax"),
        ("<function=f>", "xml_syntax"),
        ('{"name": "f", "arguments": {}}', "xml_syntax"),
        ("<function=f\n<parameter=a>1</parameter></function>", "xml_syntax"),
        ("<function=f><parameter=a\n1</parameter></function>", "xml_syntax"),
        ("<function=f>text<parameter=a>1</parameter></function>", "xml_syntax"),
        ("<function=f><parameter=a>1</parameter></function>text", "xml_syntax"),
        ("<function=f></function><function=g></function>", "xml_syntax"),
        ("<function=f><parameter=a>1</parameter>2</parameter></function>", "xml_syntax"),
        ("<function=f><parameter=a>1\n<parameter=b>2</parameter></function>", "tag_in_value"),
        ("<function=f><parameter=a></function></parameter></function>", "tag_in_value"),
        ("<function=f><parameter=a></tool_call></parameter></function>", "tag_in_value"),
        ("<function=></function>", "name_empty"),
        ("<function=a\0></function>", "name_with_nul"),
        ("<function=f><parameter=>1</parameter></function>", "parameter_name_empty"),
        (
            "<function=f><parameter=a>1</parameter><parameter=a>1</parameter></function>",
            "json_duplicate_name",
        ),
        ("<function=f><parameter=a>\ud800</parameter></function>", "json_surrogate"),
        ("<function=\ud800></function>", "json_surrogate"),
    ],
)
def test_what_is_ambiguous_or_broken_is_refused(body: str, problem: str) -> None:
    text = block(body)
    assert outcomes(scan(DETECTOR, [text])) == outcomes(scan(DETECTOR, list(text))) == [(None, None, problem)]


def test_a_forgotten_end_of_a_value_swallows_the_next_block_and_is_refused() -> None:
    text = block("<function=a><parameter=x>\nval") + block(function(("y", "w"), name="b"))
    assert outcomes(scan(DETECTOR, [text])) == [(None, None, "tag_in_value")]
