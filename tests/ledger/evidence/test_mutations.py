"""A thousand ways to change an export: every one is found, with the first bad index.

Whoever changes lines without hashing again is named exactly. A careful forger, who makes digests, leaf hashes, seqs and
indexes fit, is found by the first checkpoint behind the forgery, and the range is named that holds the first bad event.
"""

import hashlib
import json
from random import Random

import pytest

from effects.canonical import canonical
from ledger.evidence.exportfile import CheckpointLine
from ledger.evidence.note import SigningKey, body_of
from ledger.evidence.report import Wrong
from ledger.evidence.verify import verify
from tests.ledger.evidence.making import KEY, TENANTS, checkpoint, exported, log, sealed, split

MUTATIONS = 1000
STRANGER = SigningKey.generate(KEY.name)
EXPORTS = [
    (log(Random(number), events), tenant, every)
    for number, (events, tenant, every) in enumerate(
        [(60, None, 7), (60, TENANTS[0], 11), (33, None, 1000), (40, TENANTS[1], 1)]
    )
]
LINES = [exported(events, tenant=tenant, every=every) for events, tenant, every in EXPORTS]


def is_checkpoint(line):
    return line.startswith(b"{")


def only_events(lines):
    return [line for line in lines[1:] if not is_checkpoint(line)]


def flip(random, lines):
    data = bytearray(b"".join(lines))
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return split(bytes(data))


def remove(random, lines):
    at = random.randrange(len(lines))
    return lines[:at] + lines[at + 1 :]


def reorder(random, lines):
    one, two = random.sample(range(len(lines)), 2)
    changed = list(lines)
    if random.random() < 0.5:
        changed[one], changed[two] = changed[two], changed[one]
    else:
        changed.insert(two, changed.pop(one))
    return changed


def insert(random, lines):
    at = random.randrange(1, len(lines) + 1)
    if random.random() < 0.7:
        line = random.choice(lines)
    else:
        index = len(only_events(lines[:at]))
        line = b"%d\t" % index + exported([sealed("acme", "new", 1, "inserted")])[1].partition(b"\t")[2]
    return [*lines[:at], line, *lines[at:]]


def truncate(random, lines):
    data = b"".join(lines)
    cut = random.randrange(len(data))
    if random.random() < 0.3:
        cut = len(b"".join(lines[: random.randrange(len(lines))]))
    return split(data[:cut])


def forge_checkpoint(random, lines):
    """Another key's, a changed body under the old signature, or a good one of another place."""
    at = random.choice([at for at, line in enumerate(lines) if at and is_checkpoint(line)])
    number = sum(map(is_checkpoint, lines[1 : at + 1]))
    note = CheckpointLine(*_values(lines[at])).note
    origin, size, root = body_of(note).splitlines()
    other = hashlib.sha256(b"another tree").digest()
    forged = random.choice(
        [
            STRANGER.sign(body_of(note)),
            note.replace(root, KEY.sign(f"{other.hex()}\n")[:43] + "="),
            note.replace(f"\n{size}\n", f"\n{int(size) + 1}\n"),
            note.replace(origin, origin + "x", 1),
            KEY.sign(f"{origin}\n{int(size) + 1}\n{root}\n"),
            KEY.sign(f"{origin}x\n{size}\n{root}\n"),
        ]
    )
    return [*lines[:at], CheckpointLine(forged, number).line(), *lines[at + 1 :]]


def _values(line):
    value = json.loads(line)
    return value["checkpoint"], value["number"]


def swap_payloads(random, lines):
    shown = [at for at, line in enumerate(lines) if line.count(b"\t") == 4 and not line.endswith(b"\t\t\n")]
    one, two = random.sample(shown, 2)
    a, b = lines[one].split(b"\t"), lines[two].split(b"\t")
    changed = list(lines)
    changed[one], changed[two] = b"\t".join(a[:3] + b[3:]), b"\t".join(b[:3] + a[3:])
    return changed


