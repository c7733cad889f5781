"""mem0 builds and calls an embedder of this package."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from mem0.embeddings.base import EmbeddingBase
from mem0.utils.factory import EmbedderFactory

from mem_opensearch.errors import ConfigError, InvalidInputError
from mem_opensearch.mem0 import Mem0Embedder

pytestmark = pytest.mark.unit


class TwoSides:
    """An embedder that tells queries from documents."""

    name = "two-sides"
    dims = 2

    def embed_queries(self, texts):
        return np.tile(np.float32([1, 0]), (len(texts), 1))

    def embed_documents(self, texts):
        return np.tile(np.float32([0, 1]), (len(texts), 1))


def test_mem0_builds_it_by_its_provider_name(registered):
    built = EmbedderFactory.create("mem_opensearch", {"model": "use"}, None)
    assert isinstance(built, Mem0Embedder)
    assert isinstance(built, EmbeddingBase)
    assert built.config.embedding_dims == 512  # mem0 reads it there


def test_vectors_are_lists_of_floats_like_the_encoders(registered, encoder):
    built = EmbedderFactory.create("mem_opensearch", {}, None)
    vector = built.embed("我女儿对花生过敏", "add")
    assert isinstance(vector, list)
    assert {type(component) for component in vector} == {float}
    np.testing.assert_allclose(vector, encoder.embed(["我女儿对花生过敏"])[0], atol=1e-6)
    batch = built.embed_batch(["她在台北工作", "我女儿对花生过敏"], "add")
    np.testing.assert_allclose(batch[1], vector, atol=1e-6)
    assert built.embed_batch([], "add") == []


def test_search_embeds_a_query_and_all_else_a_document():
    embedder = Mem0Embedder(embedder=TwoSides())
    assert embedder.embed("甲", "search") == [1, 0]
    assert [embedder.embed("甲", action) for action in ("add", "update", None)] == [[0, 1]] * 3
    assert embedder.embed("甲") == [0, 1]
    assert embedder.embed_batch(["甲", "乙"], "search") == [[1, 0]] * 2
    assert embedder.embed_batch(["甲"]) == [[0, 1]]


def test_a_callable_of_the_users_is_a_model(registered, monkeypatch):
    monkeypatch.setitem(sys.modules, "user_module", SimpleNamespace(TwoSides=TwoSides))
    built = EmbedderFactory.create("mem_opensearch", {"model": "user_module:TwoSides", "embedding_dims": 2}, None)
    assert built.embed("甲", "search") == [1, 0]


def test_a_wrong_length_names_both_options(registered):
    with pytest.raises(ConfigError, match=r"makes vectors of 512 dimensions, not 768.*embedding_model_dims"):
        EmbedderFactory.create("mem_opensearch", {"model": "use", "embedding_dims": 768}, None)


def test_an_unknown_model_is_refused(registered):
    with pytest.raises(ConfigError, match="unknown embedder 'gpt'"):
        EmbedderFactory.create("mem_opensearch", {"model": "gpt"}, None)


def test_blank_text_is_refused():
    with pytest.raises(InvalidInputError, match="blank"):
        Mem0Embedder().embed(" ", "add")
