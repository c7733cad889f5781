"""Say how long one call goes on trying: bounded in tries and in time, with pauses that spread clients out."""

from __future__ import annotations

import random
import time

from mem_opensearch.client import failures

BACKOFF_SECONDS = 0.25
"""Doubled at each try, with full jitter (AWS Architecture Blog, "Exponential Backoff and Jitter")."""
BACKOFF_LIMIT = 5.0
BLOCK_WAIT = (0.05, 0.5)  # between two looks at a write block, which a roll takes off within a second or so
SHORTEST_TRY = 0.1  # seconds; a shorter time-out is no try


class Patience:
    """What is left of the tries and the time of one call, shared by all requests that serve it.

    A write block is waited out for `failures.BLOCK_SECONDS`, however many tries that takes: a roll has one for a
    moment. The time for everything else begins anew when it is off.

    Args:
        max_tries: tries, the first included.
        max_seconds: seconds from now in which a failed request may be tried again.
    """

    def __init__(self, *, max_tries: int, max_seconds: float) -> None:
        self._left = max_tries
        self._failures = 0
        self._max_seconds = max_seconds
        self._deadline = time.monotonic() + max_seconds
        self._blocked_since: float | None = None

    def timeout(self, seconds: float) -> float:
        """Return how long the next try may take: the first one `seconds`, another one no longer than is left."""
        if not self._failures:
            return seconds
        return min(seconds, max(SHORTEST_TRY, self._deadline - time.monotonic()))

    def pause(self, *, retry_after: float | None = None) -> float | None:
        """Count a failed try; return the seconds to wait before the next one, or None when there is none.

        Args:
            retry_after: seconds that the server asked to wait. It is never asked sooner; when that is too long for this
                call, it is not asked again.
        """
        self._left -= 1
        spread = random.uniform(0, min(BACKOFF_LIMIT, BACKOFF_SECONDS * 2**self._failures))  # noqa: S311 - jitter
        self._failures += 1
        seconds = (retry_after or 0.0) + spread
        if self._left <= 0 or time.monotonic() + seconds >= self._deadline:
            return None
        return seconds

    def pause_for_block(self) -> float | None:
        """Count a try that met a write block; return the seconds until the next look at it, or None: it stays."""
        now = time.monotonic()
        self._blocked_since = self._blocked_since or now
        if now - self._blocked_since >= failures.BLOCK_SECONDS:
            return None
        self._deadline = now + self._max_seconds
        return random.uniform(*BLOCK_WAIT)  # noqa: S311 - jitter
