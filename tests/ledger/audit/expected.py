"""What each view has to show of one stream, made in Python from its events and licences: fold, timeline, reconciliation."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from sqlalchemy import Engine

from effects.canonical import canonical
from ledger.events import Event, EventType
from ledger.fold import fold, initial
from ledger.projection import rows
from ledger.reconcile.acceptance import UnreadableTokens, accepted_branches
from ledger.reconcile.case import Case, case_of
from ledger.reconcile.evidence import Evidence
from ledger.reconcile.examine import GRACE, examine
from ledger.reconcile.summary import _is_early, adoptions
from ledger.reconcile.trail import body_of
from ledger.reconcile.walk import Scope, Walk
from ledger.sharding import StreamName
from ledger.state import Branch, StreamState
from ledger.timeline import timeline

Row = dict[str, object]


def evidence_of(engine: Engine, tenant: str, key: str) -> Evidence:
    """Everything that the ledger holds about the stream."""
    return Walk(engine, Scope(tenant, key), page=10).evidence(StreamName.of(tenant, key))


def sql_text(text: str | None) -> str | None:
    """As SQL can hold it: a NUL is shown as U+001A."""
    return None if text is None else text.replace("\0", "\x1a")


def _json(value: object) -> str | None:
    return None if value is None else canonical(value).decode().replace("\\u0000", "\\u001a")


def tokens(events: Sequence[Event]) -> Counter[tuple[object, ...]]:
    """branch, round, position, id, text, drafted, drafter, verdict, seq, decided_seq of every token."""
    found: dict[tuple[str, int, int], list[object]] = {}
    gone = {event.seq for event in events if event.redacted}
    for before, event, after in _steps(events):
        name = event.branch
        if name is None or name not in after.branches or before.branches.get(name) is after.branches[name]:
            continue
        _move(found, before.branches[name], event, after.branches[name])
    for said in found.values():
        said[1] = None if said[-2] in gone else said[1]
    return Counter((*key, *said) for key, said in found.items())


def _move(found: dict[tuple[str, int, int], list[object]], was: Branch, event: Event, now: Branch) -> None:
    if event.type is EventType.TOKENS_DRAFTED:
        for place in range(was.drafted_end, now.drafted_end):
            token = now.token(place)
            said = [token.id, sql_text(token.text), True, token.drafter, "pending", event.seq, None]
            found[now.name, token.round, place] = said
        return
    for place in range(was.head, now.head):
        token = now.accepted[place]
        if place < was.drafted_end and token == was.token(place):
            found[now.name, token.round, place][-3:] = ["accepted", token.seq, event.seq]
        else:
            said = [token.id, sql_text(token.text), False, token.drafter, "accepted", event.seq, event.seq]
            found[now.name, token.round, place] = said
    if now.round > was.round:
        verdict = "voided" if event.type is EventType.DRAFTS_VOIDED else "rejected"
        for place in range(was.head, was.drafted_end):
            said = found[now.name, was.round, place]
            if said[-3] == "pending":
                said[-3:] = [verdict, said[-2], event.seq]


def _steps(events: Sequence[Event]) -> Iterator[tuple[StreamState, Event, StreamState]]:
    state = initial("t", "k")
    for event in events:
        after = fold(state, event)
        yield state, event, after
        state = after


def rulings(events: Sequence[Event]) -> Counter[tuple[object, ...]]:
    """branch, round, seq, span, accepted, cut_at, heads, own token, ruling id of every ruling."""
    found: Counter[tuple[object, ...]] = Counter()
    for before, event, after in _steps(events):
        if event.type is not EventType.TOKENS_RULED:
            continue
        body, was, now = body_of(event), before.branches[str(event.branch)], after.branches[str(event.branch)]
        own = body.get("token") or {}
        own_text = None if event.redacted else sql_text(own.get("text"))
        span = (body["start"], body["end"], body["end"] - body["start"], body["accepted"])
        more = (body.get("ruling_id"), body.get("rule"), body.get("verify_ms"))
        heads = (event.cut_at, was.head, now.head, own.get("id"), own_text)
        found[(event.branch, was.round, event.seq, *span, *heads, *more)] += 1
    return found


def intents(state: StreamState, evidence: Evidence) -> dict[str, Row]:
    """The columns of each intent, by id: those of the projection, and what reconciliation says of acceptance."""
    case = case_of(evidence, now=datetime.now(UTC), grace=GRACE)
    told = {
        str(row["intent_id"]): dict(row)
        for row in rows(initial(state.tenant, state.commit_key), state).intents
    }
    for intent_id, row in told.items():
        intent = state.intents[intent_id]
        del row["tenant"], row["commit_key"]
        row["result_content"] = _json(intent.result_content)
        row["accepted_seq"] = case.accepted_seq(case.trails[intent_id])
        row |= {"byte_start": intent.byte_start, "byte_end": intent.byte_end, "closed_seq": intent.closed_seq}
        row |= {
            "problem": intent.problem,
            "redacted": intent.redacted,
            "footprint": _json(intent.footprint.to_json()),
        }
    return told


def dispatches(evidence: Evidence) -> Counter[tuple[object, ...]]:
    """intent_id, attempt, started_seq, effect, status, unsent, licensed, recorded of every dispatch of the union."""
    found: Counter[tuple[object, ...]] = Counter()
    case = case_of(evidence, now=datetime.now(UTC), grace=GRACE)
    for trail in case.trails.values():
        for attempt in trail.ordered_attempts():
            started, row = attempt.started, attempt.row
            said = {} if started is None else body_of(started)
            answers = [e for e in attempt.outcomes if body_of(e).get("status") is not None]
            effect = said.get("effect", row.effect if row is not None else None)
            late = [e for e in answers if e.type is EventType.DISPATCH_LATE]
            settling = [e for e in answers if e.type is not EventType.DISPATCH_LATE]
            doubted = [e for e in attempt.outcomes if e.type is EventType.DISPATCH_IN_DOUBT]
            if doubted and late and not settling:
                settling = late[:1]
            last = settling[-1] if settling else late[-1] if late else None
            status = None if last is None else body_of(last)["status"]
            found[
                trail.intent_id, attempt.number, attempt.started_seq or None, effect, status, attempt.unsent,
                row is not None, started is not None,
            ] += 1  # fmt: skip
    return found


def story(events: Sequence[Event]) -> list[tuple[object, ...]]:
    """seq, type, kind, branch, intent_id and the line of every event."""
    lines = timeline(events)
    texts = [line.text.replace("\\x00", "\\x1a").replace("\\u0000", "\\u001a") for line in lines]
    return [
        (line.seq, line.type.value, line.kind, line.branch, line.intent_id, told)
        for line, told in zip(lines, texts, strict=True)
    ]


def findings(evidence: Evidence, now: datetime) -> Counter[tuple[object, ...]]:
    """finding, intent_id, seq of everything that reconciliation finds without a log and without a detector."""
    found = examine(evidence, now=now, find_blocks=None).findings
    return Counter((f.kind.value, f.intent_id, f.seq) for f in found)


def union(evidence: Evidence) -> set[tuple[object, object]]:
    """intent_id and attempt of every dispatch, and intent_id and None of every accepted intent without one."""
    case = case_of(evidence, now=datetime.now(UTC), grace=GRACE)
    sent = {(t.intent_id, a.number) for t in case.trails.values() for a in t.ordered_attempts()}
    entitled = {t.intent_id for t in case.trails.values() if case.accepted_seq(t) is not None}
    return sent | {(intent_id, None) for intent_id in entitled if not case.trails[intent_id].attempts}


def early_reads(evidence: Evidence) -> dict[tuple[str, int], str | None]:
    """The fate of every early read, by intent and attempt."""
    case: Case = case_of(evidence, now=datetime.now(UTC), grace=GRACE)
    found: dict[tuple[str, int], str | None] = {}
    adopted = {(source.intent_id, attempt) for source, attempt in adoptions(case)}
    for trail in case.trails.values():
        attempts = trail.ordered_attempts()
        final = next(trail.of(EventType.INTENT_FINAL), None)
        stale = {event.attempt for event in trail.of(EventType.INTENT_STALE)}
        for attempt in attempts:
            if not _is_early(trail, attempt):
                continue
            fate = None
            if final is not None and final.attempt == attempt.number:
                fate = "used"
            elif attempt.number in stale:
                fate = "stale"
            elif (trail.intent_id, attempt.number) in adopted:
                fate = "adopted"
            elif trail.standing().over or attempt is not attempts[-1]:
                fate = "wasted"
            found[trail.intent_id, attempt.number] = fate
    return found


def doubts(evidence: Evidence) -> Counter[tuple[object, ...]]:
    """intent_id, attempt, in_doubt_seq, because, open, who resolved it, late evidence of every doubt."""
    found: Counter[tuple[object, ...]] = Counter()
    case = case_of(evidence, now=datetime.now(UTC), grace=GRACE)
    for trail in case.trails.values():
        for attempt in trail.ordered_attempts():
            doubted = [e for e in attempt.outcomes if e.type is EventType.DISPATCH_IN_DOUBT]
            if not doubted:
                continue
            after = [e for e in attempt.outcomes if e.seq > doubted[0].seq]
            resolved = [e for e in after if e.type is EventType.DISPATCH_RESOLVED]
            late = [e for e in after if e.type is EventType.DISPATCH_LATE]
            evidence_seq = max((e.seq for e in late if resolved and e.seq > resolved[0].seq), default=None)
            by = body_of(resolved[0])["by"] if resolved else None
            because = body_of(doubted[0])["because"]
            found[trail.intent_id, attempt.number, doubted[0].seq, because, not after, by, evidence_seq] += 1
    return found


def readable(events: Sequence[Event]) -> bool:
    """Whether acceptance can be worked out."""
    try:
        accepted_branches(events)
    except UnreadableTokens:
        return False
    return True
