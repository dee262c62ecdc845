from itertools import product
from time import process_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from effects.classes import EffectClass
from effects.errors import FootprintRefused
from effects.footprint import MAX_KEYS, Footprint, Key, Template, conflicts, footprint, overlaps

READ, IDEMPOTENT, WRITE = EffectClass.READ_ONLY, EffectClass.IDEMPOTENT, EffectClass.WRITE

# Few letters, so that keys often meet; the characters that mean something in a spelling among them.
texts = st.text(alphabet="ab:*\\/", max_size=4)
keys = st.builds(Key, texts, st.booleans())
key_sets = st.none() | st.frozensets(keys, max_size=3)
upstreams = st.sampled_from([None, "http://a:80", "http://b:80", "mcp:a"])
footprints = st.builds(Footprint, key_sets, key_sets, upstreams)
effects = st.sampled_from(list(EffectClass))
scalars = st.text(max_size=5) | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1)


def declared(*names: str, upstream: str | None = "http://a:80") -> Footprint:
    return Footprint(frozenset(map(Key.parse, names)), frozenset(), upstream)


def fill(source: str, **arguments: object) -> set[str] | None:
    filled = Template.parse(source).fill(arguments)
    return None if filled is None else set(map(str, filled))


# --- keys


@given(keys)
def test_a_key_is_read_back_from_its_spelling(key: Key) -> None:
    assert Key.parse(str(key)) == key


@given(keys, keys)
def test_two_keys_are_never_spelled_alike(one: Key, other: Key) -> None:
    assert (str(one) == str(other)) == (one == other)


@pytest.mark.parametrize("spelling", ["a*b", "**", "*a", "\\", "a\\", "\\n"])
def test_what_spells_no_key_is_refused(spelling: str) -> None:
    with pytest.raises(FootprintRefused):
        Key.parse(spelling)


@given(keys, keys, texts)
def test_keys_meet_if_and_only_if_they_can_name_one_resource(one: Key, other: Key, tail: str) -> None:
    def names(key: Key, resource: str) -> bool:
        return resource.startswith(key.text) if key.prefix else resource == key.text

    # If any resource is named by both, the longer of the two texts is.
    longer = max(one.text, other.text, key=len)
    assert one.meets(other) == (names(one, longer) and names(other, longer))
    assert one.meets(other) == other.meets(one)
    if names(one, longer + tail) and names(other, longer + tail):
        assert one.meets(other)


# --- templates


def test_a_template_is_filled_from_top_level_arguments() -> None:
    assert fill("order:{order_id}", order_id="W1", other=1) == {"order:W1"}
    assert fill("{a}:{b}:{a}", a="x", b="y") == {"x:y:x"}
    assert fill("store") == {"store"}
    assert fill("order:*") == {"order:*"}
    assert fill("file:{path}/*", path="a/b") == {"file:a/b/*"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", ""),
        (7, "7"),
        (-7, "-7"),
        (1.0, "1"),
        (0.5, "0.5"),
        (1e30, "1e+30"),
        (True, "true"),
        (False, "false"),
    ],
)
def test_values_are_spelled_by_canonical_json(value: object, text: str) -> None:
    assert fill("k:{v}", v=value) == {f"k:{text}"}


def test_a_list_gives_a_key_per_element_and_several_lists_their_product() -> None:
    assert fill("order:{ids}", ids=["a", "b", "a", 1]) == {"order:a", "order:b", "order:1"}
    assert fill("{x}-{y}", x=[1, 2], y=["a", "b"]) == {"1-a", "1-b", "2-a", "2-b"}
    # One argument named twice is one choice, not two.
    assert fill("{x}-{x}", x=[1, 2]) == {"1-1", "2-2"}


@example([""], ["\x00"])
@given(st.lists(scalars, min_size=1, max_size=4), st.lists(scalars, min_size=1, max_size=4))
def test_the_product_is_that_of_the_single_fillings(xs: list[object], ys: list[object]) -> None:
    template = Template.parse("a:{x}:b:{y}")
    single = [template.fill({"x": x, "y": y}) for x, y in product(xs, ys)]
    whole = None if None in single else frozenset().union(*(one for one in single if one is not None))
    assert template.fill({"x": xs, "y": ys}) == whole


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"V": "a"},
        {"v": None},
        {"v": {}},
        {"v": {"a": 1}},
        {"v": []},
        {"v": [None]},
        {"v": ["a", None]},
        {"v": [["a"]]},
        {"v": [{"a": 1}]},
        {"v": float("nan")},
        {"v": 2**53},
    ],
)
def test_arguments_that_do_not_fill(arguments: dict[str, object]) -> None:
    assert Template.parse("k:{v}").fill(arguments) is None


def test_the_number_of_keys_is_bounded() -> None:
    assert len(fill("k:{v}", v=list(range(MAX_KEYS))) or ()) == MAX_KEYS
    assert fill("k:{v}", v=list(range(MAX_KEYS + 1))) is None
    assert fill("{a}{b}{c}", a=[1] * 100, b=[1] * 100, c=[1] * 100) is None


def test_a_star_from_an_argument_is_an_ordinary_character() -> None:
    literal, prefix = Template.parse("file:{path}"), Template.parse("file:*")
    starred = literal.fill({"path": "*"})
    assert starred == frozenset({Key("file:*")})
    assert prefix.fill({}) == frozenset({Key("file:", prefix=True)})
    assert not Key("file:*").meets(Key("file:a"))
    assert Key("file:", prefix=True).meets(Key("file:*"))
    # A brace from an argument is one too: nothing is filled twice.
    assert fill("{a}{b}", a="{b}", b="x") == {"{b}x"}


