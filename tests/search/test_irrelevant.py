"""A question that nothing stored answers gets nothing, also where one memory alone is there to compare it with."""

import pytest

from mem_opensearch import EntityStore, OpenSearchVectorStore, Searcher
from mem_opensearch.embed import load_embedder

USER = {"user_id": "lin"}


@pytest.fixture(params=["use", "e5"])
def searcher(request, opensearch_url, collection):
    model = load_embedder(request.param)
    store = OpenSearchVectorStore(url=opensearch_url, collection_name=collection, embedding_model_dims=model.dims)
    store.insert(model.embed_documents(["我女儿对花生过敏"]), [{"data": "我女儿对花生过敏", **USER}], ["allergy"])
    entities = EntityStore.beside(store, embed=model.embed_documents)
    yield Searcher(store, embedder=model, entities=entities)
    store.close()
    entities.close()


@pytest.mark.parametrize("question", ["今天股市怎么样", "明天的会议几点开始？", "Who won the world cup?"])
def test_one_memory_is_no_answer_to_everything(searcher, question):
    answer = searcher.search(question, filters=USER)
    assert answer.results == ()
    assert answer.empty.startswith("1 candidate below the threshold")


@pytest.mark.parametrize("question", ["孩子不能吃什么？", "孩子不能吃什麼？", "花生"])
def test_and_is_found_where_it_answers(searcher, question):
    assert [found.id for found in searcher.search(question, filters=USER).results] == ["allergy"]
