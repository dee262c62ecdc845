"""After a redaction the text is in no table, and everything that can be asked about the stream is answered."""

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime

import psycopg
import pytest

from effects.intent import IntentState
from gateway.errors import Redacted
from gateway.principal import everyone
from gateway.service.views import event_view
from gateway.turn.opening import StreamTerms
from gateway.turn.posting import PostedIntent
from gateway.wiring import wire
from ledger import rebuild
from ledger.append import Ledger
from ledger.errors import IntentNotOver, NotRecorded, ReservedStream, StreamNotOver
from ledger.events import EventType
from ledger.fold import fold, initial
from ledger.reconcile.run import Options, run
from ledger.redaction.purging import Purger
from ledger.redaction.recording import record
from ledger.sharding import StreamName
from ledger.timeline import timeline
from tests.gateway.turn.desk import spell
from tests.ledger.liveturn import find_blocks
from tests.ledger.redaction.secret import MARKER, TOKEN_ID, SecretTurn, hits, recorded, redacted, secret_turn
from tests.postgres import libpq

KILLED_BETWEEN = """
import os, signal, sys
from datetime import UTC, datetime
from ledger.append import Ledger
from ledger.connect import connect
from ledger.redaction.recording import record
url, tenant, key, intent = sys.argv[1:]
ledger = Ledger(connect(url), clock=lambda: datetime.now(UTC))
record(ledger, tenant, key, intent, by="p", reason="asked for", name_stays=lambda name: name == "create")
os.kill(os.getpid(), signal.SIGKILL)
"""


def fresh(turn: SecretTurn, engine) -> Ledger:
    """Another process: it has read nothing yet."""
    return Ledger(engine, clock=lambda: datetime.now(UTC))


def findings(engine, tenant, blocks=find_blocks):
    return list(run(engine, tenant, Options(), now=datetime.now(UTC), find_blocks=blocks).findings)


class TestTheText:
    def test_it_is_gone_from_every_table(self, turn, redactor, module_database):
        before = hits(module_database.admin_url, turn.tenant)
        assert set(before) == {"ledger.events", "ledger.intents", "ledger.batches"}, (
            "the control: it was there"
        )
        assert before["ledger.events"] == 8, "three drafts, a ruling, two held, a release, an answer"
        redacted(turn, redactor)
        assert hits(module_database.admin_url, turn.tenant) == {}

    def test_it_is_gone_from_the_statistics_of_the_planner_once_they_are_made_anew(
        self, turn, redactor, module_database
    ):
        """VACUUM alone leaves samples of columns there, for everybody who may read the tables."""
        tables = ("ledger.events", "ledger.intents", "ledger.batches")
        sampled = "select concat(most_common_vals::text, histogram_bounds::text) from pg_stats where schemaname = 'ledger'"

        def samples(connection):
            return [told for (told,) in connection.execute(sampled) if MARKER in told]

        with psycopg.connect(libpq(module_database.admin_url), autocommit=True) as admin:
            for table in tables:
                admin.execute(f"analyze {table}")
            assert samples(admin), "the control"
            redacted(turn, redactor)
            for table in tables:
                admin.execute(f"vacuum {table}")
            assert samples(admin), "what VACUUM does not do"
            for table in tables:
                admin.execute(f"vacuum analyze {table}")
            assert samples(admin) == []

    def test_ids_of_its_tokens_are_gone_and_those_of_others_stay(self, turn, redactor):
        meant = redacted(turn, redactor)
        main = turn.state.branches["main"]
        ids = [token.id for token in main.accepted]
        assert set(ids[meant.start : meant.end]) == {None}
        assert ids[0] == ids[-1] == TOKEN_ID
        told = json.dumps([dict(e.payload) for e in turn.events if e.seq in turn.state.redacted])
        assert str(TOKEN_ID) not in told
        assert str(TOKEN_ID) in json.dumps([dict(e.payload) for e in turn.events]), "the control"

    def test_it_stays_where_nothing_was_asked_for(
        self, turn, redactor, engine, ledger, module_database, tenant
    ):
        secret_turn(ledger, engine, tenant, "turn-2")
        redacted(turn, redactor)
        assert set(hits(module_database.admin_url, tenant)) == {
            "ledger.events",
            "ledger.intents",
            "ledger.batches",
        }

    def test_what_others_said_stays(self, turn, redactor):
        redacted(turn, redactor)
        kept = [i for i in turn.state.intents.values() if not i.redacted]
        assert [json.loads(i.arguments_raw) for i in kept] == [{"name": "kept"}, {"name": "after"}]
        assert [i.result_content for i in kept] == [{"seen": "read"}] * 2

    def test_a_late_answer_does_not_bring_it_back(self, ledger, engine, tenant, redactor, module_database):
        turn = secret_turn(ledger, engine, tenant, finish=False)
        turn.say(spell("put", name=MARKER))
        turn.claim("put")
        turn.finish("error")
        turn.lose("put")
        lost = turn.intent("put")
        if lost.state is IntentState.IN_DOUBT:
            turn.resolve("put", happened=True)
        else:
            turn.claim("put")
            turn.settle_with("put", {"said": MARKER})
        assert turn.intent("put").terminal
        meant = redacted(turn, redactor, "put")
        turn.answer_late(meant, {"said": MARKER})
        told = turn.events[-1]
        assert told.type is EventType.DISPATCH_LATE
        assert told.payload["status"] == "ok"
        assert told.payload["content"] is None
        redacted_too = recorded(turn)
        Purger(redactor).purge(tenant, turn.key)
        assert redacted_too.redacted
        assert hits(module_database.admin_url, tenant) == {}

    def test_a_name_that_no_effect_table_knows_goes_too(
        self, ledger, engine, tenant, redactor, module_database
    ):
        turn = secret_turn(ledger, engine, tenant, finish=False)
        turn.say(spell(f"make_{MARKER}", name="x"))
        turn.finish()
        redacted(turn, redactor)
        unknown = redacted(turn, redactor, f"make_{MARKER}")
        assert unknown.tool is None
        assert turn.state.intents[unknown.intent_id].tool is None
        assert hits(module_database.admin_url, tenant) == {}
        assert (
            next(i for i in turn.state.intents.values() if i.effect == "WRITE" and i.final).tool == "create"
        )


