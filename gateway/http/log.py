"""``/v1/ledger``: the sealed feed, and evidence of what the log holds."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from effects.strict_json import MAX_INTEGER
from gateway.http.body import refuse_nul
from gateway.http.caller import Caller
from gateway.http.document import problems
from gateway.http.masking import shown_sealed
from gateway.wire.log import CheckpointView, ConsistencyView, FeedView, InclusionView
from ledger.events import EventType
from ledger.log.entries import Wanted

STREAM_PATTERN = r"^(_effects|[A-Za-z0-9][A-Za-z0-9._:-]{0,127})$"
"""A commit key, or the reserved stream of effect tables."""

MAX_LIMIT = 1000

router = APIRouter(prefix="/v1/ledger", tags=["ledger"])

Seq = Annotated[int, Query(ge=1, le=MAX_INTEGER, description="Seq of the event in its stream")]
Moment = Annotated[datetime | None, Query(description="RFC 3339; UTC where no offset is given")]
StreamKey = Annotated[str, Query(pattern=STREAM_PATTERN)]


@router.get("/events", operation_id="readFeed", response_model=FeedView, responses=problems(422))
def read_feed(
    call: Caller,
    after: Annotated[
        str | None, Query(max_length=400, description="Cursor to go on from; the beginning if not given")
    ] = None,
    type_: Annotated[EventType | None, Query(alias="type")] = None,
    tool: Annotated[
        str | None, Query(min_length=1, max_length=200, description="Only events about calls of this tool")
    ] = None,
    commit_key: Annotated[str | None, Query(pattern=STREAM_PATTERN)] = None,
    since: Moment = None,
    until: Moment = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 100,
) -> JSONResponse:
    """Sealed events of all streams in log order. The cursor never skips and never expires; pages may be empty in between.

    `since` (included) and `until` (not) compare when events were written, which is not the order of the log.
    """
    refuse_nul(tool)
    wanted = Wanted(commit_key=commit_key, type=type_, tool=tool, since=_aware(since), until=_aware(until))
    page = call.services.log.events(call.principal, after=after, limit=limit, wanted=wanted)
    return JSONResponse({"events": shown_sealed(call, page.events), "cursor": page.cursor, "more": page.more})


@router.get(
    "/checkpoint", operation_id="showCheckpoint", response_model=CheckpointView, responses=problems(404)
)
def show_checkpoint(call: Caller) -> JSONResponse:
    """The newest signed checkpoint."""
    return JSONResponse(call.services.log.checkpoint(call.principal))


@router.get(
    "/proofs/inclusion",
    operation_id="proveInclusion",
    response_model=InclusionView,
    responses=problems(404, 409, 422),
)
def prove_inclusion(call: Caller, commit_key: StreamKey, seq: Seq) -> JSONResponse:
    """Proof that the newest checkpoint covers an event; 409 `not_sealed` while it does not yet."""
    return JSONResponse(call.services.log.inclusion(call.principal, commit_key, seq))


@router.get(
    "/proofs/consistency",
    operation_id="proveConsistency",
    response_model=ConsistencyView,
    responses=problems(404, 422),
)
def prove_consistency(
    call: Caller,
    old: Annotated[int, Query(alias="from", ge=0, le=MAX_INTEGER, description="The smaller log's size")],
    new: Annotated[
        int | None,
        Query(
            alias="to",
            ge=0,
            le=MAX_INTEGER,
            description="The larger log's size; that of the newest checkpoint if not given",
        ),
    ] = None,
) -> JSONResponse:
    """Proof that the log has only grown between two sizes."""
    return JSONResponse(call.services.log.consistency(call.principal, old, new))


def _aware(moment: datetime | None) -> datetime | None:
    return moment if moment is None or moment.tzinfo is not None else moment.replace(tzinfo=UTC)
