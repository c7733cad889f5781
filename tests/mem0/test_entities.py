"""mem0's entity collection lives in the same kind of store: links, boosts, unlinking."""

import asyncio
import json
import logging
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from mem0 import AsyncMemory, Memory
from mem0.memory import main

import mem_opensearch.mem0 as bridge
from mem_opensearch.client.encoding import path_of
from mem_opensearch.entities import EntityMention, Extractor
from mem_opensearch.errors import BackendUnavailable, ConfigError
from mem_opensearch.mem0 import Mem0EntityStore, extraction, internals
from mem_opensearch.mem0.extraction import SURROUNDED
from mem_opensearch.mem0.linking import REPLACED
from mem_opensearch.store.entity_rows import entity_id

NAMES = ("林小满", "台北", "陈志远", "小米", "臺北")
LIN = {"user_id": "lin"}


class Known(Extractor):
    """Finds the names that these tests are about, whatever is installed."""

    def extract(self, text):
        kinds = {"小米": "CAT" if "猫" in text else "COMPANY"}
        starts = [(text.index(name), name) for name in NAMES if name in text]
        return [
            EntityMention(start, start + len(name), name, kinds.get(name, "PROPER"), "test") for start, name in starts
        ]


def extract(text):
    """Stand in for mem0's extraction, which knows English only."""
    return [(each.type, each.name) for each in Known().extract(text)]


def extract_so(set_attribute):
    """Have both extractions, ours and mem0's, find the names of these tests; to be called before `register`."""
    set_attribute(extraction, "default_extractor", Known)
    set_attribute(main, "extract_entities", extract)
    set_attribute(main, "extract_entities_batch", lambda texts: [extract(text) for text in texts])


@pytest.fixture(autouse=True)
def _extraction(monkeypatch):
    extract_so(monkeypatch.setattr)


def put_back(set_attribute):
    """Give mem0's classes their own methods again."""
    for owner in (Memory, AsyncMemory):
        for method in (*REPLACED[owner.__name__], *SURROUNDED):
            set_attribute(owner, method, getattr(owner, method).__wrapped__)


@pytest.fixture
def memory(chat_model, memory):
    """The language model is in the config before mem0 reads it."""
    return memory


@pytest.fixture
def remember(chat_model, memory):
    def add(*facts, **scope):
        chat_model.finds(*facts)
        return [item["id"] for item in memory.add("说了一些话", **(scope or LIN))["results"]]

    return add


@pytest.fixture(params=["ours", "mem0's own"])
def linking(request, memory, monkeypatch):
    """Run a test with our methods in the place of mem0's, and with mem0's own: the store is right with both."""
    with monkeypatch.context() as patched:  # undone before `unregister`, which puts back mem0's own methods too
        if request.param == "mem0's own":
            put_back(patched.setattr)
        yield request.param


def links(memory, user="lin"):
    rows = memory.entity_store.list(filters={"user_id": user}, top_k=10_000)[0]
    return {row.payload["data"]: set(row.payload["linked_memory_ids"]) for row in rows}


def test_memories_are_linked_across_adds(memory, remember, collection, linking):
    first, second = remember("林小满在台北工作", "陈志远是一名厨师")
    (third,) = remember("林小满喜欢骑车")
    assert links(memory) == {"林小满": {first, third}, "台北": {first}, "陈志远": {second}}
    assert memory.entity_store.collection_name == f"{collection}_entities"


def test_entities_are_no_memories(memory, remember):
    """mem0ai/mem0#7003: fragments of entities came back as memories."""
    remember("林小满在台北工作")
    assert [item["memory"] for item in memory.get_all(filters=LIN)["results"]] == ["林小满在台北工作"]
    assert [hit["memory"] for hit in memory.search("林小满", filters=LIN, threshold=0.0)["results"]] == [
        "林小满在台北工作"
    ]
    assert len(links(memory)) == 2


def test_a_named_entity_boosts_its_memories(memory, remember):
    linked, unlinked = remember("林小满每个星期六早上去骑车", "每个星期天晚上去游泳")
    hits = memory.search("林小满周末做什么", filters=LIN, threshold=0.0, explain=True)["results"]
    boosts = {hit["id"]: hit["score_details"]["entity_boost"] for hit in hits}
    assert boosts[linked] == pytest.approx(0.5, abs=1e-3)  # similarity 1 x mem0's weight 0.5 x one link
    assert boosts[unlinked] == 0
    assert hits[0]["id"] == linked


