"""``python -m tests.lint``: says nothing and exits 0 where everything hot is led by the shard."""

import sys
import tempfile
from pathlib import Path

from gateway.logs import configure_logs
from ledger.migrate import upgrade
from tests import postgres
from tests.lint.check import findings


def main() -> int:
    """Look on a server of this run's own."""
    configure_logs()
    home = postgres.make_home()
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            postgres.server() as server,
            server.migrated(upgrade) as made,
        ):
            found = findings(made, Path(folder))
    finally:
        postgres.remove_home(home)
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
