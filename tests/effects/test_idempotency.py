import hashlib
import itertools
import json
import re
from typing import TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effects.canonical import canonical
from effects.idempotency import idempotency_key
from effects.strict_json import JSONRefused


class Parts(TypedDict):
    tenant: str
    commit_key: str
    branch: str
    byte_start: int
    ordinal: int
    block_sha256: str
    tool: str
    arguments: bytes


BASE = Parts(
    tenant="acme",
    commit_key="turn-1",
    branch="main",
    byte_start=17,
    ordinal=0,
    block_sha256=hashlib.sha256(b"<tool_call>{}</tool_call>").hexdigest(),
    tool="set_address",
    arguments=b'{"order_id":"W1"}',
)

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
parts = st.fixed_dictionaries(
    {
        "tenant": words,
        "commit_key": words,
        "branch": words,
        "byte_start": st.integers(0, 2**40),
        "ordinal": st.integers(0, 9),
        "block_sha256": st.binary(max_size=4).map(lambda block: hashlib.sha256(block).hexdigest()),
        "tool": words,
        "arguments": st.dictionaries(words, words | st.integers(-9, 9), max_size=2).map(canonical),
    }
)


def test_the_published_vectors() -> None:
    assert idempotency_key(**BASE) == "cg1-6rjuoastceykjwe2pxzcuee5k4n7kpu6fngh7ty3x77n7homwe2q"
    other = Parts(**{**BASE, "tenant": "açme", "ordinal": 2, "arguments": '{"name":"Zoë"}'.encode()})
    assert idempotency_key(**other) == "cg1-gnrbbij5y2nmnxpvcvftctg43ugqp6osxiwzkw3x6yxwmzv3jh5q"


@given(parts)
def test_the_recipe_is_the_documented_one(given_parts: Parts) -> None:
    # Made again without our canonical JSON, which json.dumps agrees with on strings and small integers, and base64.
    ordered = [given_parts[name] for name in BASE]  # type: ignore[literal-required]
    listed = ["cg1-", *(value.decode() if isinstance(value, bytes) else value for value in ordered)]
    text = json.dumps(listed, ensure_ascii=False, separators=(",", ":"))
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()) << 4
    letters = "abcdefghijklmnopqrstuvwxyz234567"
    spelled = "".join(letters[number >> 5 * place & 31] for place in range(51, -1, -1))
    assert idempotency_key(**given_parts) == f"cg1-{spelled}"
    assert re.fullmatch(r"cg1-[a-z2-7]{52}", f"cg1-{spelled}")


@given(parts, parts)
def test_equal_parts_equal_key_and_otherwise_another(one: Parts, other: Parts) -> None:
    assert (idempotency_key(**one) == idempotency_key(**other)) == (one == other)


@given(parts, parts, st.sampled_from(list(BASE)))
def test_each_part_counts(base: Parts, other: Parts, name: str) -> None:
    changed = Parts(**{**base, name: other[name]})  # type: ignore[misc]
    assert (idempotency_key(**changed) == idempotency_key(**base)) == (changed == base)


def test_parts_do_not_run_into_each_other() -> None:
    one = Parts(**{**BASE, "tenant": "a", "commit_key": "b,c"})
    other = Parts(**{**BASE, "tenant": "a,b", "commit_key": "c"})
    quoted = Parts(**{**BASE, "tenant": 'a","b', "commit_key": "c"})
    assert len({idempotency_key(**each) for each in (one, other, quoted)}) == 3


@given(st.text(max_size=20), st.lists(st.integers(0, 80), max_size=5))
def test_the_cut_into_tokens_does_not_count(text: str, cuts: list[int]) -> None:
    data = ("<tool_call>" + text.encode(errors="replace").decode() + "</tool_call>").encode()
    hashed = hashlib.sha256()
    edges = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    for start, end in itertools.pairwise(edges):
        hashed.update(data[start:end])
    whole = Parts(**{**BASE, "block_sha256": hashlib.sha256(data).hexdigest()})
    pieces = Parts(**{**BASE, "block_sha256": hashed.hexdigest()})
    assert idempotency_key(**whole) == idempotency_key(**pieces)


@pytest.mark.parametrize(
    "wrong",
    [
        {"byte_start": -1},
        {"ordinal": -1},
        {"block_sha256": "ab"},
        {"block_sha256": "sha256:" + "a" * 64},
        {"block_sha256": "A" * 64},
        {"arguments": b"\xff"},
    ],
)
def test_what_is_no_part_is_an_error(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"count from 0|hex digits|decode"):
        idempotency_key(**{**BASE, **wrong})  # type: ignore[arg-type]


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(JSONRefused):
        idempotency_key(**{**BASE, "tenant": "\ud800"})  # type: ignore[arg-type]