def test_no_row_and_no_boost_crosses_users(memory, remember, linking):
    """mem0ai/mem0#5439: an entity of one user collected memories of another."""
    (mine,) = remember("林小满喜欢骑车")
    (other,) = remember("他说林小满喜欢游泳", user_id="chen")
    hits = memory.search("林小满", filters={"user_id": "chen"}, threshold=0.0, explain=True)["results"]
    assert [hit["id"] for hit in hits] == [other]
    assert links(memory, "lin") == {"林小满": {mine}}
    assert links(memory, "chen") == {"林小满": {other}}


def test_no_row_crosses_a_narrower_scope(memory, remember, linking):
    (cook,) = remember("林小满喜欢骑车", agent_id="cook", **LIN)
    (agent,) = remember("厨师认识林小满", agent_id="cook")
    (plain,) = remember("林小满住在城里", **LIN)
    store = memory.entity_store
    assert store.read("林小满", LIN, entity_type="PROPER").memory_ids == (plain,)
    assert store.read("林小满", {"agent_id": "cook"}, entity_type="PROPER").memory_ids == (agent,)
    assert store.read("林小满", {**LIN, "agent_id": "cook"}, entity_type="PROPER").memory_ids == (cook,)


def test_one_name_of_two_types_is_two_entities(memory, remember):
    """mem0ai/mem0#5587: they were merged."""
    (cat,) = remember("小米是林小满的猫")
    (company,) = remember("小米发布了新手机")
    memory.update(cat, text="小米是一只猫")
    found = {each.type: each.memory_ids for each in memory.entity_store.find("小米", LIN)}
    assert found == {"CAT": (cat,), "COMPANY": (company,)}


def test_spellings_of_one_name_are_one_entity(memory, remember, linking):
    first, second = remember("他住在台北", "他在臺北上班")
    (third,) = remember("臺北下雨了")
    assert links(memory) == {"台北": {first, second, third}}


def test_a_failed_look_up_makes_no_second_row(memory, remember, linking, monkeypatch):
    """mem0ai/mem0#6925: mem0 takes a failure for "not found" and inserts."""
    (first,) = remember("林小满喜欢骑车")

    def down(*_, **__):
        raise BackendUnavailable("down")

    with monkeypatch.context() as patched:
        for method in ("list", "search"):
            patched.setattr(Mem0EntityStore, method, down)
        (second,) = remember("林小满喜欢游泳")
    assert links(memory) == {"林小满": {first, second}}


def test_update_links_anew(memory, remember, linking):
    first, second = remember("林小满在台北工作", "林小满养猫")
    memory.update(first, text="陈志远在高雄工作")
    assert links(memory) == {"林小满": {second}, "陈志远": {first}}
    memory.update(second, text="她养猫")
    assert links(memory) == {"陈志远": {first}}


def test_delete_unlinks(memory, remember, linking):
    first, second = remember("林小满在台北工作", "林小满喜欢骑车")
    memory.delete(first)
    assert links(memory) == {"林小满": {second}}
    memory.delete(second)
    assert links(memory) == {}


def test_a_process_that_never_linked_unlinks(memory, remember, config):
    """mem0ai/mem0#7226, for a delete and for an update."""
    first, second, third = remember("林小满在台北工作", "林小满喜欢骑车", "陈志远是林小满的朋友")
    fresh = Memory.from_config(config)
    fresh.delete(first)
    assert links(memory) == {"林小满": {second, third}, "陈志远": {third}}
    fresh.close()
    fresh = Memory.from_config(config)
    fresh.update(third, text="陈志远没有朋友")
    assert links(memory) == {"林小满": {second}, "陈志远": {third}}
    fresh.close()


def test_deleting_many_lists_no_entities(memory, remember, monkeypatch):
    """mem0ai/mem0#7173: every deleted memory listed the entity collection anew."""
    remember(*(f"林小满第 {number} 次骑车" for number in range(5)))
    (other,) = remember("林小满在游泳", user_id="chen")
    listed = []
    monkeypatch.setattr(Mem0EntityStore, "list", lambda *_, **__: listed.append(1) or [[]])
    memory.delete_all(user_id="lin")
    assert listed == []
    monkeypatch.undo()
    assert links(memory) == {}
    assert links(memory, "chen") == {"林小满": {other}}


def test_the_asynchronous_memory(chat_model, config, linking):
    async def main():
        memory = AsyncMemory.from_config(config)

        async def remember(*facts, **scope):
            chat_model.finds(*facts)
            return [item["id"] for item in (await memory.add("说了一些话", **(scope or LIN)))["results"]]

        first, second = await remember("林小满在台北工作", "林小满喜欢骑车")
        (third,) = await remember("林小满养猫")
        (other,) = await remember("林小满在游泳", user_id="chen")
        assert links(memory) == {"林小满": {first, second, third}, "台北": {first}}
        await memory.update(third, text="陈志远养猫")
        await memory.delete(first)
        assert links(memory) == {"林小满": {second}, "陈志远": {third}}
        await memory.delete_all(user_id="lin")
        assert links(memory) == {}
        assert links(memory, "chen") == {"林小满": {other}}
        memory.close()

    asyncio.run(main())


