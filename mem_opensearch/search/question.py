"""Read off a question all that can be known of it without asking the server."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mem_opensearch.entities import possible_names
from mem_opensearch.models import IDENTITY_FIELDS
from mem_opensearch.temporal import Anchor, asks_about_the_past, find_windows, slots_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mem_opensearch.temporal import Slot, Window

Span = tuple[datetime, datetime]
"""When memories begin and end."""

MOST_YEARS = 10
"""Years in which a date without one is looked for."""

_OTHER_YEARS = datetime(1970, 1, 1, tzinfo=UTC), datetime(1973, 1, 1, tzinfo=UTC)
"""A span that holds every date of a year, and which no question of today means."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question before anything is sent.

    Attributes:
        text: the question.
        at: when it was asked, with a time zone.
        possible_names: what may be a name in it, to be looked up.
        slots: what it asks about.
        about_the_past: whether it wants what was.
        needs_span: whether the times that it names depend on when the memories begin and end: 4月27日, our first talk.
    """

    text: str
    at: datetime
    possible_names: tuple[str, ...]
    slots: frozenset[Slot]
    about_the_past: bool
    needs_span: bool

    @classmethod
    def of(cls, text: str, at: datetime) -> Asked:
        """Read a question."""
        return cls(
            text=text,
            at=at,
            possible_names=tuple(possible_names(text)),
            slots=slots_of(text),
            about_the_past=asks_about_the_past(text),
            needs_span=find_windows(text, Anchor(at)) != find_windows(text, Anchor(at, _OTHER_YEARS)),
        )

    def windows(self, span: Span | None) -> tuple[tuple[Window, ...], ...]:
        """Return the times that it names, each with what it may mean, the likeliest first.

        A date without a year may be that of any year between the first memory and the last: the last year that has a
        memory of that date is meant, which the answer will tell.

        Args:
            span: when the memories begin and end; None where that is not known.
        """
        likely = find_windows(self.text, Anchor(self.at, span))
        if span is None or not self.needs_span:
            return tuple((window,) for window in likely)
        years = range(min(span[1].year, self.at.year), span[0].year - 1, -1)[:MOST_YEARS]
        others = [
            window
            for year in years
            for window in find_windows(self.text, Anchor(self.at, _year(year)))
            if window.start <= self.at
        ]
        return tuple(
            tuple(dict.fromkeys([window, *(other for other in others if other.where == window.where)]))
            for window in likely
        )


def _year(year: int) -> Span:
    return datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)


def scope_in(filters: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the user, agent and run that a filter asks for by plain values, which is whose entities are meant.

    >>> scope_in({"user_id": "u1", "run_id": {"ne": "r"}, "topic": "x"})
    {'user_id': 'u1'}
    """
    found = filters or {}
    return {key: found[key] for key in IDENTITY_FIELDS if isinstance(found.get(key), str) and found[key] != "*"}
