"""Know the time that a memory is about, and whether a question names it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mem_opensearch.temporal.calendar import Anchor, Window
from mem_opensearch.temporal.windows import find_windows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

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
    for window in find_windows(text, Anchor(created_at, ahead=True)):
        if (window.end - window.start).days <= LONGEST_EVENT:
            return window
    return None


def is_within(windows: Sequence[Window], *, created_at: datetime | None, event: Window | None = None) -> bool | None:
    """Whether a memory is from, or about, one of the times that a question names.

    Args:
        windows: what `find_windows` found in the question.
        created_at: when the memory was said, with a time zone; None where that is not known.
        event: what `event_window` found in the memory.

    Returns:
        None where the question names no time.
    """
    if not windows:
        return None
    return any(
        (created_at is not None and window.holds(created_at)) or (event is not None and window.overlaps(event))
        for window in windows
    )
