"""placeholder"""


def decode() -> None: ...
