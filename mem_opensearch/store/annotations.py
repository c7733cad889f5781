"""Note with a memory what a search needs to know of it: what its text says by itself."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mem_opensearch.context import Turn
from mem_opensearch.models import IDENTITY_FIELDS
from mem_opensearch.temporal import event_window, is_statement, slots_of
from mem_opensearch.temporal.changes import change_cue, is_new_state
from mem_opensearch.temporal.slots import EXCLUSIVE_SLOTS

if TYPE_CHECKING:
    from collections.abc import Mapping

SESSION_KEYS = ("session_id", "session", "conversation_id", "thread_id")
"""Keys of the metadata that name the talk which a memory is a turn of; the first that is there counts."""

MOST_READ = 2000
"""Characters of a memory that are looked through for times, and that stand in the context of the next turns.
A page says too many things to be about one of them; and a megabyte would take minutes."""


def text_hash(text: str) -> str:
    """Return a short hash of a memory's text: what was noted of two texts holds while both are what they were.

    >>> text_hash("我住在柏林") == text_hash("我住在柏林"), len(text_hash(""))
    (True, 16)
    """
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def moment_of(value: object) -> datetime | None:
    """Return a stored date with a time zone, UTC where it has none; of several the first; None for what is no date.

    >>> moment_of("2026-08-01T00:00:00.000Z")
    datetime.datetime(2026, 8, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def said_at_of(row: Mapping[str, Any]) -> datetime | None:
    """Return when a row was said, in the time zone where it was: "today" ends at midnight there.

    Args:
        row: with `payload`, and the field `created_at`, which is in UTC.
    """
    given = moment_of((row.get("payload") or {}).get("created_at"))
    return given or moment_of(row.get("created_at"))


def own_annotations(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a row's own text says of time, for the fields of the index.

    Args:
        fields: the row as `documents.build_row` makes it.
    """
    said_at = said_at_of(fields)
    if said_at is None or "event_date" in fields:
        return {}
    event = event_window(fields["text"][:MOST_READ], said_at)
    with suppress(OverflowError):  # at either end of the calendar
        return {} if event is None else {"event_date": event.start.astimezone(UTC).isoformat()}
    return {}


def scope_of(fields: Mapping[str, Any]) -> tuple[str | None, ...]:
    """Return whose a row is: the values of `models.IDENTITY_FIELDS`."""
    return tuple(fields.get(name) for name in IDENTITY_FIELDS)


def session_of(payload: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return key and value of the metadata that name a memory's talk; None where none does.

    >>> session_of({"thread_id": "t1", "data": "..."}), session_of({"session": 3})
    (('thread_id', 't1'), None)
    """
    return next(((key, payload[key]) for key in SESSION_KEYS if isinstance(payload.get(key), str)), None)


def turn_of(fields: Mapping[str, Any]) -> Turn:
    """Return a row as a turn of a talk."""
    session = session_of(fields["payload"])
    return Turn(
        id=fields["id"],
        scope=scope_of(fields),
        created_at=moment_of(fields.get("created_at")),
        session=session and session[1],
    )


def may_replace(fields: Mapping[str, Any]) -> bool:
    """Whether it is worth a look which older memories a row replaces; see `temporal.find_superseded`."""
    text = fields["text"]
    if not any(scope_of(fields)) or moment_of(fields.get("created_at")) is None or not is_statement(text):
        return False
    return bool(slots_of(text) & EXCLUSIVE_SLOTS) or change_cue(text) is not None or is_new_state(text)
