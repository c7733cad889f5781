"""Let threads hand the interpreter over sooner while searches run beside an event loop.

A thread that wants to go on waits for the one that runs, for `sys.getswitchinterval`, 5 ms unless somebody has set it.
A loop waits for several: the search that computes, and each of those that read what the server has just sent. With a
tenth of that it was late by 6 to 8 ms with 150 candidates for each of 200 searches, and no search took longer.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mem_opensearch import forks

if TYPE_CHECKING:
    from collections.abc import Iterator

INTERVAL = 0.0005
"""Seconds."""
_HALF_A_MICROSECOND = 5e-7


class _Switching:
    """How often the threads of this process take turns: one value, which is put back when the last search has ended."""

    def __init__(self) -> None:
        self._lock = forks.Lock()
        self._searches = 0
        self._before = INTERVAL
        self._set = INTERVAL
        forks.watch(self)

    def begin(self) -> None:
        with self._lock:
            self._searches += 1
            if self._searches == 1:
                self._before = sys.getswitchinterval()
                _set(min(INTERVAL, self._before))
                self._set = sys.getswitchinterval()

    def end(self) -> None:
        with self._lock:
            self._searches -= 1
            if not self._searches:
                self._put_back()

    def after_fork(self) -> None:
        """Put it back in a child, which has none of the searches."""
        if self._searches:
            self._searches = 0
            self._put_back()

    def _put_back(self) -> None:
        if sys.getswitchinterval() == self._set:  # else somebody has chosen another since
            _set(self._before)


def _set(seconds: float) -> None:
    """Set what `sys.getswitchinterval` has returned: the interpreter cuts it down to whole microseconds."""
    sys.setswitchinterval(seconds + _HALF_A_MICROSECOND)


_switching = _Switching()


@contextmanager
def sooner() -> Iterator[None]:
    """Have threads switch at least every `INTERVAL` seconds for what is done within, in all of this process.

    Several may be within at once, in several threads. The last one to leave puts back what was set before the first
    came, unless it has been changed in the meantime.
    """
    _switching.begin()
    try:
        yield
    finally:
        _switching.end()
