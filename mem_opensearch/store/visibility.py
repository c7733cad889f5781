"""Decide when a write becomes visible to searches.

The server shows a write to searches only after a refresh. Waiting for one on every write (`wait_for`) costs up to the
refresh interval, a second by default, each time. The policy `on_read` asks for the refresh when it is needed: before
this process's next search or listing, and only if it has written since the last one. Reads by id need none of this.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from mem_opensearch import forks

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from mem_opensearch.models import Refresh


class _Count:
    """How many writes a collection had from this process, and how many of them a refresh has shown."""

    __slots__ = ("lock", "refreshing", "shown", "written")

    def __init__(self) -> None:
        self.lock = forks.Lock()  # guards `written`
        self.refreshing = forks.Lock()  # held during a refresh
        self.written = 0
        self.shown = 0

    def add(self) -> None:
        with self.lock:
            self.written += 1


# Never emptied: what a store wrote has still to be shown when that store is gone. A count is a few bytes.
_SHARED: dict[Hashable, _Count] = {}
_SHARED_LOCK = forks.Lock()


class Visibility:
    """The refresh policy of one store; stores of one process on the same collection share the count.

    Args:
        policy: see `StoreConfig.refresh`.
        key: names the server and the collection.
    """

    def __init__(self, policy: Refresh, key: Hashable) -> None:
        self._policy = policy
        with _SHARED_LOCK:
            self._count = _SHARED.setdefault(key, _Count())

    @contextmanager
    def writing(self) -> Iterator[str]:
        """Give the `refresh` parameter of a write, and note at its end that there is something to show.

        It is noted after the write: noted before, a search in between would clear the note without showing the write.
        It is noted after a failure too, since a request that timed out may have been carried out.
        """
        try:
            yield "false" if self._policy == "on_read" else self._policy
        finally:
            if self._policy == "on_read":
                self._count.add()

    @property
    def is_due(self) -> bool:
        """Whether this process wrote something that searches may not see yet."""
        return self._count.shown < self._count.written

    def show(self, refresh: Callable[[], None]) -> None:
        """Call `refresh` if this process wrote something that searches may not see yet."""
        count = self._count
        if not self.is_due:
            return
        wanted = count.written
        with count.refreshing:  # a second reader waits for the first one's refresh, which may show its writes too
            if count.shown >= wanted:
                return
            covered = count.written  # writes that end from here on may come too late for this refresh
            refresh()
            count.shown = covered
