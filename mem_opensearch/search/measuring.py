"""Ask the server for every candidate of a search, with all that it measures of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mem_opensearch.errors import BackendError, BackendUnavailable
from mem_opensearch.search import request, signals
from mem_opensearch.search.fallback import measure_in_two

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mem_opensearch.models import IndexSpec
    from mem_opensearch.search.signals import Measured
    from mem_opensearch.store import OpenSearchVectorStore


def measure(
    store: OpenSearchVectorStore, spec: IndexSpec, wanted: request.Wanted, degraded: list[str]
) -> list[Measured]:
    """Return every candidate with its signals; with its meaning alone where the server can't answer the whole.

    Such as too many clauses for it, or a time-out. A server that is not there, or lets nobody in, is an error.
    """
    try:
        return _measure_all(store, spec, wanted, degraded)
    except BackendError as error:
        if not _is_about_the_question(error):
            raise
        dialect = store.client.dialect
        try:
            (hits,) = store.find_words(spec, lambda _: [request.meaning_request(wanted, dialect=dialect)])
        except BackendError:
            raise error from None
        degraded.append(f"only meaning was searched, words and all else failed: {error}")
        return [
            signals.Measured(row_id, hit["_source"], dialect.cosine_of(hit["_score"]), fields=None, nearest=True)
            for row_id, hit in hits
        ]


def _measure_all(
    store: OpenSearchVectorStore, spec: IndexSpec, wanted: request.Wanted, degraded: list[str]
) -> list[Measured]:
    dialect, boosts = store.client.dialect, store.boosts()

    def note(answer: Mapping[str, Any]) -> None:
        shards = answer.get("_shards", {})
        if shards.get("failed"):
            degraded.append(f"{shards['failed']} of {shards['total']} shards did not answer")
        if answer.get("timed_out"):
            degraded.append("the server stopped searching when its time was over")

    if not (dialect.has_named_scores and dialect.has_scripts):
        return measure_in_two(store, spec, wanted, note=note)

    (hits,) = store.find_words(
        spec,
        lambda words: [request.signals_request(wanted, words=words, dialect=dialect, boosts=boosts)],
        params={"include_named_queries_score": "true"},
        note=note,
    )
    return [signals.measured_by_names(row_id, hit, cosine_of=dialect.cosine_of) for row_id, hit in hits]


def _is_about_the_question(error: BackendError) -> bool:
    """Whether the server is there and could not answer this question, so that it may answer a simpler one."""
    if type(error) is BackendError:
        return True
    return isinstance(error, BackendUnavailable) and bool(error.tries) and "time-out" in error.tries[-1]
