"""Loaded by every Python process of a plain run before anything else: the driver refuses there too."""

import sys
from importlib.util import find_spec
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[3]

if find_spec("psycopg") is not None:
    sys.path.append(str(_ROOT))
    from tests.plain import hook

    hook.install()
