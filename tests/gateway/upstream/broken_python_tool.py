"""A module that says its secret when it fails to load, where its message is cut."""

import os

raise RuntimeError("x" * 1992 + os.environ["TOOL_SECRET"])
