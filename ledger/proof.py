"""Proof of one event as a document: all that somebody needs who has nothing but a public key.

The document is a JSON object: ``format``, ``index``, ``size``, ``leaf_hash``, ``envelope``, ``payload`` and ``salt`` (null
once redacted), ``path`` (sibling hashes from the leaf upwards, RFC 9162), ``checkpoint`` (a C2SP signed note over the tree
of ``size`` leaves). Hashes and salt are in hex.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from json import loads
from typing import cast

from effects.wording import counted
from ledger.errors import ProofRefused
from ledger.evidence.checkpoint import Checkpoint
from ledger.evidence.note import VerifierKey
from ledger.evidence.tree import leaf_hash, verify_inclusion
from ledger.log.reader import LogReader
from ledger.payload import SALT_BYTES

FORMAT = "commitgate-ledger-proof/1"


def prove(reader: LogReader, tenant: str, commit_key: str, seq: int) -> dict[str, object]:
    """The document for an event. Raises UnknownEvent, NotSealed (try again), LedgerUnavailable."""
    proof = reader.inclusion(tenant, commit_key, seq)
    entry = reader.entries(proof.index - 1, 1, tenant)[0]
    return {
        "format": FORMAT,
        "index": proof.index,
        "size": proof.size,
        "leaf_hash": proof.leaf_hash.hex(),
        "envelope": proof.envelope,
        "payload": entry.payload,
        "salt": None if entry.salt is None else entry.salt.hex(),
        "path": [node.hex() for node in proof.path],
        "checkpoint": proof.checkpoint,
    }


def check_proof(document: Mapping[str, object], key: VerifierKey) -> Checkpoint:
    """The checkpoint that covers the event of ``document``, signed by ``key``.

    Raises ProofRefused where the document does not prove its event, NoteRefused, CheckpointRefused.
    """
    index, path, envelope = document.get("index"), document.get("path"), document.get("envelope")
    note = document.get("checkpoint")
    if document.get("format") != FORMAT or type(index) is not int or not isinstance(path, list):
        raise ProofRefused("this is no proof of an event")
    if not isinstance(envelope, str) or not isinstance(note, str):
        raise ProofRefused("the proof has no envelope or no checkpoint")
    signed = Checkpoint.parse(key.open(note))
    if signed.origin != key.name:
        raise ProofRefused(f"the checkpoint is one of {signed.origin}, the key of {key.name}")
    leaf = leaf_hash(envelope.encode("utf-8", "surrogatepass"))
    if document.get("size") != signed.size or document.get("leaf_hash") != leaf.hex():
        raise ProofRefused("size or leaf hash are not those of the checkpoint and the envelope")
    verify_inclusion(leaf, index, signed.size, [_unhex(node) for node in path], signed.root)
    _check_payload(document, envelope)
    return signed


def check_kept(signed: Checkpoint, key: VerifierKey, kept: Iterable[str]) -> int:
    """How many of the checkpoints that were kept outside are of the same size as ``signed``, and so of the same tree.

    Of another size nothing follows without more hashes than a proof holds. Raises ProofRefused where one of the same size is
    of another tree or one was made for another log; NoteRefused, CheckpointRefused, KeptRefused where one is none.
    """
    compared = 0
    for note in kept:
        checkpoint = Checkpoint.parse(key.open(note))
        if checkpoint.origin != signed.origin:
            raise ProofRefused(f"a checkpoint that was kept is one of {checkpoint.origin}")
        if checkpoint.size == signed.size:
            if checkpoint.root != signed.root:
                covered = counted(signed.size, "event")
                raise ProofRefused(f"the checkpoint of {covered} that was kept has another root")
            compared += 1
    return compared


def _check_payload(document: Mapping[str, object], envelope: str) -> None:
    if not {"payload", "salt"} <= document.keys():
        raise ProofRefused("the proof has no payload or no salt: both are null once the event is redacted")
    payload, salt = document["payload"], document["salt"]
    if payload is None and salt is None:
        return
    # The envelope is in the tree, so it is what the ledger wrote.
    digest = cast(dict[str, object], loads(envelope))["payload_digest"]
    text, raw = payload if isinstance(payload, str) else "", _unhex(salt)
    if len(raw) != SALT_BYTES:
        raise ProofRefused(f"the salt does not have {SALT_BYTES} bytes: bytes of the payload may hide in it")
    if sha256(raw + text.encode("utf-8", "surrogatepass")).hexdigest() != digest:
        raise ProofRefused("the digest in the envelope is not that of salt and payload")


def _unhex(text: object) -> bytes:
    try:
        return bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        return b""
