"""A dispatcher in a process of its own, as ``commitgate worker`` runs it."""

from functools import partial
from multiprocessing.connection import Connection

from gateway.collecting import collect_seldom
from gateway.dispatcher.settings import DispatcherSettings
from gateway.dispatcher.worker import Dispatcher
from gateway.logs import configure_logs
from gateway.service.brakes import KnownBrakes
from gateway.service.tables import EffectTables
from gateway.switching import switch_soon
from gateway.upstream.http import HttpUpstream
from gateway.wiring import utc_now
from ledger.append import Ledger
from ledger.connect import connect
from ledger.listen import Listener
from ledger.work import Work


def dispatch(url: str, pipe: Connection) -> None:
    """Dispatch until the pipe says so."""
    configure_logs("warning")
    collect_seldom()
    switch_soon()
    engine = connect(url, application_name="bench-dispatcher")
    ledger = Ledger(engine, clock=utc_now, notify=True)
    dispatcher = Dispatcher(
        ledger,
        Work(engine),
        EffectTables(ledger, utc_now, KnownBrakes(engine, utc_now).of),
        HttpUpstream(),
        DispatcherSettings(),
        utc_now,
        hearing=partial(Listener, engine),
    )
    dispatcher.start()
    pipe.send(None)
    pipe.recv()
    dispatcher.stop(5)
    ledger.close()
    engine.dispose()
    pipe.send(None)
