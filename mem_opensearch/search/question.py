"""Read off a question all that can be known of it without asking the server."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mem_opensearch.entities import possible_names
from mem_opensearch.models import IDENTITY_FIELDS
from mem_opensearch.temporal import Anchor, Window, asks_about_the_past, find_windows, slots_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mem_opensearch.temporal import Slot

_SOMETIME = datetime(1970, 1, 1, tzinfo=UTC)


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
            needs_span=find_windows(text, Anchor(at)) != find_windows(text, Anchor(at, (_SOMETIME, _SOMETIME))),
        )

    def windows(self, span: tuple[datetime, datetime] | None) -> tuple[Window, ...]:
        """Return the times that it names, given when the memories begin and end."""
        return find_windows(self.text, Anchor(self.at, span))


def scope_in(filters: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the user, agent and run that a filter asks for by plain values, which is whose entities are meant.

    >>> scope_in({"user_id": "u1", "run_id": {"ne": "r"}, "topic": "x"})
    {'user_id': 'u1'}
    """
    found = filters or {}
    return {key: found[key] for key in IDENTITY_FIELDS if isinstance(found.get(key), str) and found[key] != "*"}
