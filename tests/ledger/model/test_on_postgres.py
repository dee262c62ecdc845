"""Histories on the real ledger: the gateway's services, two gateways at a time, compared with the model after every step."""

from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Engine, create_engine

from ledger.connect import connect
from ledger.rebuild import check
from tests.ledger.model.live import World
from tests.ledger.model.running import FIRST_SEED, POSTGRES_NAMED, drawn, missing, play, told
from tests.postgres import TestDatabase


@pytest.fixture
def owner(module_database: TestDatabase) -> Iterator[Engine]:
    owner = create_engine(module_database.owner_url)
    yield owner
    owner.dispose()


@pytest.fixture
def world(module_database: TestDatabase, owner: Engine) -> Iterator[World]:
    service = connect(module_database.service_url)
    yield World(service, owner)
    service.dispose()


@pytest.mark.parametrize(
    ("histories", "fresh"), [(30, False), pytest.param(1000, True, marks=pytest.mark.long)]
)
def test_the_ledger_on_postgres_does_what_the_model_does(
    world: World, owner: Engine, histories: int, fresh: bool, report: Callable[[str], None]
) -> None:
    seed = drawn(0) if fresh else FIRST_SEED
    print("seed", seed)
    seen: Counter[str] = Counter()
    play(world.begin, seen, seed=seed, histories=histories, steps=12)
    report(told("on Postgres", seed, seen))
    assert not missing(seen, POSTGRES_NAMED)
    assert list(check(owner)) == []
