"""The deleting part of a store: one row, the rows of a filter or a scope, and what has expired."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from mem_opensearch.errors import InvalidInputError, ScopeError
from mem_opensearch.filters import compile_filter
from mem_opensearch.models import IDENTITY_FIELDS
from mem_opensearch.store import documents
from mem_opensearch.store.collection import Collection
from mem_opensearch.store.links import ENTITIES_SUFFIX, unlink_memories

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mem_opensearch.models import Clause

    Progress = Callable[[int, int], object]


class DeletingStore(Collection):
    """What takes rows away, and their links with them."""

    def delete(self, vector_id: str) -> bool:
        """Delete a row; one that is not stored is no error. A memory is taken out of the entities that link it first.

        In that order, a deletion that failed half-way is made whole by the same call again.

        Returns:
            Whether the row was there.
        """
        documents.check_id(vector_id)
        if not self._is_there():
            return False
        self._forget_links([vector_id])
        with self._watching(), self._visibility.writing() as refresh:
            return self._rows.remove(vector_id, refresh=refresh)

    def delete_by_filter(self, filters: Mapping[str, Any], *, progress: Progress | None = None) -> int:
        """Delete every row that passes a filter when the call begins, however many there are.

        What this process has written before is found under every refresh policy. A row that somebody changes meanwhile
        is deleted if it still passes the filter. A row that is stored meanwhile stays: the call ends, however fast
        others write. When it returns, searches no longer see the rows that are gone.

        Args:
            filters: which rows, see `filters`; never empty.
            progress: called with (rows gone, rows there were), after every few thousand.

        Returns:
            How many of the rows that passed when the call began are gone.

        Raises:
            ScopeError: the filter is empty, or passes every row whatever it holds: ``{"user_id": {"nin": []}}``.
            FilterError: the filter is not understood; nothing was sent.
            BackendError: the server failed; some rows may be deleted, and a second call deletes the rest.
        """
        clauses = compile_filter(filters)
        if all(_verdict(clause) is True for clause in clauses):
            raise ScopeError(
                f"delete_by_filter was given a filter that passes every row of '{self.collection_name}'; "
                "say which rows, or empty the collection with reset()"
            )
        return self._delete_where(clauses, progress)

    def delete_all(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Delete every row of a user, an agent, a run, or what is all of those that are given.

        Args:
            user_id: whose rows.
            agent_id: of which agent.
            run_id: of which run.
            progress: see `delete_by_filter`, which this is a short form of.

        Returns:
            How many rows are gone.

        Raises:
            ScopeError: none is given, or one is empty or a wildcard.
            BackendError: see `delete_by_filter`.
        """
        given = dict(zip(IDENTITY_FIELDS, (user_id, agent_id, run_id), strict=True))
        scope = {name: value for name, value in given.items() if value is not None}
        if not scope:
            raise ScopeError(
                f"delete_all names no {', '.join(IDENTITY_FIELDS)}; to empty '{self.collection_name}' use reset()"
            )
        return self.delete_by_filter(scope, progress=progress)

    def purge(self, now: datetime | date | None = None, *, progress: Progress | None = None) -> int:
        """Delete the rows that are past their `expiration_date`.

        A row lives to the end of that day in UTC, as mem0 counts: it is expired when today is a later day. Where a row
        has several such dates, the last one holds.

        Args:
            now: today, or a moment (UTC where it has no zone); the clock's when not given.
            progress: see `delete_by_filter`.

        Returns:
            How many rows are gone.

        Raises:
            InvalidInputError: `now` is not a date.
            BackendError: see `delete_by_filter`.
        """
        today = f"{_day(now)}T00:00:00.000Z"
        past, yet_to_come = ({"range": {"expiration_date": {operator: today}}} for operator in ("lt", "gte"))
        return self._delete_where([past, {"bool": {"must_not": [yet_to_come]}}], progress)

    def _delete_where(self, clauses: Sequence[Clause], progress: Progress | None) -> int:
        if not self._is_there():
            return 0
        gone = 0
        with self._watching(), self._visibility.writing():
            self._rows.refresh()
            there = self._rows.count(clauses) if progress else 0
            for ids in self._rows.remove_where(clauses):
                self._forget_links(ids)
                gone += len(ids)
                if progress:
                    progress(gone, max(there, gone))
        return gone

    def _forget_links(self, ids: Sequence[str]) -> None:
        """Take memories out of the entities that link them, if there is such a collection."""
        if self.config.collection_kind == "memory":
            unlink_memories(self.client, f"{self.collection_name}{ENTITIES_SUFFIX}", ids)


def _day(now: object) -> str:
    if now is None:
        now = datetime.now(UTC)
    if isinstance(now, datetime):
        now = (now if now.tzinfo else now.replace(tzinfo=UTC)).astimezone(UTC).date()
    if not isinstance(now, date):
        raise InvalidInputError(f"'now' is {type(now).__name__}, expected a date or a datetime")
    return now.isoformat()


def _verdict(clause: Clause) -> bool | None:
    """Return whether a clause passes every row (True) or none (False) whatever they hold; None if that depends."""
    if "match_all" in clause or "match_none" in clause:
        return "match_all" in clause
    if "bool" not in clause:
        return None
    body = clause["bool"]
    parts = [_verdict(part) for part in body.get("filter", [])]
    parts += [None if (part := _verdict(each)) is None else not part for each in body.get("must_not", [])]
    if choices := [_verdict(part) for part in body.get("should", [])]:
        parts.append(True if True in choices else None if None in choices else False)
    return False if False in parts else None if None in parts else True
