"""Proof of one event as a document: all that somebody needs who has nothing but a public key.

The document is a JSON object: ``format``, ``index``, ``size``, ``leaf_hash``, ``envelope``, ``payload`` and ``salt`` (null
once redacted), ``path`` (sibling hashes from the leaf upwards, RFC 9162), ``checkpoint`` (a C2SP signed note over the tree
of ``size`` leaves). Hashes and salt are in hex.
"""

from collections.abc import Mapping
from hashlib import sha256
from json import loads
from typing import cast

from ledger.errors import ProofRefused
from ledger.evidence.checkpoint import Checkpoint
from ledger.evidence.note import VerifierKey
from ledger.evidence.tree import leaf_hash, verify_inclusion
from ledger.log.reader import LogReader

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


def _check_payload(document: Mapping[str, object], envelope: str) -> None:
    payload, salt = document.get("payload"), document.get("salt")
    if payload is None and salt is None:
        return
    # The envelope is in the tree, so it is what the ledger wrote.
    digest = cast(dict[str, object], loads(envelope))["payload_digest"]
    text = payload if isinstance(payload, str) else ""
    if sha256(_unhex(salt) + text.encode("utf-8", "surrogatepass")).hexdigest() != digest:
        raise ProofRefused("the digest in the envelope is not that of salt and payload")


def _unhex(text: object) -> bytes:
    try:
        return bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        return b""