def move_the_boundary(random, lines):
    """Bytes move between salt and payload, which are hashed together: the digest fits as it did."""
    shown = [at for at, line in enumerate(lines) if line.count(b"\t") == 4 and not line.endswith(b"\t\t\n")]
    at = random.choice(shown)
    *before, payload, salt = lines[at][:-1].split(b"\t")
    both, begin = bytes.fromhex(salt.decode()) + payload, len(salt) // 2
    kept = [cut for cut in range(len(both) + 1) if not {9, 10} & {*both[cut:begin]} and cut != begin]
    cut = random.choice(kept)
    line = b"\t".join([*before, both[cut:], both[:cut].hex().encode()]) + b"\n"
    return [*lines[:at], line, *lines[at + 1 :]]


CARELESS = [
    *(flip, flip, flip, remove, reorder, insert, truncate),
    *(forge_checkpoint, swap_payloads, move_the_boundary),
]


def first_bad(lines, changed):
    """Index of the first event that is not the log's; None where only the lines between events were touched."""
    if changed[:1] != lines[:1]:
        return 0
    before, after = only_events(lines), only_events(changed)
    for index, (one, other) in enumerate(zip(before, after, strict=False)):
        if one != other:
            return index
    return None if len(before) == len(after) else min(len(before), len(after))


def check(lines, changed, careless=True):
    report = verify(changed, KEY.verifier())
    assert report.fault is not None, "not found"
    bad, fault = first_bad(lines, changed), report.fault
    if bad is None:
        return fault.code
    assert report.vouched <= bad < max(fault.until, fault.index + 1), (bad, report)
    shown = only_events(lines)[bad].count(b"\t") == 4 if bad < len(only_events(lines)) else True
    if careless and shown:
        assert fault.index == bad, (bad, fault)
    return fault.code


