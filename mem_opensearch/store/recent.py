"""Remember this process's latest writes, where a server shows them late and takes no ids."""

from __future__ import annotations

import time
from collections import OrderedDict
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mem_opensearch import forks

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

MAX_ROWS = 10_000
"""Rows that are remembered until searches show them; of more, the oldest are forgotten."""
MAX_BYTES = 64_000_000
"""Bytes that these rows may take."""
MAX_REMOVED = 10_000
"""Deleted ids that are remembered, in case a copy turns up that the deletion could not know of."""
WATCHED = 1000
"""Documents that are looked for to tell whether searches show all: the newest, which every shard has some of."""
SHOWN_SECONDS = 120.0
"""Longest that searches may take to show a write; what is older is forgotten. Reports say 5 to 65 seconds."""
_LOCKS = 64


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """Which of two documents of one row is newer: the one that compares as greater.

    Attributes:
        written_at: nanoseconds since 1970 by the writer's clock, and more than any version that the writer has seen.
        doc: the server's own `_id`, which decides between two of the same instant: a write that was sent twice.

    >>> Version(2, "a") > Version(1, "b"), Version(1, "b") > Version(1, "a")
    (True, True)
    """

    written_at: int
    doc: str


@dataclass(frozen=True, slots=True)
class _Written:
    version: Version
    data: bytes
    serial: int
    time: float


class Recent:
    """Writes of this process to one collection that searches may not show yet. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = forks.Lock()
        self._row_locks = [forks.RLock() for _ in range(_LOCKS)]
        self.forget()

    def forget(self) -> None:
        """Forget everything: the collection is gone."""
        with self._lock:
            self._rows: OrderedDict[str, _Written] = OrderedDict()
            self._buried: OrderedDict[str, tuple[int, float]] = OrderedDict()
            self._removed: OrderedDict[str, int] = OrderedDict()
            self._bytes = 0
            self._serial = 0
            self._last = 0
            self._lost_sight = (0, 0.0)  # serial and time of the newest row that was forgotten too early

    # -- writing

    @contextmanager
    def writing(self, ids: Iterable[str]) -> Iterator[None]:
        """Keep this process's other threads from writing to the same rows: a change is a read and a write."""
        with ExitStack() as held:
            for number in sorted({hash(row_id) % _LOCKS for row_id in ids}):
                held.enter_context(self._row_locks[number])
            yield

    def instant(self, after: int = 0) -> int:
        """Return the instant of a write that replaces one of the instant `after`; each is greater than the last."""
        with self._lock:
            self._last = max(time.time_ns(), self._last + 1, after + 1)
            return self._last

    def remember(self, row_id: str, version: Version, data: bytes) -> None:
        """Note that a row was written, with its JSON."""
        with self._lock:
            self._serial += 1
            before = self._rows.pop(row_id, None)
            self._bytes += len(data) - (len(before.data) if before else 0)
            self._rows[row_id] = _Written(version, data, self._serial, time.monotonic())
            while len(self._rows) > MAX_ROWS or (self._bytes > MAX_BYTES and len(self._rows) > 1):
                _, oldest = self._rows.popitem(last=False)
                self._bytes -= len(oldest.data)
                self._lost_sight = max(self._lost_sight, (oldest.serial, oldest.time))

    def bury(self, docs: Iterable[str]) -> None:
        """Note documents that are replaced or deleted: searches may still show them, and must not."""
        with self._lock:
            for doc in docs:
                self._serial += 1
                self._buried[doc] = (self._serial, time.monotonic())

    def remove(self, row_id: str, written_at: int) -> None:
        """Note that a row was deleted that was written at the instant `written_at`."""
        with self._lock:
            self._drop(row_id)
            self._removed[row_id] = written_at
            self._removed.move_to_end(row_id)
            if len(self._removed) > MAX_REMOVED:
                self._removed.popitem(last=False)

    # -- reading

    def written(self, row_id: str) -> tuple[Version, bytes] | None:
        """Return the version and the JSON of a row that this process wrote, unless searches show it by now."""
        with self._lock:
            self._expire()
            found = self._rows.get(row_id)
            return (found.version, found.data) if found else None

    def removed_at(self, row_id: str) -> int:
        """Return the instant of the write that was deleted last of a row; 0 for a row that was not deleted."""
        with self._lock:
            return self._removed.get(row_id, 0)

    def is_buried(self, doc: str) -> bool:
        """Whether a document is replaced or deleted."""
        with self._lock:
            self._expire()
            return doc in self._buried

    def buried(self) -> list[str]:
        """Return the documents that searches must not show, newest last."""
        with self._lock:
            self._expire()
            return list(self._buried)

    @property
    def has_lost_sight(self) -> bool:
        """Whether a row may be there that neither this memory nor a search knows."""
        with self._lock:
            self._expire()
            return self._lost_sight[0] > 0

    # -- what searches show

    def watch(self) -> tuple[int, set[str], set[str]]:
        """Return (serial, documents to appear, documents to vanish): when they have, all up to `serial` is shown."""
        with self._lock:
            self._expire()
            appear = [each.version.doc for each in self._rows.values()][-WATCHED:]
            vanish = list(self._buried)[-WATCHED:]
            return self._serial, set(appear), set(vanish)

    def settle(self, serial: int) -> None:
        """Forget what was noted up to `serial`: searches show it."""
        with self._lock:
            self._forget_if(lambda noted, _: noted <= serial)

    def _expire(self) -> None:
        oldest = time.monotonic() - SHOWN_SECONDS
        self._forget_if(lambda _, noted_at: noted_at < oldest)

    def _forget_if(self, shown: Callable[[int, float], bool]) -> None:
        """Forget from the oldest on, as long as `shown` says so of serial and time."""
        while self._rows and shown((oldest := next(iter(self._rows.values()))).serial, oldest.time):
            self._drop(next(iter(self._rows)))
        while self._buried and shown(*next(iter(self._buried.values()))):
            self._buried.popitem(last=False)
        if shown(*self._lost_sight):
            self._lost_sight = (0, 0.0)

    def _drop(self, row_id: str) -> None:
        found = self._rows.pop(row_id, None)
        self._bytes -= len(found.data) if found else 0


_SHARED: dict[Hashable, Recent] = {}
_SHARED_LOCK = forks.Lock()


def recent_of(key: Hashable) -> Recent:
    """Return the one memory of a collection, for all stores of this process on it."""
    with _SHARED_LOCK:
        return _SHARED.setdefault(key, Recent())
