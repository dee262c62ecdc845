"""A user of the embedded Postgres as a process of its own: it joins the home in $USER_HOME and takes orders.

Says one JSON line when it has joined (or could not), then one for each order that it reads: `query`, `close`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import psycopg

from gateway.embedded import EmbeddedPostgres, EmbeddedPostgresError


def say(**fields: object) -> None:
    print(json.dumps(fields), flush=True)


def main() -> None:
    postgres = EmbeddedPostgres(Path(os.environ["USER_HOME"]))
    try:
        postgres.open()
    except EmbeddedPostgresError as error:
        say(code=error.code, message=str(error))
        return
    url = postgres.service_url.replace("+psycopg", "")
    say(
        service_url=postgres.service_url,
        root=str(postgres.folder.root),
        guardian=postgres.server.guardian_pid,
        server=postgres.server.server_pid,
        version=postgres.server.version,
    )
    for order in sys.stdin:
        if order.strip() == "query":
            with psycopg.connect(url) as connection:
                say(answer=connection.execute("select 6 * 7").fetchone())
        elif order.strip() == "close":
            postgres.close()
            say(closed=True)


if __name__ == "__main__":
    main()