def test_a_thousand_careless_mutations_are_found_with_the_first_bad_index(record_property):
    codes = set()
    done = 0
    for number in range(MUTATIONS):
        random = Random(number)
        lines = LINES[number % len(LINES)]
        changed = CARELESS[number // len(LINES) % len(CARELESS)](random, lines)
        if changed == lines:
            continue
        done += 1
        try:
            codes.add(check(lines, changed))
        except AssertionError as error:
            raise AssertionError(f"mutation {number}: {error}") from error
    assert done >= MUTATIONS * 0.98
    assert codes >= {
        Wrong.HEADER,
        Wrong.LINE,
        Wrong.INDEX,
        Wrong.LEAF_HASH,
        Wrong.PAYLOAD_DIGEST,
        Wrong.SIGNATURE,
        Wrong.MISPLACED,
        Wrong.ORIGIN,
        Wrong.TRUNCATED,
    }
    record_property("counted", f"{done:,} mutations of exports, each found")


def rewrite(random, events):
    """Another payload under a digest that fits it."""
    at = random.randrange(len(events))
    columns = events[at].columns
    return [*events[:at], sealed(*_name(columns), columns["seq"], "rewritten"), *events[at + 1 :]]


def relabel(random, events):
    """The payload stays, what the envelope says of it changes."""
    at = random.randrange(len(events))
    event = events[at]
    columns = event.columns | {"type": "intent.final", "head_after": 1000}
    return [*events[:at], type(event)(columns, event.payload, event.salt), *events[at + 1 :]]


def drop(random, events):
    """One event is taken out, and its stream counted again."""
    at = random.randrange(len(events))
    return recounted(events[:at] + events[at + 1 :])


def slip_in(random, events):
    at = random.randrange(len(events) + 1)
    name = _name(random.choice(events).columns)
    return recounted([*events[:at], sealed(*name, 1, "slipped in"), *events[at:]])


def exchange(random, events):
    at = random.randrange(len(events) - 1)
    return recounted([*events[:at], events[at + 1], events[at], *events[at + 2 :]])


def _name(columns):
    return columns["tenant"], columns["commit_key"]


def recounted(events):
    seqs = {}
    made = []
    for event in events:
        name = _name(event.columns)
        seqs[name] = seqs.get(name, 0) + 1
        made.append(type(event)(event.columns | {"seq": seqs[name]}, event.payload, event.salt))
    return made


CAREFUL = [rewrite, relabel, drop, slip_in, exchange]


def carefully(genuine, forged, tenant):
    """The forged events between the checkpoints of the log, which nobody else can sign."""
    theirs = [line for line in genuine if is_checkpoint(line)]
    lines = [line for line in exported(forged, tenant=tenant, sizes=[]) if not is_checkpoint(line)]
    sizes = [int(body_of(_note(line)).split("\n")[1]) for line in theirs[1:]]
    for size, line in sorted(zip(sizes, theirs[1:], strict=True), reverse=True):
        lines.insert(min(size, len(lines)), line)
    return [theirs[0], *lines]


def _note(line):
    return _values(line)[0]


def test_a_careful_forger_is_found_by_the_first_checkpoint_behind(record_property):
    codes = set()
    done = 0
    for number in range(MUTATIONS // 2):
        random = Random(number)
        events, tenant, _ = EXPORTS[number % len(EXPORTS)]
        lines = LINES[number % len(LINES)]
        forged = CAREFUL[number // len(EXPORTS) % len(CAREFUL)](random, events)
        changed = carefully(lines, forged, tenant)
        if changed == lines:
            continue
        done += 1
        try:
            codes.add(check(lines, changed, careless=False))
        except AssertionError as error:
            raise AssertionError(f"forgery {number}: {error}") from error
    assert done >= MUTATIONS // 2 * 0.9
    assert Wrong.ROOT in codes
    record_property("counted", f"{done:,} careful forgeries of exports, each found")


def test_bytes_that_moved_between_salt_and_payload_went_unnoticed():
    """The digest is that of both together: an export with emptied payloads verified, and counted none as redacted."""
    found = set()
    for number in range(200):
        lines = LINES[number % len(LINES)]
        changed = move_the_boundary(Random(number), lines)
        found.add(check(lines, changed))
    assert found == {Wrong.PAYLOAD_DIGEST}


def test_a_careful_forger_who_signs_is_found_by_the_signature():
    events, tenant, every = EXPORTS[0]
    forged = rewrite(Random(0), events)
    resigned = exported(forged, tenant=tenant, every=every, key=STRANGER)
    for changed in (resigned, [LINES[0][0], *resigned[1:]]):
        report = verify(changed, KEY.verifier())
        assert report.fault is not None
        assert report.fault.code == Wrong.SIGNATURE
        assert report.vouched == 0


@pytest.mark.parametrize("number", range(len(EXPORTS)))
def test_the_exports_pass_untouched(number):
    report = verify(LINES[number], KEY.verifier())
    assert report.ok, report.fault
    assert report.vouched == len(EXPORTS[number][0])


def test_random_bytes_are_refused_and_raise_nothing():
    random = Random(7)
    for _ in range(200):
        lines = [random.randbytes(random.randrange(40)) + b"\n" for _ in range(3)]
        assert not verify(lines, KEY.verifier()).ok
        assert not verify([LINES[0][0], *lines], KEY.verifier()).ok


@pytest.mark.parametrize(
    "value",
    [
        {"checkpoint": checkpoint(EXPORTS[0][0], 7), "number": True},
        {"checkpoint": checkpoint(EXPORTS[0][0], 7), "number": 1, "more": 1},
        {"number": 1},
    ],
)
def test_a_checkpoint_s_line_has_one_spelling(value):
    lines = list(LINES[0])
    assert is_checkpoint(lines[8])
    lines[8] = canonical(value) + b"\n"
    fault = verify(lines, KEY.verifier()).fault
    assert fault is not None
    assert (fault.code, fault.index) == (Wrong.LINE, 7)


@pytest.mark.parametrize(
    "spelling", [b'"number":1e0', b'"number":9007199254740993', b'"number":"1"', b'"\\ud800":1']
)
def test_numbers_and_names_that_are_not_canonical_are_refused(spelling):
    lines = list(LINES[0])
    lines[8] = lines[8].replace(b'"number":1', spelling)
    fault = verify(lines, KEY.verifier()).fault
    assert fault is not None
    assert (fault.code, fault.index) == (Wrong.LINE, 7)
