"""What makes searches bad without an error is found, and each finding names the mend."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from mem_opensearch.cli import app
from mem_opensearch.search.doctor import examine

USER = {"user_id": "u1", "created_at": "2026-01-01T00:00:00Z"}
TEXTS = ["我喝咖啡", "我住在柏林", "我養了一隻貓"]


class Broken:
    """An embedder that says the same of everything, or nothing at all."""

    name, dims = "broken", 4

    def __init__(self, vector):
        self.vector = vector

    def embed_documents(self, texts):
        return [self.vector for _ in texts]

    embed_queries = embed_documents


def findings(store, embedder=None):
    return {finding.check: finding for finding in examine(store, embedder)}


def test_a_healthy_collection(remember, encoder):
    searcher = remember([(f"m{n}", text, USER) for n, text in enumerate(TEXTS)])
    searcher.search("咖啡", filters={"user_id": "u1"})
    found = findings(searcher.store, encoder)
    assert [finding.ok for finding in found.values()] == [True, True, True], found


@pytest.mark.parametrize("vector", [[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0]])
def test_an_embedder_that_tells_nothing_apart(make_store, vector):
    found = findings(make_store(), Broken(vector))["embedder"]
    assert not found.ok
    assert found.sentence.startswith("embedder 'broken' makes zero or constant vectors")


def test_memories_that_all_have_the_same_vector(make_store):
    store = make_store()
    store.insert([[1, 2, 3, 4]] * 3, [{"data": text, **USER} for text in TEXTS])
    found = findings(store)["vectors"]
    assert not found.ok
    assert "all of 3 memories have the same vector" in found.sentence


def test_memories_without_notes(make_store):
    store = make_store(annotate=False)
    store.insert([[1, 0, 0, 0], [0, 1, 0, 0]], [{"data": text, **USER} for text in TEXTS[:2]])
    found = findings(store)["notes"]
    assert not found.ok
    assert "of 2 memories" in found.sentence
    store.annotate()
    assert findings(store)["notes"].ok


def test_another_embedder_than_before(remember, encoder):
    searcher = remember([("m1", "我喝咖啡", USER)])
    searcher.search("咖啡", filters={"user_id": "u1"})

    class Crowding:
        name, dims = "crowding", encoder.dims

        def embed_documents(self, texts):
            return encoder.embed_documents(texts) + 0.1

        embed_queries = embed_documents

    found = findings(searcher.store, Crowding())["embedder"]
    assert not found.ok
    assert "they are two models" in found.sentence


def test_the_command(remember, opensearch_url, collection):
    remember([(f"m{n}", text, USER) for n, text in enumerate(TEXTS)])
    where = ["--url", opensearch_url, "--collection", collection]
    done = CliRunner().invoke(app, ["doctor", *where])
    assert done.exit_code == 0, done.output
    assert done.stdout.count("ok   ") == 3
    missing = CliRunner().invoke(app, ["doctor", "--url", opensearch_url, "--collection", f"{collection}x", "--json"])
    assert [each["ok"] for each in json.loads(missing.stdout)] == [True, True]
