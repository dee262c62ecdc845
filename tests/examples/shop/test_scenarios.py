import yaml

from examples.shop.effect_table import effects_yaml
from examples.shop.refusal import RefusalError
from examples.shop.scenarios import KINDS, scenarios
from examples.shop.signatures import signatures
from examples.shop.store import open_store
from examples.shop.tools import ARGUMENTS, READ_ONLY, run_tool
from examples.shop.world import make_world


def test_the_world_and_its_scenarios_are_the_same_every_time() -> None:
    assert make_world(3) == make_world(3)
    assert make_world(3) != make_world(4)
    assert scenarios(make_world(3), 30, seed=5) == scenarios(make_world(3), 30, seed=5)
    assert scenarios(make_world(3), 30, seed=5) != scenarios(make_world(3), 30, seed=6)


def test_every_call_of_the_demo_is_one_that_the_shop_grants() -> None:
    world = make_world()
    for seed in range(3):
        store = open_store(None, world)
        asked = scenarios(world, 2 * len(KINDS), seed)
        for scenario in asked:
            for call in scenario.calls:
                try:
                    run_tool(store, call.name, dict(call.arguments))
                except RefusalError as refusal:
                    raise AssertionError(f"{scenario.ask}: {call} refused: {refusal.detail}") from refusal
        assert {scenario.kind for scenario in asked} == {kind.__name__ for kind in KINDS}
        used = {call.name for scenario in asked for call in scenario.calls}
        assert used == set(ARGUMENTS)


def test_scenarios_put_reads_behind_writes_of_the_same_thing() -> None:
    names = [[call.name in READ_ONLY for call in s.calls] for s in scenarios(make_world(), len(KINDS))]
    assert sum(reads[-1] and not reads[0] for reads in names) >= 4
    assert sum(not any(reads) for reads in names) >= 2


def test_what_models_are_told_is_what_the_tools_take() -> None:
    told = {tool.name: list(tool.arguments) for tool in signatures()}
    assert told == {name: list(model.model_fields) for name, model in ARGUMENTS.items()}


def test_the_effect_table_covers_every_tool_at_the_real_origin() -> None:
    table = yaml.safe_load(effects_yaml("http://127.0.0.1:4711/"))
    assert set(table["tools"]) == set(ARGUMENTS)
    assert table["policy"]["reads_behind_writes"] == "send"
    for name, entry in table["tools"].items():
        assert entry["upstream"]["http"] == f"http://127.0.0.1:4711/tools/{name}"
        assert (entry["effect"] == "READ_ONLY") == (name in READ_ONLY)
        for key in entry.get("reads", []) + entry.get("writes", []):
            holes = {part.partition("}")[0] for part in key.split("{")[1:]}
            assert holes <= set(ARGUMENTS[name].model_fields)
