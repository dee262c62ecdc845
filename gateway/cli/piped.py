"""Files that a command is given to read and that may be pipes: what is read twice has to lie on a disk."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile


@contextmanager
def on_disk(place: Path) -> Iterator[Path]:
    """``place`` if it is a file or a folder; of a pipe or a device a copy, for as long as the block runs. Raises OSError."""
    if place.is_file() or place.is_dir():
        yield place
        return
    with NamedTemporaryFile(prefix="commitgate-") as copy:
        with place.open("rb") as piped:
            shutil.copyfileobj(piped, copy)
        copy.flush()
        yield Path(copy.name)