class TestWhatIsAsked:
    def test_the_state_is_the_same_read_from_the_beginning_and_gone_on_with(self, turn, redactor, engine):
        other = fresh(turn, engine)
        other.read(turn.tenant, turn.key)
        redacted(turn, redactor)
        again = fresh(turn, engine).read(turn.tenant, turn.key)
        assert again == turn.state == other.read(turn.tenant, turn.key)
        assert MARKER not in again.branches["main"].text
        assert again.redacted

    def test_between_the_steps_it_is_the_same_too(self, turn, redactor, engine):
        recorded(turn)
        between = fresh(turn, engine).read(turn.tenant, turn.key)
        Purger(redactor).purge(turn.tenant, turn.key)
        assert fresh(turn, engine).read(turn.tenant, turn.key) == between

    def test_projections_are_what_events_amount_to(self, turn, redactor, engine):
        redacted(turn, redactor)
        name = StreamName.of(turn.tenant, turn.key)
        assert list(rebuild.check(engine, only=name)) == []

    def test_events_show_it_and_say_nothing_else(self, turn, redactor):
        before = turn.events
        redacted(turn, redactor)
        views = [event_view(event) for event in turn.events]
        assert {view["seq"] for view in views if view.get("redacted")} == set(turn.state.redacted)
        assert MARKER not in json.dumps(views)
        for old, view in zip(before, views, strict=False):
            assert (old.seq, old.type, old.branch, old.intent_id) == (
                view["seq"],
                view["type"],
                view["branch"],
                view.get("intent_id"),
            )

    def test_the_timeline_tells_it(self, turn, redactor):
        redacted(turn, redactor)
        lines = timeline(turn.events)
        assert sum("(redacted)" in line.text for line in lines) == len(turn.state.redacted)
        assert lines[-1].text.endswith('by operator: "asked for"')

    def test_services_show_it_and_hold_nothing_against_it(self, turn, redactor, engine):
        meant = redacted(turn, redactor)
        wired, caller = wire(engine), everyone(turn.tenant)
        stream = wired.streams.show(caller, turn.key, with_ids=True)
        main = stream["branches"]["main"]
        assert any(start <= meant.start and meant.end <= end for start, end in main["redacted"])
        assert [view["redacted"] for view in stream["intents"]].count(True) == 2
        view, rests = wired.intents.get(caller, turn.key, meant.intent_id)
        assert rests
        assert view["redacted"]
        assert view["result"] == {"status": "ok", "content": None}
        posted = PostedIntent("main", None, meant.start, meant.end, 0, "create", {"name": "x"})
        with pytest.raises(Redacted):
            wired.intents.post(caller, turn.key, posted)

    @pytest.mark.parametrize("blocks", [find_blocks, None], ids=["with a detector", "without"])
    def test_reconciliation_finds_nothing(self, turn, redactor, engine, blocks):
        assert findings(engine, turn.tenant, blocks) == []
        redacted(turn, redactor)
        assert findings(engine, turn.tenant, blocks) == []

    def test_a_redacted_stream_can_be_taken_over(self, turn, redactor, engine):
        meant = redacted(turn, redactor)
        wired, caller = wire(engine), everyone(turn.tenant)
        seq = turn.state.seq
        view, _ = wired.streams.open(caller, turn.key, StreamTerms())
        assert view["seq"] == seq + 1
        assert turn.state.intents[meant.intent_id] == meant


