"""Runs a demonstration: starts everything, takes the turns, reconciles, counts, and ends everything."""

import os
import secrets
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from sqlalchemy import Engine

from decoding.errors import SinkError
from gateway.cli.output import say
from gateway.database import database
from gateway.demo.api import Api
from gateway.demo.child import Child
from gateway.demo.ending import ENDINGS, Ending, deaf, ended_in_order
from gateway.demo.errors import DemoFailed
from gateway.demo.evidence import check_evidence
from gateway.demo.home import fresh_home
from gateway.demo.logcheck import check_log
from gateway.demo.models import NGRAM, Models, load_models
from gateway.demo.served import start_gateway, url_of
from gateway.demo.shop import Shop, effect_table, opened, requests, shop_folder, start_shop, tools
from gateway.demo.show import Show
from gateway.demo.summary import Summary
from gateway.demo.turns import Turns
from gateway.service.scanning import find_blocks
from gateway.settings import Settings
from gateway.wiring import utc_now
from ledger.access.duty import Duty
from ledger.migrate import upgrade
from ledger.reconcile.run import Options as ReconcileOptions
from ledger.reconcile.run import run as reconcile
from ledger.reconcile.summary import Summary as Reconciled
from ledger.reconcile.toollog import ToolLog

READY_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """``model``: the target, a folder or a name; None: the shop's. ``drafts``: drafters; none given: the shop's two.

    The n-gram drafter always takes its turns, too. ``keep``: the home stays when all is over.
    """

    turns: int = 20
    model: str | None = None
    drafts: Sequence[str] = field(default_factory=tuple)
    keep: bool = False


def run_demo(options: DemoOptions, show: Show) -> Summary:
    """The whole demonstration. Nothing it started runs any more when it returns or raises.

    Raises ``DemoNotPossible``, ``DemoFailed``, ``DecodingError``, and what the database raises.
    """
    began = time.monotonic()
    with ended_in_order() as ending, ExitStack() as stack:
        try:
            stack.callback(show.close)
            home = stack.enter_context(fresh_home(keep=options.keep))
            stage = _Stage(options, show, stack, ending, home, f"demo-{secrets.token_hex(3)}")
            return stage.run(began)
        except ENDINGS:
            # The terminal may be gone; there is still everything to be ended.
            with suppress(OSError):
                show.close()
                say("ending everything that was started")
            raise
        except Exception:
            # What was interrupted may have made an error of its own of it.
            ending.check()
            raise
        finally:
            deaf()


@dataclass(frozen=True, slots=True)
class _Stage:
    options: DemoOptions
    show: Show
    stack: ExitStack
    ending: Ending
    home: Path
    name: str

    def run(self, began: float) -> Summary:
        settings = self._settings()
        folder = shop_folder()
        self.show.stage("starting Postgres, the shop and the gateway; loading models")
        if settings.migration_database_url is not None:
            upgrade(settings.migration_database_url)
        with self.ending.later():
            shop_child = self.stack.enter_context(start_shop(self.home))
            gateway = self.stack.enter_context(start_gateway(self.home, settings))
        models = self._models(folder)
        self.ending.check()
        shop = opened(shop_child, self.home, READY_SECONDS)
        api = self.stack.enter_context(Api(url_of(gateway, READY_SECONDS), settings.api_key))
        engine = self.stack.enter_context(database(settings, "commitgate-demo", [Duty.RECONCILER]))
        # Once more: it has to end before the hold on the database above is let go, whose end is waited for.
        self.stack.callback(gateway.stop)
        api.apply_effects(effect_table(shop))
        turns = self._turns(api, models, (shop_child, gateway))
        return self._counted(turns, engine, settings, shop, began)

    def _turns(self, api: Api, models: Models, children: Sequence[Child]) -> Turns:
        turns = Turns(api, models, tools(), self.show, self.name)
        for number, scenario in enumerate(requests(self.options.turns), start=1):
            self.ending.check()
            for child in children:
                child.check()
            try:
                turns.turn(number, self.options.turns, scenario)
            except (DemoFailed, SinkError) as error:
                said = "\n".join(f"the {child.name} said:\n{child.tail()}" for child in children)
                raise DemoFailed(f"{error}\n{said}") from error
        return turns

    def _counted(self, turns: Turns, engine: Engine, settings: Settings, shop: Shop, began: float) -> Summary:
        self.show.stage("reconciling the ledger with the shop's own log")
        summary = Summary(
            turns=self.options.turns,
            messages=turns.messages,
            tokens=turns.tokens,
            refused=sum(intent["state"] == "refused" for intent in turns.intents),
            reconciled=self._reconciled(engine, settings, shop),
            log=check_log(shop.log, turns.intents),
            evidence=check_evidence(engine, settings) if settings.seal else None,
            seconds=time.monotonic() - began,
            kept=self._kept(settings),
        )
        self.show.summary(summary)
        return summary

    def _reconciled(self, engine: Engine, settings: Settings, shop: Shop) -> Reconciled:
        # No grace: every call has come to rest, so whatever was not sent was lost.
        options = ReconcileOptions(grace=timedelta(0))
        with ToolLog(shop.log, complete=True) as log:
            found = reconcile(
                engine, settings.tenant, options, now=utc_now(), find_blocks=find_blocks, tool_log=log
            )
            for finding in found.findings:
                self.show.finding(finding)
        return found.summary

    def _settings(self) -> Settings:
        """Those of the environment, with the home of this run; in a database of others, under a tenant of its own.

        The log of such a database is signed by the key of its owners, which is not in the home of this run.
        """
        configured = Settings()
        update: dict[str, object] = {"home": self.home}
        if configured.database_url is not None:
            seals = configured.seal and configured.ledger_key is not None
            update |= {"tenant": self.name, "seal": seals}
        return configured.model_copy(update=update)

    def _models(self, folder: Path) -> Models:
        wanted: list[str | Path] = list(self.options.drafts)
        if self.options.model is None:
            # Models this small are slower on many threads than on one.
            os.environ.setdefault("OMP_NUM_THREADS", "1")
            wanted = wanted or [folder / "models" / "drafter", folder / "models" / "weak"]
        target = self.options.model or folder / "models" / "target"
        return load_models(target, [*wanted, NGRAM])

    def _kept(self, settings: Settings) -> dict[str, str]:
        if not self.options.keep:
            return {}
        names = {"COMMITGATE_HOME": str(settings.home)}
        if settings.database_url is not None:
            names["COMMITGATE_TENANT"] = settings.tenant
        return {**names, "key": f"{self.name}-01"}
