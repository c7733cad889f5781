"""Do one thing in another thread, beside what this one does."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from mem_opensearch import forks, turns

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def begin(work: Callable[[], T]) -> Callable[[], T]:
    """Begin `work` in a thread of its own, for which a program that ends does not wait.

    Returns:
        What waits for its end, and returns or raises what it did.
    """
    done: Future[T] = Future()
    as_here = turns.as_here(work)

    def run() -> None:
        try:
            done.set_result(as_here())
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is raised where it is waited for
            done.set_exception(error)

    threading.Thread(target=run, name="mem-opensearch-beside", daemon=True).start()
    return lambda: _result(done)


def _result(done: Future[T]) -> T:
    with turns.waiting():
        return done.result()


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
        return lambda: _result(begun)
