"""Something that must be read anew for every question, read once for all who ask at the same time."""

from collections.abc import Callable
from threading import Condition
from typing import Generic, TypeVar

T = TypeVar("T")


class Newest(Generic[T]):
    """Answers with what ``read`` gives, never from a read that began before the question. Safe for many threads.

    While one thread reads, those that ask meanwhile wait, and one of them reads for all of them.
    """

    def __init__(self, read: Callable[[], T]) -> None:
        """See the class."""
        self._read = read
        self._changed = Condition()
        self._begun = 0
        self._reading = False
        self._answer: tuple[int, T] | None = None

    def ask(self) -> T:
        """The answer of a read that began after this call. Raises what the read raises, where this thread reads."""
        with self._changed:
            # Reads are numbered as they begin: one with this number or a later one has not begun yet.
            wanted = self._begun + 1
            while self._answer is None or self._answer[0] < wanted:
                if not self._reading:
                    break
                self._changed.wait()
            else:
                return self._answer[1]
            self._reading = True
            self._begun += 1
            number = self._begun
        try:
            answer = self._read()
        except BaseException:
            self._ended(None)
            raise
        self._ended((number, answer))
        return answer

    def _ended(self, answer: tuple[int, T] | None) -> None:
        with self._changed:
            self._reading = False
            self._answer = answer or self._answer
            self._changed.notify_all()
