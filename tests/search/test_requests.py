"""How many requests a search sends."""

from __future__ import annotations

import pytest

from mem_opensearch import EntityLinker, EntityStore, MemoryText
from mem_opensearch.search import Searcher, SearchOptions

USER = {"user_id": "u1"}

TALK = [(f"t{n}", f"第{n}次聊到旅行的计划") for n in range(30)]


@pytest.fixture
def count(remember):
    """Return a searcher, and a function that counts the requests of one call."""
    searcher = remember([*TALK, ("named", "Alice 在设计部工作"), ("linked", "她推荐了拉面店")])
    searcher.entities.link("Alice", "named", USER)
    searcher.entities.link("Alice", "linked", USER)
    clients = {id(each.client): each.client for each in (searcher.store, searcher.entities)}.values()

    def counted(call):
        call()  # the first one makes sure of the index, measures the background, and shows what was written
        before = sum(client.requests for client in clients)
        call()
        return sum(client.requests for client in clients) - before

    return searcher, counted


@pytest.mark.parametrize(
    ("query", "most"),
    [
        ("旅行的计划是什么？", 2),
        ("关于 Alice 我们知道什么？", 2),
        ("4月27日我们聊了什么？", 2),
        ("我们第一次聊天说了什么？", 2),
    ],
)
def test_a_search_is_at_most_two_requests(count, query, most):
    searcher, counted = count
    for mode in ("union", "rrf", "mem0"):
        assert counted(lambda mode=mode: searcher.search(query, filters=USER, mode=mode)) <= most


def test_without_a_scope_it_is_one(count):
    searcher, counted = count
    assert counted(lambda: searcher.search("旅行的计划")) == 1


def test_a_user_without_any_entity_costs_no_request_more(remember):
    searcher = remember(TALK)
    searcher.search("旅行的计划", filters=USER)
    before = searcher.store.client.requests, searcher.entities.client.requests
    searcher.search("旅行的计划", filters=USER)
    after = searcher.store.client.requests, searcher.entities.client.requests
    assert sum(after) - sum(before) == 2


def test_what_stands_beside_a_name_is_brought_by_the_same_requests(make_store, encoder):
    """覃小川 is the user's cousin; what says only 表弟 is neither near the question in meaning nor shares its words."""
    store = make_store(embedding_model_dims=encoder.dims)
    texts = {f"f{n}": f"第{n}天的天气很好，适合散步" for n in range(60)}
    texts |= {"named": "表弟覃小川", "beside": "表弟怕坐船"}
    store.insert(
        list(encoder.embed_documents(list(texts.values()))), [{"data": t, **USER} for t in texts.values()], list(texts)
    )
    entities = EntityStore.beside(store)
    EntityLinker(entities).link(MemoryText(each, text, USER) for each, text in texts.items())
    searcher = Searcher(store, embedder=encoder, entities=entities, options=SearchOptions(pool=3, size=20))
    clients = {id(each.client): each.client for each in (store, entities)}.values()
    for _ in range(2):
        before = sum(client.requests for client in clients)
        answer = searcher.search("覃小川适合散步吗，天气好的时候？", filters=USER, explain=True)
    assert sum(client.requests for client in clients) - before == 2
    assert "beside" in answer.pool
    entities.close()
