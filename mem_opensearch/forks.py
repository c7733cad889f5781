"""Let objects that were made before a fork be used after it, in the child.

A child has a copy of everything but the other threads. A lock that one of them held stays closed for ever, and a
connection is still the parent's: two processes that read from one socket get each other's answers.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Protocol

from mem_opensearch import turns

if TYPE_CHECKING:
    from types import TracebackType


class Inherited(Protocol):
    """What a child must change before it uses it."""

    def after_fork(self) -> None:
        """Let go of what is the parent's; called in the child, before anything else runs there."""


_watched: weakref.WeakSet[Inherited] = weakref.WeakSet()


def watch(inherited: Inherited) -> None:
    """Have `inherited` told in every child process; it is held weakly."""
    _watched.add(inherited)


def _tell() -> None:
    for inherited in list(_watched):
        inherited.after_fork()


os.register_at_fork(after_in_child=_tell)


class Lock:
    """A lock that is open in a child, whoever held it in the parent.

    >>> with Lock():
    ...     pass
    """

    def __init__(self) -> None:
        self.after_fork()
        watch(self)

    def after_fork(self) -> None:
        """Make a new lock, which nobody holds."""
        self._lock: threading.Lock | threading.RLock = self._new()

    def _new(self) -> threading.Lock | threading.RLock:
        return threading.Lock()

    def __enter__(self) -> None:
        if self._lock.acquire(blocking=False):
            return
        with turns.waiting():  # whoever has the lock may wait for the turn
            self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lock.release()


class RLock(Lock):
    """A `Lock` that its holder may take again."""

    def _new(self) -> threading.RLock:
        return threading.RLock()
