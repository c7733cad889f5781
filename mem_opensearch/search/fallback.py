"""Measure the same signals on a server that does not tell them apart: two requests instead of one.

Amazon's serverless collections give a hit one score, and run no script. So the first request searches by each signal
alone, and the second one measures every signal of all that any of them found: a row's score by a clause is the same
whichever filter stands beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mem_opensearch.queries import FIELD_BOOSTS
from mem_opensearch.search import request
from mem_opensearch.search.request import SIGNALS, Wanted
from mem_opensearch.search.signals import Measured

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mem_opensearch.models import Clause, IndexSpec
    from mem_opensearch.profiles import WordField
    from mem_opensearch.store import OpenSearchVectorStore

_WORDS, _IDENTIFIERS = "text", "text.joined"
"""Under which fields the sums over all of their kind are given: such a server does not tell them apart."""


def measure_in_two(
    store: OpenSearchVectorStore, spec: IndexSpec, wanted: Wanted, *, note: Callable[[Mapping[str, Any]], None]
) -> list[Measured]:
    """Return the candidates of a search with their signals; `Measured.fields` has two sums only."""
    dialect, boosts = store.client.dialect, store.boosts()

    def first(words: WordField) -> list[dict[str, Any]]:
        by_word = request.word_clauses(wanted, words=words, boosts=boosts)
        by_identifier = request.identifier_clauses(wanted, words=words, boosts=boosts)
        bringing = request.bringing_clauses(wanted, words=words)
        searches = [dialect.knn(wanted.vector, k=wanted.pool, filters=wanted.filters)]
        searches += [_any_of(clauses, wanted.filters) for clauses in (by_word, by_identifier, bringing)]
        sizes = [wanted.pool, *[wanted.size] * 3]
        return [_body(query, size) for query, size in zip(searches, sizes, strict=True)]

    found = store.find_words(spec, first, note=note)
    sources = {row_id: hit["_source"] for hits in found for row_id, hit in hits}
    if not sources:
        return []
    these: list[Clause] = [*wanted.filters, {"terms": {"id": list(sources)}}]

    def second(words: WordField) -> list[dict[str, Any]]:
        by_word = request.word_clauses(wanted, words=words, boosts=boosts)
        by_identifier = request.identifier_clauses(wanted, words=words, boosts=boosts)
        searches = [
            dialect.knn(wanted.vector, k=len(sources), filters=these),
            *(_any_of(clauses, these) for clauses in (by_word, by_identifier)),
        ]
        return [_body(query, len(sources)) | {"_source": ["id", "written_at"]} for query in searches]

    nearest = {row_id for row_id, _ in found[0]}
    near, by_word, by_identifier = (
        {row_id: hit["_score"] for row_id, hit in hits} for hits in store.find_words(spec, second, note=note)
    )
    scale = FIELD_BOOSTS[_IDENTIFIERS]
    assert all(FIELD_BOOSTS[name] == scale for name in request.IDENTIFIER_FIELDS)  # noqa: S101 - one sum for all
    rows = [
        Measured(
            id=row_id,
            source=source,
            cosine=dialect.cosine_of(near[row_id]) if row_id in near else None,
            fields={
                name: scores[row_id]
                for name, scores in ((_WORDS, by_word), (_IDENTIFIERS, by_identifier))
                if row_id in scores
            },
            nearest=row_id in nearest,
        )
        for row_id, source in sources.items()
    ]
    # The same candidates as one request brings: the nearest, then the linked and those of a named time, then by words.
    return sorted(rows, key=lambda row: (not row.nearest, -row.words - row.identifiers * scale))[: wanted.size]


def _any_of(clauses: Sequence[Clause], filters: Sequence[Clause]) -> Clause:
    return {"bool": {"should": list(clauses), "minimum_should_match": 1, "filter": list(filters)}}


def _body(query: Clause, size: int) -> dict[str, Any]:
    return {"size": size, "query": query, "_source": SIGNALS, "track_total_hits": False}