def test_reset_takes_the_entities_too(memory, remember):
    remember("林小满在台北工作")
    memory.reset()
    assert links(memory) == {}


def test_entities_that_can_not_be_linked_are_told_without_their_names(memory, remember, monkeypatch, caplog):
    (first,) = remember("林小满喜欢骑车")
    caplog.clear()
    caplog.set_level(logging.WARNING)

    def down(*_, **__):
        raise BackendUnavailable("down")

    monkeypatch.setattr(Mem0EntityStore, "link_many", down)
    monkeypatch.setattr(Mem0EntityStore, "unlink_memories", down)
    memory.update(first, text="陈志远喜欢骑车")
    said = [record.getMessage() for record in caplog.records if record.name == "mem_opensearch.mem0"]
    assert said == [
        f"links to memory '{first}' were not removed: down",
        f"memories {first} were not linked to the entities that they name: down",
    ]
    assert memory.get(first)["memory"] == "陈志远喜欢骑车"


# -- concurrency


ADDS = 2
THREADS = 16


class Talker:
    """A language model in the process, whose answer is in the question: what the user says is the fact."""

    def generate_response(self, messages, **_):
        said = [line for line in messages[-1]["content"].splitlines() if "说：" in line][-1]
        fact = said.split("说：")[1].split("。")[0]
        return json.dumps({"memory": [{"id": "0", "text": fact, "attributed_to": "user", "linked_memory_ids": []}]})


class Hasher:
    """An embedder that costs nothing: these tests are about who writes what when."""

    def embed(self, text, _action=None):
        return np.random.default_rng(zlib.crc32(text.encode())).normal(size=512).tolist()

    def embed_batch(self, texts, _action=None):
        return [self.embed(text) for text in texts]


def facts_of(worker):
    return [f"林小满和小米公司在台北第 {worker}-{number} 次见面" for number in range(ADDS)]


def add_all(memory, worker):
    return [item["id"] for fact in facts_of(worker) for item in memory.add(f"说：{fact}。", **LIN)["results"]]


def expect_every_link(memory, ids):
    rows = memory.entity_store.list(filters=LIN)[0]
    assert sorted(row.payload["data"] for row in rows) == ["台北", "小米", "林小满"]
    for row in rows:
        assert sorted(row.payload["linked_memory_ids"]) == sorted(ids)
        assert row.id == entity_id(row.payload["data"], LIN, row.payload["entity_type"])


@pytest.mark.slow
def test_16_threads_that_add_lose_no_link(memory, linking):
    memory.llm, memory.embedding_model = Talker(), Hasher()
    with ThreadPoolExecutor(THREADS) as pool:
        ids = [each for added in pool.map(lambda worker: add_all(memory, worker), range(THREADS)) for each in added]
    assert len(ids) == THREADS * ADDS
    expect_every_link(memory, ids)


@pytest.mark.slow
def test_two_processes_that_add_lose_no_link(memory, config, linking):
    code = f"""
import json, sys
sys.path.insert(0, {str(__file__.rsplit("/", 1)[0])!r})
from concurrent.futures import ThreadPoolExecutor
import test_entities as tests
tests.extract_so(setattr)
tests.bridge.register()
if {linking == "mem0's own"}:
    tests.put_back(setattr)
memory = tests.Memory.from_config(json.loads(sys.argv[1]))
memory.llm, memory.embedding_model = tests.Talker(), tests.Hasher()
print("ready", flush=True)
sys.stdin.readline()
with ThreadPoolExecutor(4) as pool:
    added = pool.map(lambda worker: tests.add_all(memory, worker), range(int(sys.argv[2]), int(sys.argv[2]) + 4))
    print(json.dumps([each for ids in added for each in ids]))
"""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, json.dumps(config), first],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for first in ("100", "200")
    ]
    try:
        for process in running:
            assert process.stdout.readline() == "ready\n", process.communicate()[1]
        for process in running:
            process.stdin.write("go\n")
            process.stdin.flush()
        answers = [process.communicate(timeout=300) for process in running]
    finally:
        for process in running:
            process.kill()
    ids = [each for out, _ in answers for each in json.loads(out.splitlines()[-1])]
    assert len(ids) == 2 * 4 * ADDS
    store = memory.entity_store
    store.client.request("POST", path_of(store.collection_name, "_refresh"))  # for what other processes have written
    expect_every_link(memory, ids)


