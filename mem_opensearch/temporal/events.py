"""Know the time that a memory is about, and whether a question names it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mem_opensearch.temporal.calendar import Anchor, Window
from mem_opensearch.temporal.windows import find_windows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

EVENT_SHARE = 0.5
"""Chosen on the development sets, where 0.3 to 0.7 gave the same, and 1 cost MemoryBank 0.01 in English."""

LONGEST_EVENT = 366
"""Days of the longest stretch that is taken for a time of its own; "these ten years" is none."""


def event_window(text: str, created_at: datetime) -> Window | None:
    """Return the time that a memory states of itself, relative to when it was written; None where it states none.

    Of several times the first counts: later ones are mostly what it leads to.

    Args:
        text: the memory.
        created_at: when it was said, with a time zone.

    >>> from datetime import UTC, datetime
    >>> event_window("8月20號要考試", datetime(2026, 8, 14, tzinfo=UTC)).start.date()
    datetime.date(2026, 8, 20)
    """
    try:
        windows = find_windows(text, Anchor(created_at, ahead=True))
    except OverflowError:  # "yesterday" of the first day that the calendar has
        return None
    for window in windows:
        if (window.end - window.start).days <= LONGEST_EVENT:
            return window
    return None


def closeness(windows: Sequence[Window], *, created_at: datetime | None, event: Window | None = None) -> float | None:
    """Return how well a memory meets the times that a question names, in [0, 1]; None where it names none.

    Being from that time counts 1. Being about it counts `EVENT_SHARE`: "yesterday" is in many memories that only pass
    it by, and who asks what was talked about on a day means the day of the talk.

    Args:
        windows: what `find_windows` found in the question.
        created_at: when the memory was said, with a time zone; None where that is not known.
        event: what `event_window` found in the memory.
    """
    if not windows:
        return None
    if created_at is not None and any(window.holds(created_at) for window in windows):
        return 1.0
    return EVENT_SHARE if event is not None and any(window.overlaps(event) for window in windows) else 0.0
