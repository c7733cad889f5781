"""Let threads that compute beside an event loop take turns, so that the loop does not wait for all of them.

Python lets one thread run at a time, and whoever wants to be next waits for up to 5 ms (`sys.getswitchinterval`) for
each of those that want it too. Twenty threads that compute thus keep a loop waiting for 0.1 s; one of them, for 5 ms.
They get no slower by it, since they would share the one interpreter anyway. Measured in docs/mem0.md: turns are worth
something together with `mem0/switching.py`, and nothing without it.

Whoever holds the turn waits for nothing: it gives the turn up first (`waiting`). So no two threads wait for each other.
"""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")


class _Mine(threading.local):
    """Of each thread, whether it goes by turns, and whether it has the turn now."""

    takes = False
    holds = False


_mine = _Mine()
_turn = threading.Lock()  # there is one of them, as there is one interpreter


def _take() -> None:
    _turn.acquire()
    _mine.holds = True


def _give_up() -> None:
    _mine.holds = False
    _turn.release()


@contextmanager
def taken() -> Iterator[None]:
    """Go by turns in this thread for what is done within, and begin with one; wait for it first.

    Within another `taken` it changes nothing, but after `waiting` has given the turn up, which it takes again.
    """
    if _mine.holds:
        yield
        return
    before, _mine.takes = _mine.takes, True
    _take()
    try:
        yield
    finally:
        _give_up()
        _mine.takes = before


@contextmanager
def waiting() -> Iterator[None]:
    """Give the turn up for what is done within, such as to wait for a server, and wait for another one after it.

    A thread that has none, as any thread that does not go by turns, just does it.
    """
    if not _mine.holds:
        yield
        return
    _give_up()
    try:
        yield
    finally:
        _take()


def computing() -> AbstractContextManager[None]:
    """Hold the turn, if this thread goes by turns, for what may be done within `waiting` and waits for nothing."""
    return taken() if _mine.takes else nullcontext()


def as_here(work: Callable[[], T]) -> Callable[[], T]:
    """Return `work`, to be done by another thread: by turns, if this thread goes by turns.

    Whoever waits for that thread does so within `waiting`.
    """
    if not _mine.takes:
        return work

    def by_turns() -> T:
        with taken():
            return work()

    return by_turns


def _after_fork() -> None:
    """Let a child, where no other thread is left, have a turn that nobody holds but itself, if it was the holder."""
    global _turn  # noqa: PLW0603 - one for the process is the point
    _turn = threading.Lock()
    if _mine.holds:
        _turn.acquire()


os.register_at_fork(after_in_child=_after_fork)