class TestSteps:
    def test_killed_between_them_it_is_listed_and_finished_later(self, turn, redactor, module_database):
        meant = turn.intent("create")
        words = [module_database.service_url, turn.tenant, turn.key, meant.intent_id]
        done = subprocess.run(
            [sys.executable, "-c", KILLED_BETWEEN, *words], check=False, env=dict(os.environ)
        )
        assert done.returncode == -signal.SIGKILL
        purger = Purger(redactor)
        [unfinished] = purger.pending(turn.tenant)
        assert (unfinished.commit_key, unfinished.intent_id) == (turn.key, meant.intent_id)
        assert unfinished.left == len(turn.state.redacted) >= 8
        assert hits(module_database.admin_url, turn.tenant), "the control: nothing is gone yet"
        again = recorded(turn)
        assert again.redacted
        assert purger.purge(turn.tenant, turn.key) == unfinished.left
        assert purger.pending(turn.tenant) == []
        assert hits(module_database.admin_url, turn.tenant) == {}

    def test_asked_for_again_it_is_done_already(self, turn, redactor):
        redacted(turn, redactor)
        seq = turn.state.seq
        recorded(turn)
        assert turn.state.seq == seq
        assert Purger(redactor).purge(turn.tenant, turn.key) == 0

    def test_one_after_the_other_can_be_redacted(self, turn, redactor, engine):
        redacted(turn, redactor)
        redacted(turn, redactor, "read", 0)
        redacted(turn, redactor, "read", 1)
        assert fresh(turn, engine).read(turn.tenant, turn.key) == turn.state
        assert all(i.redacted for i in turn.state.intents.values())
        assert findings(engine, turn.tenant) == []

    def test_licences_stay(self, turn, redactor, people):
        query = f"select * from ledger.dispatches where tenant = '{turn.tenant}' order by intent_id"
        before = people["redactor"].admin(query)
        assert len(before) == 3
        redacted(turn, redactor)
        assert people["redactor"].admin(query) == before

    def test_a_takeover_that_is_faster_is_taken_in(self, turn, redactor, engine):
        """The plan is made anew on what the other one has written."""
        wired = wire(engine)

        class Racing(Ledger):
            raced = False

            def events(self, tenant, commit_key, after, limit):
                if not Racing.raced:
                    Racing.raced = True
                    wired.streams.open(everyone(tenant), commit_key, StreamTerms())
                return super().events(tenant, commit_key, after, limit)

        racing = Racing(engine, clock=lambda: datetime.now(UTC))
        recorded(turn, ledger=racing)
        Purger(redactor).purge(turn.tenant, turn.key)
        assert [event.type for event in turn.events[-2:]] == [
            EventType.STREAM_TAKEN_OVER,
            EventType.PAYLOAD_REDACTED,
        ]
        state = initial(turn.tenant, turn.key)
        for event in turn.events:
            state = fold(state, event)
        assert state == turn.state


class TestRefused:
    def record(self, turn, intent_id):
        record(turn.ledger, turn.tenant, turn.key, intent_id, by="p", reason="r", name_stays=lambda _: True)

    def test_while_the_stream_goes_on(self, ledger, engine, tenant):
        turn = secret_turn(ledger, engine, tenant, finish=False)
        with pytest.raises(StreamNotOver):
            recorded(turn)

    @pytest.mark.parametrize("doubt", [True, False], ids=["in doubt", "on its way"])
    def test_while_the_call_is_not_over(self, ledger, engine, tenant, doubt):
        turn = secret_turn(ledger, engine, tenant, finish=False)
        turn.say(spell("delete", name="x"))
        turn.claim("delete")
        turn.finish()
        if doubt:
            turn.lose("delete")
        with pytest.raises(IntentNotOver):
            recorded(turn, "delete")
        recorded(turn)

    def test_what_is_not_there(self, turn):
        with pytest.raises(NotRecorded):
            self.record(turn, "int_none")
        turn.key = "nothing"
        with pytest.raises(NotRecorded):
            self.record(turn, "int_none")

    def test_streams_of_the_ledgers_own(self, turn):
        turn.key = "_effects"
        with pytest.raises(ReservedStream):
            self.record(turn, "int_none")

    def test_nothing_is_written_then(self, turn):
        seq = turn.state.seq
        with pytest.raises(NotRecorded):
            self.record(turn, "int_none")
        assert turn.state.seq == seq
