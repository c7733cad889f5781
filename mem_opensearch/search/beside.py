"""Do one thing in another thread, beside what this one does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from mem_opensearch import forks, turns

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Beside:
    """Threads that are started when they are first needed, kept until this object is gone, and new in a child.

    Args:
        most: how many there are at most; what is begun meanwhile waits for one.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.after_fork()
        forks.watch(self)

    def after_fork(self) -> None:
        """Leave the threads to the parent."""
        # To start one for each search took a third of what a search computes.
        self._threads = ThreadPoolExecutor(self._most, "mem-opensearch-beside")

    def begin(self, work: Callable[[], T]) -> Callable[[], T]:
        """Begin `work`; return what waits for its end, and returns or raises what it did."""
        begun = self._threads.submit(turns.as_here(work))

        def end() -> T:
            with turns.waiting():
                return begun.result()

        return end
