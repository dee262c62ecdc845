"""The model's dispatches: claiming, outcomes, losses, resolutions (design.md, "Dispatch: what is promised")."""

from datetime import datetime, timedelta

from tests.ledger.model.calls import Call, Word, end, leave
from tests.ledger.model.stream import TRIES, Model, Place


def claim(model: Model, place: Place, now: datetime) -> bool:
    """Whether the call is to be sent now."""
    model.settle_down(now)
    call = model.calls[place]
    if call.state != "released":
        return False
    if call.attempts and not call.reads and not _recognised(call, now):
        call.state, call.why_over = "in_doubt", "may_not_be_repeated"
        model.settle_down(now)
        return False
    model.facts += 1
    call.state = "dispatched"
    call.attempts += 1
    call.awaited = call.attempts
    call.sent_fact, call.sent_at = model.facts, now
    call.first_sent_at = call.first_sent_at or now
    call.settled_fact = call.status = call.content = call.adopted = None
    call.early_answer = call.release == "early"
    if call.word is not None:
        call.word = Word(call.word.until, call.attempts)
    return True


def answer(
    model: Model, place: Place, attempt: int, status: str, content: object, now: datetime, *, unsent: bool
) -> bool:
    """Whether the outcome came for an attempt that was awaited; else it is late.

    A late outcome of the same attempt settles an unresolved doubt; anything else that is late is evidence. What was
    certainly not sent has spent nobody's word.
    """
    call = model.calls[place]
    on_time = call.awaited == attempt
    if on_time and unsent and call.word is not None:
        call.word = Word(call.word.until)
    if on_time or (call.state == "in_doubt" and attempt == call.attempts):
        _settle(model, call, status, content)
    model.settle_down(now)
    return on_time


def lose(model: Model, place: Place, attempt: int, retry_after: float, now: datetime) -> bool:
    """Nobody knows whether it happened. Whether the attempt was awaited."""
    call = model.calls[place]
    if call.awaited != attempt:
        return False
    if call.reads and attempt >= TRIES:
        _settle(model, call, "unavailable", {"because": "lost"})
    elif call.reads or _recognised(call, now):
        call.awaited = None
        _tell_adopters(model, call)
        if call.state != "voided":
            call.state, call.release = "held", None
            call.not_before = now + timedelta(seconds=retry_after) if retry_after else None
    else:
        call.awaited, call.state, call.why_over = None, "in_doubt", "lost"
    model.settle_down(now)
    return True


def resolve(model: Model, place: Place, happened: bool, now: datetime) -> str | None:
    """A person's word; the code of the refusal."""
    call = model.calls[place]
    if call.state != "in_doubt":
        return "not_in_doubt"
    _settle(model, call, "happened_unknown_result" if happened else "not_happened", None)
    call.resolved = True
    model.settle_down(now)
    return None


def approve(model: Model, place: Place, now: datetime, *, of_others: bool) -> str | None:
    """A person lets it be sent once, with the arguments that it has; the code of the refusal."""
    call = model.calls[place]
    code = _not_asked(call, of_others)
    if code is None:
        call.state, call.word = "held", Word(now + timedelta(seconds=call.tool.allowed_for))
        model.settle_down(now)
    return code


def deny(model: Model, place: Place, now: datetime, *, of_others: bool) -> str | None:
    """A person ends it; the code of the refusal."""
    call = model.calls[place]
    code = _not_asked(call, of_others)
    if code is None:
        end(call, "denied", "no")
        model.settle_down(now)
    return code


def _not_asked(call: Call, of_others: bool) -> str | None:
    if of_others:
        return "approval_of_other_arguments"
    return None if call.state == "awaiting_approval" else "not_awaiting_approval"


def _settle(model: Model, call: Call, status: str, content: object) -> None:
    model.facts += 1
    call.awaited, call.settled_fact = None, model.facts
    call.status, call.content = status, content
    if call.state != "voided":
        call.state, call.why_over = "settled", None
    _tell_adopters(model, call)


def _tell_adopters(model: Model, source: Call) -> None:
    """Who adopted it while it was in flight has its answer now, or goes on without."""
    for call in model.calls.values():
        if call.state != "dispatched" or call.adopted != (source.name, source.attempts):
            continue
        if source.status in (None, "unavailable"):
            leave(call)
        else:
            call.state, call.settled_fact = "settled", source.settled_fact
            call.status, call.content = source.status, source.content


def _recognised(call: Call, now: datetime) -> bool:
    """Whether the tool still knows the idempotency key."""
    window = call.tool.window
    if call.tool.effect != "IDEMPOTENT" or window is None or call.first_sent_at is None:
        return False
    return now - call.first_sent_at < timedelta(seconds=window)
