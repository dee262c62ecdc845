"""``python -m tests.simulation SEED``: the story of one seed, and what is wrong with it."""

import sys

from tests.simulation.run import simulate


def main() -> None:
    told = simulate(int(sys.argv[1]), tell=True)
    print("\n".join(told.story))
    print(dict(told.counts))
    print("\n".join(told.faults) or "no fault")
    sys.exit(bool(told.faults))


if __name__ == "__main__":
    main()
