"""Say what became of one memory in a search, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mem_opensearch.search import request
from mem_opensearch.search.ranking import explained, rank
from mem_opensearch.search.results import Why
from mem_opensearch.store.documents import check_id

if TYPE_CHECKING:
    from mem_opensearch.search.asking import Asking
    from mem_opensearch.search.ranking import Looked
    from mem_opensearch.store import OpenSearchVectorStore


def why(store: OpenSearchVectorStore, looked: Looked, asked: Asking, memory_id: str) -> Why:
    """Return why a memory is, or is not, among the results of a search that was made."""
    check_id(memory_id)
    ranking = rank(looked, asked)
    details = explained(ranking, looked, asked).get(memory_id)
    order = [one for one, _ in ranking.passed]
    if memory_id in order:
        place = order.index(memory_id) + 1
        if place <= asked.top_k:
            return Why(memory_id, "found", f"it is result {place}", place, details)
        above = ", ".join(f"'{one}'" for one in order[:3])
        sentence = f"it comes {place}th of {len(order)} and {asked.top_k} were asked for; above it are {above}"
        return Why(memory_id, "ranked_low", sentence, place, details)
    if memory_id in ranking.gated:
        had = (details or {}).get("evidence")
        strength = "" if had is None else f" of {had:.2f}"
        sentence = f"its evidence{strength} lies below the threshold {asked.threshold:g}"
        return Why(memory_id, "below_threshold", sentence, None, details)
    return _not_looked_at(store, asked, memory_id)


def _not_looked_at(store: OpenSearchVectorStore, asked: Asking, memory_id: str) -> Why:
    row = store.get(memory_id)
    if row is None:
        return Why(memory_id, "not_stored", f"no memory '{memory_id}' is stored in '{store.collection_name}'")
    this = {"term": {"id": memory_id}}
    if not store.count_clauses([*store.clauses_of(asked.filters), this]):
        return Why(memory_id, "filtered", "it is not in the scope, or does not pass the filter")
    if not asked.show_expired and not store.count_clauses([this, request.unexpired(asked.day)]):
        return Why(memory_id, "expired", f"it expired before {asked.day}; show_expired=True shows it")
    if not store.count_clauses([this, *asked.clauses()]):
        return Why(memory_id, "not_yet", f"it was not there on {asked.day}, or has no date")
    sentence = (
        "it is not among the nearest in meaning, and shares too few words, names and times with the question to be a "
        "candidate"
    )
    return Why(memory_id, "not_in_pool", sentence)
