"""The drafts of JSON Schema that a schema may be written in, by the URI that ``$schema`` names (https://json-schema.org).

Words that judge in one draft and say nothing in another are taken only where they judge: what nobody would check is not to
look as if it were checked.
"""

import re
from dataclasses import dataclass
from typing import cast

from jsonschema import (
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
)
from jsonschema.protocols import Validator

_NAMING = frozenset(
    (
        *("$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"),
        "$vocabulary",
    )
)
_URI = re.compile(r"https?://json-schema\.org/([a-z0-9/-]+)/schema#?")
# Judged by the library with the word that they belong to.
_BESIDE = {
    "exclusiveMinimum": frozenset((Draft4Validator,)),
    "exclusiveMaximum": frozenset((Draft4Validator,)),
    "minContains": frozenset((Draft201909Validator, Draft202012Validator)),
    "maxContains": frozenset((Draft201909Validator, Draft202012Validator)),
}


@dataclass(frozen=True, slots=True)
class Draft:
    """One draft. ``name``: as people call it. ``not_taken``: words that may stand in no schema of it here.

    ``reference_alone``: what stands beside a ``$ref`` says nothing.
    """

    name: str
    library: type[Validator]
    not_taken: frozenset[str]
    reference_alone: bool


def _judging(library: type[Validator]) -> frozenset[str]:
    words = frozenset(cast("dict[str, object]", library.VALIDATORS))
    return words | {word for word, drafts in _BESIDE.items() if library in drafts}


_LIBRARIES: dict[str, type[Validator]] = {
    "draft-04": Draft4Validator,
    "draft-06": Draft6Validator,
    "draft-07": Draft7Validator,
    "draft/2019-09": Draft201909Validator,
    "draft/2020-12": Draft202012Validator,
}
_WORDS = frozenset[str]().union(*map(_judging, _LIBRARIES.values()))
DRAFTS = {
    name: Draft(
        name.removeprefix("draft/"),
        library,
        _NAMING | (_WORDS - _judging(library)) | ({"id"} if name == "draft-04" else set()),
        reference_alone=name in ("draft-04", "draft-06", "draft-07"),
    )
    for name, library in _LIBRARIES.items()
}


def draft_of(document: dict[str, object]) -> Draft:
    """The draft that a schema names; 2020-12 where it names none. ValueError where it is none of these."""
    named = document.get("$schema", "https://json-schema.org/draft/2020-12/schema")
    found = _URI.fullmatch(named) if isinstance(named, str) else None
    if found is None or found[1] not in DRAFTS:
        raise ValueError(f"$schema: no draft that is taken; those are {', '.join(DRAFTS)} of json-schema.org")
    return DRAFTS[found[1]]
