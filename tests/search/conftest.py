"""Memories with real vectors, and searchers over them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mem_opensearch import EntityStore
from mem_opensearch.embed import UniversalSentenceEncoder
from mem_opensearch.search import Searcher

USER = {"user_id": "u1"}
NOW = datetime(2026, 9, 1, tzinfo=UTC)


@pytest.fixture(scope="session")
def encoder():
    return UniversalSentenceEncoder()


@pytest.fixture
def remember(make_store, encoder):
    """Store memories; return a searcher over them. A memory is (id, text) or (id, text, payload)."""
    made = []

    def store_all(memories, *, store=None, options=None, **defaults):
        store = store or make_store(embedding_model_dims=encoder.dims)
        rows = [(row[0], row[1], row[2] if len(row) > 2 else {}) for row in memories]
        payloads = [{"data": text, **USER, **defaults, **payload} for _, text, payload in rows]
        store.insert(list(encoder.embed_documents([text for _, text, _ in rows])), payloads, [row[0] for row in rows])
        entities = EntityStore.beside(store, embed=encoder.embed_documents)
        made.append(entities)
        return Searcher(store, embedder=encoder, entities=entities, options=options)

    yield store_all
    for entities in made:
        entities.close()


@pytest.fixture
def ids():
    """Return the ids of an answer, best first."""
    return lambda answer: [found.id for found in answer.results]