# -- the store that mem0 holds


@pytest.fixture
def store(memory):
    return memory.entity_store


def add_row(store, *memory_ids):
    payload = {"data": "林小满", "entity_type": "PROPER", "linked_memory_ids": list(memory_ids), **LIN}
    (hit,) = store.insert([[1.0] * 512], [payload], ["0b1e5a0c-2f7e-4a3c-9d51-6f1f2f3a4b5c"])
    return hit.id


def links_of(store, row_id):
    hit = store.get(row_id)
    return None if hit is None else hit.payload["linked_memory_ids"]


def test_the_id_of_an_insert_is_the_rows(store):
    row_id = add_row(store, "m1")
    assert row_id == entity_id("林小满", LIN, "PROPER") == add_row(store, "m2")
    assert links_of(store, row_id) == ["m1", "m2"]
    store.delete(row_id)
    assert links_of(store, row_id) is None


def test_what_others_did_between_a_read_and_a_write_stays(store):
    row_id = add_row(store, "m1", "m2")
    ((row,),) = store.list(filters=LIN)
    (similar,) = store.search("林小满", [1.0] * 512, top_k=1, filters=LIN)
    store.link("林小满", "m3", LIN, entity_type="PROPER")
    store.unlink("林小满", "m1", LIN, entity_type="PROPER")
    row.payload["linked_memory_ids"].append("m4")  # as `_upsert_entity` does
    store.update(row_id, None, row.payload)
    assert links_of(store, row_id) == ["m2", "m3", "m4"]
    similar.payload["linked_memory_ids"] = sorted({*similar.payload["linked_memory_ids"], "m5"})  # as `add` does
    store.update(row_id, None, similar.payload)
    assert links_of(store, row_id) == ["m2", "m3", "m4", "m5"]
    got = store.get(row_id)
    store.link("林小满", "m6", LIN, entity_type="PROPER")
    remaining = [each for each in got.payload["linked_memory_ids"] if each != "m2"]  # as mem0's removal does
    store.update(row_id, [1.0] * 512, {**got.payload, "linked_memory_ids": remaining})
    assert links_of(store, row_id) == ["m3", "m4", "m5", "m6"]


def test_a_row_that_went_between_a_read_and_a_write_comes_back_with_what_was_added(store):
    row_id = add_row(store, "m1")
    ((row,),) = store.list(filters=LIN)
    store.unlink("林小满", "m1", LIN, entity_type="PROPER")
    store.update(row_id, None, row.payload)  # nothing was added
    assert links_of(store, row_id) is None
    row.payload["linked_memory_ids"].append("m2")
    store.update(row_id, None, row.payload)
    assert links_of(store, row_id) == ["m2"]
    assert (
        "linked_memory_ids_read"
        not in store.client.request("GET", f"/{store.collection_name}/_doc/{row_id}")["_source"]["payload"]
    )


def test_a_payload_that_was_not_read_says_what_the_links_are(store):
    row_id = add_row(store, "m1", "m2")
    store.update(row_id, None, {"data": "林小满", "linked_memory_ids": ["m3"], **LIN})
    assert links_of(store, row_id) == ["m3"]


# -- what is patched


def test_other_stores_keep_mem0s_own_methods(registered):
    class Elsewhere(Memory):
        vector_store = entity_store = _entity_store = None

        def __init__(self):
            self.asked = []

    memory = Elsewhere()
    memory.entity_store = memory
    memory._entity_store = memory
    memory.list = lambda **asked: memory.asked.append(asked) or [[]]
    assert memory._existing_entities_by_text(LIN) == {}
    memory._remove_memory_from_entity_store("m1", LIN)
    assert memory.asked == [{"filters": LIN, "top_k": 10_000}] * 2


def test_the_methods_are_put_back():
    bridge.unregister()
    before = {name: dict(vars(owner)) for name, owner in (("Memory", Memory), ("AsyncMemory", AsyncMemory))}
    bridge.register()
    assert all(hasattr(vars(Memory)[name], "__wrapped__") for name in (*REPLACED["Memory"], *SURROUNDED))
    bridge.unregister()
    assert {name: dict(vars(owner)) for name, owner in (("Memory", Memory), ("AsyncMemory", AsyncMemory))} == before


def test_a_mem0_without_these_methods_is_refused(monkeypatch):
    bridge.unregister()
    monkeypatch.delattr(AsyncMemory, "_upsert_entity_async")
    with pytest.raises(ConfigError, match="AsyncMemory._upsert_entity_async") as refused:
        bridge.register()
    assert internals.SUPPORTED_TEXT in str(refused.value)
    assert not bridge.is_registered()