@pytest.mark.parametrize("source", ["", "a*b", "*a", "**", "{a", "a}", "{}", "{{a}}", "a{b}c}", "*{a}"])
def test_templates_that_are_refused(source: str) -> None:
    with pytest.raises(ValueError, match=r"key|brace|\*"):
        Template.parse(source)


# --- footprints


ORDER = (Template.parse("order:{id}"),)
UNFILLED = (Template.parse("order:{missing}"),)


@pytest.mark.parametrize("effect", list(EffectClass))
@pytest.mark.parametrize("reads", [None, (), ORDER, UNFILLED])
@pytest.mark.parametrize("writes", [None, (), ORDER, UNFILLED])
def test_when_a_footprint_is_undeclared(
    effect: EffectClass, reads: tuple[Template, ...] | None, writes: tuple[Template, ...] | None
) -> None:
    made = footprint(effect, reads, writes, "http://a:80", {"id": 1})
    needed = reads if effect is READ else writes
    assert made.declared == (needed is not None and UNFILLED not in (reads, writes))
    unreadable = footprint(effect, reads, writes, "http://a:80", None)
    assert not unreadable.declared


def test_an_undeclared_footprint_overlaps_everything_of_its_upstream_and_nothing_else() -> None:
    undeclared = Footprint(None, None, "http://a:80")
    assert overlaps(undeclared, declared("order:1"))
    assert overlaps(undeclared, declared())  # what declares no keys included
    assert overlaps(undeclared, undeclared)
    assert not overlaps(undeclared, declared("order:1", upstream="http://b:80"))
    assert not overlaps(undeclared, Footprint(None, None, "http://b:80"))


def test_an_unknown_upstream_overlaps_everything() -> None:
    unknown = Footprint(None, None, None)
    for other in (
        declared(),
        declared(upstream="http://b:80"),
        Footprint(None, None, "http://b:80"),
        unknown,
    ):
        assert overlaps(unknown, other)


def test_keys_are_global_names() -> None:
    assert overlaps(declared("order:1"), declared("order:1", upstream="http://b:80"))
    assert overlaps(declared("order:1"), declared("order:*", upstream="mcp:b"))
    assert not overlaps(declared("order:1"), declared("order:2"))
    assert not overlaps(declared("order:1"), declared("order:1\\*"))
    # A half that was filled counts where the other half was not.
    half = Footprint(None, frozenset({Key("order:1")}), "http://b:80")
    assert overlaps(half, declared("order:1"))


@given(footprints, footprints)
def test_overlap_is_symmetric(one: Footprint, other: Footprint) -> None:
    assert overlaps(one, other) == overlaps(other, one)


@given(footprints, footprints)
def test_overlap_is_what_the_words_say(one: Footprint, other: Footprint) -> None:
    unknown = one.upstream is None or other.upstream is None
    undeclared = one.upstream == other.upstream and not (one.declared and other.declared)
    shared = any(mine.meets(theirs) for mine in one.keys for theirs in other.keys)
    assert overlaps(one, other) == (unknown or undeclared or shared)


@given(footprints, footprints, effects, effects)
def test_a_conflict_needs_an_overlap_and_a_call_that_is_no_read(
    one: Footprint, other: Footprint, effect: EffectClass, other_effect: EffectClass
) -> None:
    both_read = effect is READ and other_effect is READ
    assert conflicts(effect, one, other_effect, other) == (overlaps(one, other) and not both_read)


def test_a_write_conflicts_by_what_it_only_reads_too() -> None:
    assert conflicts(WRITE, declared("order:1"), READ, declared("order:1"))
    assert conflicts(READ, declared("order:1"), IDEMPOTENT, declared("order:1"))
    assert not conflicts(READ, declared("order:1"), READ, declared("order:1"))


@given(footprints)
def test_a_footprint_is_read_back_from_its_json(made: Footprint) -> None:
    assert Footprint.from_json(made.to_json()) == made


def test_the_json_of_a_footprint() -> None:
    made = Footprint(frozenset({Key("b*"), Key("a", prefix=True)}), None, "http://a:80")
    assert made.to_json() == {"reads": ["a*", "b\\*"], "writes": None, "upstream": "http://a:80"}


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"reads": [], "writes": []},
        {"reads": "a", "writes": [], "upstream": None},
        {"reads": [1], "writes": [], "upstream": None},
        {"reads": [], "writes": [], "upstream": 1},
        {"reads": ["a*b"], "writes": [], "upstream": None},
        {"reads": [], "writes": [], "upstream": None, "x": 1},
    ],
)
def test_json_of_another_form_is_refused(value: object) -> None:
    with pytest.raises(FootprintRefused):
        Footprint.from_json(value)


@pytest.mark.parametrize("prefix", [False, True])
def test_long_lists_of_arguments_do_not_make_each_key_meet_each(prefix: bool) -> None:
    one, other = (
        Footprint(
            frozenset(Key(f"{name}{n}", prefix) for n in range(4 * MAX_KEYS)), frozenset(), "http://a:80"
        )
        for name in ("a", "b")
    )
    began = process_time()
    assert not overlaps(one, other)
    assert process_time() - began < 1.0
    assert overlaps(other, Footprint(frozenset({Key("b409", True)}), frozenset(), "http://b:80"))
