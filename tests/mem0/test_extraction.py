"""Where the store is ours, mem0 finds names in any language, links what it adds, and asks for what was asked."""

import asyncio

import pytest
from mem0 import AsyncMemory, Memory
from mem0.memory import main

import mem_opensearch.mem0 as bridge
from mem_opensearch.errors import BackendUnavailable, ConfigError
from mem_opensearch.mem0 import Mem0VectorStore
from mem_opensearch.mem0.extraction import FUNCTIONS

LIN = {"user_id": "lin"}


@pytest.fixture
def mem0s_own(monkeypatch):
    """What mem0's own functions were asked, each of which answers something that our store must never see."""
    asked = []

    def note(name, answer):
        monkeypatch.setattr(main, name, lambda given: asked.append((name, given)) or answer(given))

    note("extract_entities", lambda text: [("PROPER", "of mem0's own")])
    note("extract_entities_batch", lambda texts: [[("PROPER", "of mem0's own")] for _ in texts])
    note("lemmatize_for_bm25", lambda text: "lemmas")
    return asked  # set before `registered`, which keeps them for other stores


@pytest.fixture
def memory(mem0s_own, chat_model, memory):
    return memory


def links(memory):
    rows = memory.entity_store.list(filters=LIN)[0]
    return {row.payload["data"]: set(row.payload["linked_memory_ids"]) for row in rows}


def ids_of(added):
    return [item["id"] for item in added["results"]]


TOLD = [
    ("新来的总监叫盛怀瑾。", "总监喜欢喝冰美式。", "盛怀瑾", "总监"),
    ("新來的總監叫盛懷瑾。", "總監喜歡喝冰美式。", "盛懷瑾", "總監"),
    ("My landlord is called Tom.", "My landlord plays the cello.", "Tom", "landlord"),
]


@pytest.mark.parametrize("infer", [True, False])
@pytest.mark.parametrize(("told", "later", "name", "alias"), TOLD)
def test_what_is_added_is_linked_with_its_aliases(memory, chat_model, mem0s_own, infer, told, later, name, alias):
    chat_model.finds(told)
    (first,) = ids_of(memory.add(told, infer=infer, **LIN))
    chat_model.finds(later)
    (second,) = ids_of(memory.add(later, infer=infer, **LIN))
    found = links(memory)
    assert found[name] == {first}
    assert found[alias] == {first, second}
    (row,) = memory.entity_store.find(name, LIN)
    assert row.aliases == (alias,)
    assert mem0s_own == []


def test_the_asynchronous_memory_links_too(mem0s_own, chat_model, config):
    async def steps():
        memory = AsyncMemory.from_config(config)
        told, later, name, alias = TOLD[0]
        chat_model.finds(told)
        (first,) = ids_of(await memory.add(told, **LIN))
        (second,) = ids_of(await memory.add(later, infer=False, **LIN))
        assert links(memory)[alias] == {first, second}
        assert memory.entity_store.aliases(name, LIN, entity_type="person") == (alias,)
        await memory.update(second, text="在讀《圍城》")
        assert links(memory)[alias] == {first}
        assert links(memory)["圍城"] == {second}
        await memory.search("《圍城》是誰在讀？", filters=LIN)
        await memory.delete(first)
        assert links(memory) == {"圍城": {second}}
        memory.close()

    asyncio.run(steps())
    assert mem0s_own == []


def test_names_are_embedded_for_mem0s_own_read_path(memory):
    (first,) = ids_of(memory.add("我在讀《圍城》", infer=False, **LIN))
    vector = memory.embedding_model.embed("围城", "search")
    (best,) = memory.entity_store.search("围城", vector, top_k=1, filters=LIN)
    assert (best.payload["data"], best.payload["linked_memory_ids"]) == ("圍城", [first])


def test_a_question_reaches_the_keyword_search_unchanged(memory, monkeypatch):
    memory.add("林小满的航班号是 CX-872，在台北起飞。", infer=False, **LIN)
    asked = []
    search = Mem0VectorStore.keyword_search
    monkeypatch.setattr(
        Mem0VectorStore,
        "keyword_search",
        lambda self, query, **options: asked.append(query) or search(self, query, **options),
    )
    question = "「林小滿」的航班号，是 CX-872 吗？"
    (best,) = memory.search(question, filters=LIN, explain=True)["results"]
    assert asked == [question]
    assert best["score_details"]["bm25_score"] > 0


def test_names_of_a_question_boost_what_is_linked(memory):
    (linked,) = ids_of(memory.add("《圍城》放在客厅的书架上", infer=False, **LIN))
    memory.add("床头放着一盏台灯", infer=False, **LIN)
    hits = memory.search("《圍城》在哪里？", filters=LIN, threshold=0.0, explain=True)["results"]
    assert {hit["id"]: hit["score_details"]["entity_boost"] > 0.4 for hit in hits} == {
        hit["id"]: hit["id"] == linked for hit in hits
    }


def test_update_and_delete_keep_the_links_right(memory):
    first, second = (ids_of(memory.add(text, infer=False, **LIN))[0] for text in ("在读《围城》", "《圍城》讀完了"))
    memory.update(first, text="在读《边城》")
    assert links(memory) == {"围城": {second}, "边城": {first}}
    memory.update(first, metadata={"tag": "book"})
    assert links(memory) == {"围城": {second}, "边城": {first}}
    memory.delete(second)
    assert links(memory) == {"边城": {first}}
    memory.delete_all(**LIN)
    assert links(memory) == {}


