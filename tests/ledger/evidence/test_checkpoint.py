"""Bodies of checkpoints: the example of C2SP tlog-checkpoint, and everything that is not quite one."""

import base64

import pytest

from ledger.errors import CheckpointRefused
from ledger.evidence.checkpoint import Checkpoint
from ledger.evidence.note import VerifierKey, body_of
from tests.ledger.evidence import vectors

BODY = body_of(vectors.C2SP_CHECKPOINT)
ROOT = base64.b64decode("CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=")


def test_the_example_is_read_and_written():
    checkpoint = Checkpoint("example.com/behind-the-sofa", 20852163, ROOT)
    assert Checkpoint.parse(BODY) == checkpoint
    assert checkpoint.body() == BODY


def test_a_checkpoint_of_a_public_log_is_opened_and_read():
    body = VerifierKey.parse(vectors.SUMDB_VERIFIER_KEY).open(vectors.SUMDB_CHECKPOINT)
    checkpoint = Checkpoint.parse(body)
    assert (checkpoint.origin, checkpoint.size) == ("go.sum database tree", 65209736)
    assert checkpoint.body() == body


def test_extension_lines_are_kept_and_an_empty_log_has_size_0():
    for checkpoint in (Checkpoint("log", 7, ROOT, ("one", "two")), Checkpoint("log", 0, ROOT)):
        assert Checkpoint.parse(checkpoint.body()) == checkpoint


@pytest.mark.parametrize(
    "body",
    [
        "",
        "\n",
        BODY.removesuffix("\n"),
        BODY + "\n",
        BODY.partition("\n")[2],
        "\n" + BODY,
        BODY.replace("\n20852163\n", "\n"),
        BODY.replace("20852163", "020852163"),
        BODY.replace("20852163", "-20852163"),
        BODY.replace("20852163", "+20852163"),
        BODY.replace("20852163", "2085_2163"),
        BODY.replace("20852163", "20852163 "),
        BODY.replace("20852163", "²"),
        BODY.replace("20852163", "٣"),
        BODY.replace("20852163", "00"),
        BODY.replace("q2I=", "q2J="),
        BODY.replace("q2I=", "q2I"),
        BODY.replace("q2I=", "q2I==="),
        BODY.replace("CsUY", ""),
        BODY.replace("CsUY", "CsU!"),
        BODY.replace("CsUY", "CsUü"),
    ],
)
def test_other_bodies_are_refused(body):
    with pytest.raises(CheckpointRefused) as refused:
        Checkpoint.parse(body)
    assert refused.value.code == "checkpoint_refused"


@pytest.mark.parametrize(
    "checkpoint",
    [
        Checkpoint("", 1, ROOT),
        Checkpoint("a\nb", 1, ROOT),
        Checkpoint("log", -1, ROOT),
        Checkpoint("log", 1, b"short"),
        Checkpoint("log", 1, ROOT, ("",)),
    ],
)
def test_what_could_not_be_read_back_is_not_written(checkpoint):
    with pytest.raises(CheckpointRefused):
        checkpoint.body()
