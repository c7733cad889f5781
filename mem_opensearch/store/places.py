"""Find where new memories stand in their talks, from the memories before them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from mem_opensearch.context import TURNS_BACK, Place, Turn, place_after
from mem_opensearch.filters import compile_filter
from mem_opensearch.models import IDENTITY_FIELDS
from mem_opensearch.queries import SHOWN
from mem_opensearch.store.annotations import MOST_READ, moment_of, session_of, turn_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.models import Clause
    from mem_opensearch.store.rows import RawHit

Thread = tuple[tuple[str | None, ...], tuple[str, str] | None]
"""Whose talk it is, and the key and value of the metadata that name it."""

Step = tuple[Turn, Place, str]
"""A turn of a talk, its place, and its text."""


def threads_of(rows: Sequence[Mapping[str, Any]]) -> dict[Thread, list[Mapping[str, Any]]]:
    """Return rows by the thread that they go on with, in the order of their time.

    Those without a scope or a date are left out. Rows of the same time keep their order.
    """
    threads: defaultdict[Thread, list[Mapping[str, Any]]] = defaultdict(list)
    for fields in rows:
        turn = turn_of(fields)
        if turn.created_at is not None and any(turn.scope):
            threads[turn.scope, session_of(fields["payload"])].append(fields)
    for members in threads.values():
        members.sort(key=lambda fields: moment_of(fields["created_at"]))  # type: ignore[arg-type, return-value] # dated
    return dict(threads)


def exactly(scope: tuple[str | None, ...]) -> list[Clause]:
    """Return the clauses for the rows of exactly this scope, not of narrower ones."""
    return [
        {"term": {name: value}} if value is not None else {"bool": {"must_not": [{"exists": {"field": name}}]}}
        for name, value in zip(IDENTITY_FIELDS, scope, strict=True)
    ]


def instant(fields: Mapping[str, Any]) -> str:
    """Return when a row was said, as a query takes it; the first of several dates."""
    said_at = fields["created_at"]
    return str(said_at[0] if isinstance(said_at, list) else said_at)


def last_turns(thread: Thread, first: Mapping[str, Any], *, but: Sequence[str]) -> dict[str, Any]:
    """Return the body of the search for the last turns of a thread before a row.

    Args:
        thread: which.
        first: the row.
        but: ids of rows that are being written.
    """
    scope, session = thread
    clauses = [*exactly(scope), {"range": {"created_at": {"lte": instant(first)}}}]
    clauses += compile_filter({session[0]: session[1]}) if session else []
    return {
        "size": TURNS_BACK,
        "query": {"bool": {"filter": clauses, "must_not": [{"terms": {"id": list(but)}}]}},
        "sort": [{"created_at": "desc"}, {"seq": {"order": "desc", "missing": "_last"}}],
        "_source": [*SHOWN, *IDENTITY_FIELDS, "text", "created_at", "conversation"],
        "track_total_hits": False,
    }


def steps_of(before: Sequence[tuple[str, RawHit]]) -> list[Step]:
    """Return the last turns of a thread, in the order of their time.

    Args:
        before: id and hit of what `last_turns` finds, the last one first.
    """
    return [step for row_id, hit in reversed(before) if (step := _step_of(row_id, hit["_source"])) is not None]


def places_after(members: Sequence[Mapping[str, Any]], steps: list[Step]) -> dict[str, dict[str, Any]]:
    """Return id -> `conversation`, `seq` and `context` of the rows of one thread.

    Args:
        members: rows in the order of their time.
        steps: the last turns before them, the last one at the end; afterwards those before whatever follows.
    """
    found: dict[str, dict[str, Any]] = {}
    for fields in members:
        turn = turn_of(fields)
        last = steps[-1] if steps else None
        place = place_after(turn, (last[0], last[1]) if last else None)
        texts = [text[:MOST_READ] for _, each, text in steps if each.conversation == place.conversation and place.seq]
        found[turn.id] = {"conversation": place.conversation, "seq": place.seq} | (
            {"context": "\n".join(texts)} if any(texts) else {}
        )
        steps.append((turn, place, fields["text"]))
        del steps[:-TURNS_BACK]
    return found


def _step_of(row_id: str, source: Mapping[str, Any]) -> Step | None:
    """Return a stored turn; one that was stored without a place is the first of its talk."""
    turn = turn_of({**source, "id": row_id, "payload": source.get("payload") or {}})
    if turn.created_at is None:
        return None
    conversation, seq = source.get("conversation"), source.get("seq")
    place = Place(conversation, seq) if conversation is not None and seq is not None else place_after(turn, None)
    return turn, place, source.get("text") or ""
