"""Send searches to a collection, and follow it where it moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mem_opensearch.client.echo import cleaned
from mem_opensearch.client.encoding import encode, encode_lines, path_of
from mem_opensearch.client.failures import from_status
from mem_opensearch.errors import BackendError
from mem_opensearch.filters import compile_filter
from mem_opensearch.store.collection import Collection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mem_opensearch.models import Clause, IndexSpec
    from mem_opensearch.profiles import WordField
    from mem_opensearch.store.rows import RawHit

_BAD_REQUEST = 400


class SearchingStore(Collection):
    """What the reading half sends its request bodies through."""

    def spec(self) -> IndexSpec | None:
        """Return how the index is made, or None where there is none; asks the server once."""
        return self._found()

    def show_writes(self) -> None:
        """Make what this process has written visible to a search that does not go through this object."""
        # A collection that is missing would otherwise be asked for each time.
        if self._visibility.is_due and self._is_there():
            self._visibility.show(self._rows.refresh)

    def clauses_of(self, filters: Mapping[str, Any] | None) -> list[Clause]:
        """Return the clauses for the rows that pass a filter, and are rows.

        Raises:
            FilterError, ScopeError: the filter is not understood; nothing was sent.
        """
        clauses = compile_filter(filters)
        return clauses + self._rows.hidden() if self._is_there() else clauses

    def find_words(
        self,
        spec: IndexSpec,
        build: Callable[[WordField], Sequence[Mapping[str, Any]]],
        *,
        params: Mapping[str, str] | None = None,
        note: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> list[list[tuple[str, RawHit]]]:
        """Send searches that look for words in one trip; return (memory id, hit) of each of them.

        Args:
            spec: how the index is made, as this process knows it.
            build: makes the bodies for the words of an index; called again if the collection has moved.
            params: URL parameters, which only a single search may have.
            note: told each answer, for what it says beside its hits.

        Raises:
            BackendError: the server failed.
        """
        answers = self._search_words(spec, build, params=params, note=note)
        return [self._rows.with_ids(hits) for hits in answers]

    def sample_vectors(self, size: int) -> list[tuple[str, list[float] | None]]:
        """Return (memory id, vector) of some rows; None for a row without one."""
        body = {
            "size": size,
            "query": {"bool": {"filter": self.clauses_of(None)}},
            "_source": ["id", "written_at", "vector"],
        }
        (hits,) = self._search_all([body])
        return [(row_id, hit["_source"].get("vector")) for row_id, hit in self._rows.with_ids(hits)]

    def boosts(self) -> Mapping[str, float]:
        """Return the weights of the fields of words, as this server's BM25 needs them."""
        return self._field_boosts()

    def _search_all(
        self,
        searches: Sequence[Mapping[str, Any]],
        *,
        params: Mapping[str, str] | None = None,
        note: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> list[list[RawHit]]:
        """Send searches in one trip; return the hits of each. A missing index has none."""
        if not searches or not self._is_there():
            return [[] for _ in searches]
        note = note or (lambda answer: None)  # noqa: ARG005 - the parameter's name is the caller's
        with self._watching():
            self._visibility.show(self._rows.refresh)
            if len(searches) == 1:
                answer = self.client.request(
                    "POST", path_of(self.collection_name, "_search"), params=params, body=searches[0]
                )
                note(answer)
                return self._rows.current([answer["hits"]["hits"]])
            lines = [line for search in searches for line in ({}, search)]
            answers = self.client.request("POST", path_of(self.collection_name, "_msearch"), body=encode_lines(lines))[
                "responses"
            ]
            for position, answer in enumerate(answers):
                if "error" in answer:
                    raise from_status(
                        answer["status"],
                        cleaned(answer, encode(searches[position])),
                        action=f"search {position + 1} of {len(answers)} in '{self.collection_name}'",
                    )
                note(answer)
        return self._rows.current([answer["hits"]["hits"] for answer in answers])

    def _search_words(
        self,
        spec: IndexSpec,
        build: Callable[[WordField], Sequence[Mapping[str, Any]]],
        *,
        params: Mapping[str, str] | None = None,
        note: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> list[list[RawHit]]:
        """Search by words; once more if it turns out that the collection has moved to an index of other words."""
        words = self._words_of(spec)
        try:
            found = self._search_all(build(words), params=params, note=note)
            now = self._follow(spec, (hit["_index"] for hits in found for hit in hits))
            if now is None or self._words_of(now) == words:
                return found
        except BackendError as error:
            now = self._found() if error.status == _BAD_REQUEST else None
            if now is None or self._words_of(now) == words:
                raise  # else it was a search in a field that has no words in the profile there is now
        return self._search_all(build(self._words_of(now)), params=params, note=note)
