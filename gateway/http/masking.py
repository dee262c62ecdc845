"""The masks of the effect table, on what callers are shown (``gateway.service.masking``)."""

from collections.abc import Mapping, Sequence

from gateway.http.caller import Call
from gateway.service.masking import Masks, looks_on
from gateway.service.views import View, event_view
from ledger.events import Event
from ledger.state import Intent


def masks_of(call: Call) -> Masks | None:
    """The masks for this caller; None where everything is shown. May ask the database."""
    if not looks_on(call.principal):
        return None
    masks = Masks(call.services.tables.current(call.principal.tenant).table)
    return masks if masks.any else None


def shown_intent(call: Call, view: View) -> View:
    """An intent as the caller may see it."""
    masks = masks_of(call)
    return view if masks is None else masks.intent(view)


def shown_intents(call: Call, views: Sequence[View]) -> list[View]:
    """Intents as the caller may see them."""
    masks = masks_of(call)
    return list(views) if masks is None else [masks.intent(view) for view in views]


def shown_stream(call: Call, view: View) -> View:
    """A stream as the caller may see it."""
    masks = masks_of(call)
    return view if masks is None else masks.stream(view)


def shown_events(call: Call, commit_key: str, events: Sequence[Event]) -> list[View]:
    """Events of one stream as the caller may see them."""
    return _shown(call, [(commit_key, event_view(event)) for event in events])


def shown_sealed(call: Call, views: Sequence[View]) -> list[View]:
    """Events of several streams, each with its ``commit_key``, as the caller may see them."""
    return _shown(call, [(str(view["commit_key"]), view) for view in views])


def _shown(call: Call, views: Sequence[tuple[str, View]]) -> list[View]:
    masks = masks_of(call)
    if masks is None:
        return [view for _, view in views]
    intents: dict[str, Mapping[str, Intent]] = {}
    shown = []
    for key, view in views:
        if key not in intents and view.get("intent_id") is not None:
            intents[key] = call.services.streams.state(call.principal, key).intents
        shown.append(masks.event(view, intents.get(key, {}).get))
    return shown
