"""Which version of Commitgate this is."""

from importlib import metadata


def version() -> str:
    """That of the installed package; ``0`` where it runs from a source tree alone."""
    try:
        return metadata.version("commitgate")
    except metadata.PackageNotFoundError:
        return "0"
