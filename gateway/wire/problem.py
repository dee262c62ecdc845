"""Problem documents (RFC 9457)."""

from pydantic import ConfigDict, Field

from gateway.wire.base import Answer, JSONObject

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:commitgate:problem:"


class Problem(Answer):
    """What went wrong. Programs rely on ``code``; ``title`` is the same for every problem of one code, ``detail`` is not.

    Some problems have more members: ``errors`` of an ``invalid_request`` lists each place and what is wrong there.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: JSONObject = Field(init=False)

    type: str
    title: str
    status: int
    code: str
    detail: str
