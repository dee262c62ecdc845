"""``If-Match``: a change that is made only while what the caller has seen is still so (RFC 9110, section 13.1.1)."""

import json
import re
from typing import Annotated

from fastapi import Header

from gateway.errors import InvalidRequest, NotSupported

_TAG = re.compile(r'(?P<weak>W/)?"(?P<opaque>[\x21\x23-\x7e]*)"')


def wanted_tags(if_match: str | None) -> frozenset[str] | None:
    """The tags of which one has to be there, without their quotes; None: any will do.

    Comparison is strong, so a weak tag matches nothing. Raises ``InvalidRequest`` for what is no list of tags.
    """
    if if_match is None or if_match.strip() == "*":
        return None
    found = [_TAG.fullmatch(tag.strip()) for tag in if_match.split(",")]
    if None in found:
        raise InvalidRequest(
            "If-Match is a list of entity tags",
            errors=[{"place": "header.if-match", "reason": "no list of entity tags"}],
        )
    return frozenset(tag["opaque"] for tag in found if tag is not None and tag["weak"] is None)


def etag(tag: object) -> dict[str, str]:
    """The header that names what an answer shows."""
    return {"ETag": json.dumps(str(tag))}


def no_precondition(if_match: Annotated[str | None, Header(include_in_schema=False)] = None) -> None:
    """Of routes whose change can be made only once. Raises ``NotSupported`` where one is asked for: none is ignored."""
    if if_match is not None:
        raise NotSupported("If-Match is not supported here: what is decided here is decided only once")
