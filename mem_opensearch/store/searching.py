"""Send searches to a collection, and follow it where it moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mem_opensearch.client.echo import cleaned
from mem_opensearch.client.encoding import encode, encode_lines, path_of
from mem_opensearch.client.failures import from_status
from mem_opensearch.errors import BackendError
from mem_opensearch.store.collection import Collection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mem_opensearch.models import IndexSpec
    from mem_opensearch.profiles import WordField
    from mem_opensearch.store.rows import RawHit

_BAD_REQUEST = 400


class SearchingStore(Collection):
    """What the reading half sends its request bodies through."""

    def _search_all(self, searches: Sequence[Mapping[str, Any]]) -> list[list[RawHit]]:
        """Send searches in one trip; return the hits of each. A missing index has none."""
        if not searches or not self._is_there():
            return [[] for _ in searches]
        with self._watching():
            self._visibility.show(self._rows.refresh)
            if len(searches) == 1:
                answer = self.client.request("POST", path_of(self.collection_name, "_search"), body=searches[0])
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
        return self._rows.current([answer["hits"]["hits"] for answer in answers])

    def _search_words(self, spec: IndexSpec, build: Callable[[WordField], Mapping[str, Any]]) -> list[RawHit]:
        """Search by words; once more if it turns out that the collection has moved to an index of other words."""
        words = self._words_of(spec)
        try:
            (hits,) = self._search_all([build(words)])
            now = self._follow(spec, (hit["_index"] for hit in hits))
            if now is None or self._words_of(now) == words:
                return hits
        except BackendError as error:
            now = self._found() if error.status == _BAD_REQUEST else None
            if now is None or self._words_of(now) == words:
                raise  # else it was a search in a field that has no words in the profile there is now
        (hits,) = self._search_all([build(self._words_of(now))])
        return hits