def test_names_given_as_metadata_are_linked_and_stay_so(memory, chat_model):
    chat_model.finds("她推荐了那家拉面店")
    given = {"entities": ["Alice", "《孤独的美食家》", "", 7]}
    (first,) = ids_of(memory.add("说了一些话", metadata=given, **LIN))
    assert links(memory) == {"Alice": {first}, "孤独的美食家": {first}}
    memory.update(first, text="她推荐了那家面馆")
    assert links(memory)["Alice"] == {first}
    assert memory.get(first)["metadata"]["entities"] == given["entities"]


def test_a_failure_is_told_without_the_text_and_the_memory_stays(memory, monkeypatch, caplog):
    def down(*_, **__):
        raise BackendUnavailable("down")

    def broken(*_, **__):
        raise RuntimeError("about 圍城")

    for target, failing, reason in [
        ("mem_opensearch.mem0.Mem0EntityStore.link_many", down, "down"),
        ("mem_opensearch.store.linker.aliases_of", broken, "RuntimeError"),
    ]:
        caplog.clear()
        with monkeypatch.context() as patched:
            patched.setattr(target, failing)
            (memory_id,) = ids_of(memory.add("我在讀《圍城》", infer=False, **LIN))
        said = [record.getMessage() for record in caplog.records if record.name == "mem_opensearch.mem0"]
        assert said == [f"memories {memory_id} were not linked to the entities that they name: {reason}"]
        assert memory.get(memory_id)["memory"] == "我在讀《圍城》"
    assert links(memory) == {}


@pytest.mark.parametrize("answer", ["error", "too few"])
def test_names_that_can_not_be_embedded_are_linked_all_the_same(memory, monkeypatch, answer):
    own = memory.embedding_model.embed_batch

    def embed_batch(texts, action):
        if texts != ["圍城"]:
            return own(texts, action)
        if answer == "error":
            raise RuntimeError("no credit")
        return []

    monkeypatch.setattr(memory.embedding_model, "embed_batch", embed_batch)
    (first,) = ids_of(memory.add("我在讀《圍城》", infer=False, **LIN))
    assert links(memory) == {"圍城": {first}}


# -- other stores


@pytest.fixture
def elsewhere(mem0s_own, chat_model, config, tmp_path):
    """mem0's memory over a store that is not ours."""
    options = {"path": str(tmp_path / "qdrant"), "collection_name": "elsewhere", "embedding_model_dims": 512}
    memory = Memory.from_config({**config, "vector_store": {"provider": "qdrant", "config": options}})
    yield memory
    memory.close()


def test_another_store_keeps_mem0s_own_extraction(elsewhere, chat_model, mem0s_own, memory):
    chat_model.finds("林小满在台北工作")
    (first,) = ids_of(elsewhere.add("说了一些话", **LIN))
    assert ("extract_entities_batch", ["林小满在台北工作"]) in mem0s_own
    (row,) = elsewhere.entity_store.list(filters=LIN)[0]
    assert row.payload["data"] == "of mem0's own"
    mem0s_own.clear()
    memory.add("林小满在高雄工作", infer=False, **LIN)  # ours in between
    assert mem0s_own == []
    elsewhere.search("林小满在哪里？", filters=LIN)
    assert {name for name, _ in mem0s_own} == {"lemmatize_for_bm25", "extract_entities"}
    mem0s_own.clear()
    elsewhere.update(first, text="林小满在高雄工作")
    assert ("extract_entities", "林小满在高雄工作") in mem0s_own
    elsewhere.add("说了一些话", infer=False, **LIN)
    assert len(elsewhere.entity_store.list(filters=LIN)[0]) == 1


# -- the patch


def test_functions_are_put_back():
    bridge.unregister()
    before = {name: getattr(main, name) for name in FUNCTIONS}
    bridge.register()
    assert all(getattr(main, name) is not before[name] for name in FUNCTIONS)
    bridge.unregister()
    assert {name: getattr(main, name) for name in FUNCTIONS} == before


@pytest.mark.parametrize("missing", sorted(FUNCTIONS))
def test_a_mem0_without_such_a_function_is_refused(monkeypatch, missing):
    bridge.unregister()
    monkeypatch.delattr(main, missing)
    with pytest.raises(ConfigError, match=f"mem0.memory.main.{missing}"):
        bridge.register()
    assert not bridge.is_registered()


# -- names in metadata as a filter


NAMED = [
    ("她推薦了那家拉麵店", ["Alice", "臺北"]),
    ("他推荐了那家书店", ["Bob", "台北"]),
    ("Alice in Wonderland is on the shelf", ["Alice in Wonderland"]),
    ("沒有提到誰", []),
]


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        ({"contains": "Alice"}, {0, 2}),
        ({"icontains": "alice"}, {0, 2}),
        ("Alice", {0}),
        ({"in": ["Bob", "Alice"]}, {0, 1}),
        ({"ne": "Alice"}, {1, 2, 3}),
        ("台北", {1}),  # metadata are compared as they were written
        ({"contains": "北"}, {0, 1}),
        ({"in": ["台北", "臺北"]}, {0, 1}),
        ("*", {0, 1, 2}),
    ],
)
def test_filters_on_names_in_metadata(memory, wanted, numbers):
    ids = []
    for text, names in NAMED:
        ids += ids_of(memory.add(text, infer=False, metadata={"entities": names}, **LIN))
    memory.add("另一個人", infer=False, metadata={"entities": ["Alice", "台北"]}, user_id="chen")
    expected = {ids[number] for number in numbers}
    filters = {**LIN, "entities": wanted}
    assert set(ids_of(memory.get_all(filters=filters))) == expected
    assert set(ids_of(memory.search("推薦", filters=filters, threshold=0.0))) == expected
    store = memory.vector_store
    assert {hit.id for hit in store.list(filters=filters)[0]} == expected
    vector = memory.embedding_model.embed("推薦", "search")
    assert {hit.id for hit in store.search("推薦", vector, filters=filters)} == expected
