"""``python -m examples.shop.training``: train the three models and write them where ``--out`` says."""

import argparse
import json
import sys
from pathlib import Path

from examples.shop.training.fit import settle_randomness, train
from examples.shop.training.measure import answer_all, drafting, held_out, spelling
from examples.shop.training.save import load, save
from examples.shop.training.shapes import DRAFTER, TARGET, WEAK
from examples.shop.training.vocabulary import train_tokenizer

SEED = 7
WINDOWS = (8, 16, 32)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.shop.training", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for target/, drafter/ and weak/")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--threads", type=int, default=2, help="part of what the bytes depend on")
    parser.add_argument("--only", choices=["target", "drafter", "weak"], help="train this one alone")
    parser.add_argument("--measure", action="store_true", help="train nothing, measure what is in --out")
    parser.add_argument("--prompts", type=int, default=60, help="how many requests to measure on")
    wanted = parser.parse_args()
    settle_randomness(wanted.seed, wanted.threads)
    if not wanted.measure:
        tokenizer = train_tokenizer(wanted.seed)
        for offset, shape in enumerate((TARGET, DRAFTER, WEAK)):
            if wanted.only in (None, shape.name):
                save(train(shape, tokenizer, wanted.seed + offset), tokenizer, wanted.out / shape.name)
        return 0
    print_measures(wanted.out, wanted.prompts)
    return 0


def print_measures(folder: Path, prompts: int) -> None:
    """A JSON line for the target, then one for each drafter and window."""
    tokenizer, target = load(folder / "target")
    answers = answer_all(target, tokenizer, held_out(prompts))
    print(json.dumps({"model": "target"} | spelling(answers)), flush=True)
    for name in ("drafter", "weak"):
        _, drafter = load(folder / name)
        for window, measures in drafting(drafter, tokenizer, answers, WINDOWS).items():
            print(json.dumps({"model": name, "window": window} | measures), flush=True)


if __name__ == "__main__":
    sys.exit(main())
