"""Deleting memories takes them out of the entities that link them."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mem_opensearch import EntityStore, Link, OpenSearchVectorStore
from mem_opensearch.client import failures
from mem_opensearch.errors import BackendUnavailable, ConfigError, PermissionDenied
from mem_opensearch.store import by_query, links
from mem_opensearch.store.links import unlink_memories

LIN, CHEN = {"user_id": "lin"}, {"user_id": "chen"}
EAST = [1, 0, 0, 0]
PATIENCE = 60


def linked(entities, scope=LIN):
    hits = entities.list(filters=scope)[0]
    return {hit.payload["data"]: hit.payload["linked_memory_ids"] for hit in hits}


@pytest.fixture
def remember(store, entities):
    """Store memories and link each to names."""

    def add(scope=LIN, **names):
        store.insert([EAST] * len(names), [{"data": memory_id, **scope} for memory_id in names], list(names))
        entities.link_many([Link(name, each, scope, vector=EAST) for each, given in names.items() for name in given])

    return add


def in_another_process(url, collection, code):
    """Run code with `memories` and `entities` at hand, in a process that has done nothing before."""
    head = (
        "from mem_opensearch import EntityStore, OpenSearchVectorStore\n"
        f"memories = OpenSearchVectorStore(url={url!r}, collection_name={collection!r}, embedding_model_dims=4)\n"
        "entities = EntityStore.beside(memories)\n"
    )
    done = subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_a_deleted_memory_is_linked_no_more(store, entities, remember):
    remember(m1="甲乙", m2="乙丙")
    store.delete("m1")
    assert linked(entities) == {"乙": ["m2"], "丙": ["m2"]}
    assert {each.name for each in entities.find_similar(EAST, LIN)} == {"乙", "丙"}  # their vectors are still there
    store.delete("m2")
    assert linked(entities) == {}


def test_all_links_go_in_one_request(store, entities, remember, monkeypatch):
    remember(m1="甲乙丙丁戊己庚辛壬癸", m2="癸")
    sent, request = [], store.client.request
    monkeypatch.setattr(
        store.client, "request", lambda method, path, **rest: (sent.append(path), request(method, path, **rest))[1]
    )
    store.delete("m1")
    name = entities.collection_name
    # The refresh shows what other processes have linked until now; it tells too whether there is such a collection.
    assert sent == [f"/{name}/_refresh", f"/{name}/_update_by_query", f"/{store.collection_name}/_doc/m1"]
    assert linked(entities) == {"癸": ["m2"]}


def test_a_process_that_never_wrote_removes_links(opensearch_url, collection, store, entities, remember):
    """mem0ai/mem0#7226: entity cleanup was skipped in such a process."""
    remember(m1="甲乙", m2="乙")
    in_another_process(opensearch_url, collection, "memories.delete('m1')")
    assert linked(entities) == {"乙": ["m2"]}
    assert store.get("m1") is None


def test_a_link_that_another_process_made_a_moment_ago_is_removed(
    opensearch_url, collection, store, entities, remember
):
    remember(m1="甲")
    entities.client.request("POST", f"/{entities.collection_name}/_refresh")
    entities.client.request(
        "PUT", f"/{entities.collection_name}/_settings", body={"index.refresh_interval": "-1"}
    )  # no refresh comes to help
    in_another_process(opensearch_url, collection, "entities.link('乙', 'm1', {'user_id': 'lin'})")
    store.delete("m1")
    assert linked(entities) == {}


def test_without_an_entity_collection_nothing_happens(opensearch_url, collection, store):
    store.insert([EAST] * 2, [{"data": "x", **LIN}] * 2, ["m1", "m2"])
    before = store.client.requests
    store.delete("m1")
    assert store.client.requests == before + 2
    assert store.col_info(f"{collection}_entities")["exists"] is False
    # Another process makes it later; that it was missing once is not remembered.
    in_another_process(opensearch_url, collection, "entities.link('甲', 'm2', {'user_id': 'lin'})")
    store.delete("m2")
    entities = EntityStore.beside(store)
    assert linked(entities) == {}
    entities.close()


def test_deleting_an_entity_is_no_deletion_of_a_memory(entities):
    entities.link("甲", "m1", LIN)
    (found,) = entities.find("甲", LIN)
    before = entities.client.requests
    entities.delete(found.id)
    assert entities.client.requests == before + 1
    assert linked(entities) == {}


def test_a_failed_removal_keeps_the_memory_so_that_the_call_can_be_repeated(store, entities, remember, monkeypatch):
    remember(m1="甲")
    with monkeypatch.context() as patched:
        patched.setattr("mem_opensearch.store.deleting.unlink_memories", _fail)
        with pytest.raises(BackendUnavailable):
            store.delete("m1")
    assert store.get("m1") is not None
    store.delete("m1")
    assert store.get("m1") is None
    assert linked(entities) == {}


def _fail(*_):
    raise BackendUnavailable("down")


def test_many_ids_at_once(entities, monkeypatch):
    monkeypatch.setattr(links, "IDS", 1000)
    entities.link_many([Link(f"名{n % 5}", f"m{n}", LIN) for n in range(5000)])
    before = entities.client.requests
    entities.unlink_memories(f"m{n}" for n in range(2500))
    assert entities.client.requests == before + 6  # three times a refresh and an update
    assert linked(entities) == {f"名{n}": [f"m{m}" for m in range(2500 + n, 5000, 5)] for n in range(5)}
    monkeypatch.undo()
    entities.unlink_memories([f"m{n}" for n in range(5000)])
    assert linked(entities) == {}
    before = entities.client.requests
    entities.unlink_memories([])
    assert entities.client.requests == before


def test_deleting_by_filter_unlinks_too(store, entities, remember):
    remember(m1="甲乙", m2="乙", m3="丙")
    remember(CHEN, c1="甲")
    store.insert([EAST], [{"data": "m4", "kind": "note", **LIN}], ["m4"])
    entities.link("乙", "m4", LIN)
    assert store.delete_by_filter({"kind": "note"}) == 1
    assert linked(entities) == {"甲": ["m1"], "乙": ["m1", "m2"], "丙": ["m3"]}
    assert store.delete_all(user_id="lin") == 3
    assert linked(entities) == {}
    assert linked(entities, CHEN) == {"甲": ["c1"]}


def test_all_entities_of_a_scope_can_be_deleted(entities):
    for scope in (LIN, CHEN):
        entities.link_many([Link("甲", "m1", scope), Link("乙", "m2", scope)])
    assert entities.delete_all(user_id="lin") == 2
    assert linked(entities, LIN) == {}
    assert len(linked(entities, CHEN)) == 2


def test_links_made_meanwhile_stay_and_no_removal_is_lost(make_entities):
    """Writers add to a few rows while others remove: the rows change between being found and being written."""
    entities = make_entities()
    entities.link_many([Link(f"名{n}", f"old{m}", LIN) for n in range(3) for m in range(20)])

    def add(number):
        return lambda store: [
            store.link_many([Link(f"名{n}", f"new{number}-{m}", LIN) for n in range(3)]) for m in range(10)
        ]

    def remove(number):
        return lambda store: [store.unlink_memories([f"old{m}"]) for m in range(number, 20, 4)]

    with ThreadPoolExecutor(8) as pool:
        actions = [action for number in range(4) for action in (add(number), remove(number))]
        for done in [pool.submit(action, make_entities()) for action in actions]:
            done.result()
    expected = {f"new{number}-{m}" for number in range(4) for m in range(10)}
    assert {name: set(ids) for name, ids in linked(entities).items()} == {f"名{n}": expected for n in range(3)}


def test_a_write_block_is_waited_out(entities, remember):
    """A roll blocks writes for a moment."""
    remember(m1="甲")
    (index,) = entities.client.request("GET", f"/_alias/{entities.collection_name}")
    entities.client.request("PUT", f"/{index}/_settings", body={"index.blocks.write": True})
    seen = threading.Event()
    request = entities.client.request

    def watched(method, path, **rest):
        answer = request(method, path, **rest)
        if path.endswith("_update_by_query"):
            seen.set()
        return answer

    entities.client.request = watched
    worker = threading.Thread(target=entities.unlink_memories, args=[["m1"]])
    worker.start()
    assert seen.wait(PATIENCE)
    request("PUT", f"/{index}/_settings", body={"index.blocks.write": None})
    worker.join(PATIENCE)
    assert linked(entities) == {}


def test_a_write_block_that_stays_is_an_error(entities, monkeypatch):
    monkeypatch.setattr(failures, "BLOCK_SECONDS", 0.0)
    entities.link("甲", "m1", LIN)
    (index,) = entities.client.request("GET", f"/_alias/{entities.collection_name}")
    entities.client.request("PUT", f"/{index}/_settings", body={"index.blocks.write": True})
    with pytest.raises(BackendUnavailable, match="stayed so"):
        entities.unlink_memories(["m1"])
    entities.client.request("PUT", f"/{index}/_settings", body={"index.blocks.write": None})


@pytest.mark.parametrize(
    ("answer", "expected", "message"),
    [
        (
            {
                "error": {
                    "type": "security_exception",
                    "reason": "no permissions for [indices:data/write/bulk] and User",
                }
            },
            PermissionDenied,
            "indices:data/write/bulk",
        ),
        (
            {"failures": [{"id": "e1", "status": 403, "cause": {"type": "security_exception", "reason": "not you"}}]},
            PermissionDenied,
            "not you",
        ),
    ],
)
def test_what_the_server_forbids_is_said(httpserver, answer, expected, message):
    """The local node has no security."""
    httpserver.expect_request("/").respond_with_json({"version": {"distribution": "opensearch", "number": "3.6.0"}})
    httpserver.expect_request("/x_entities/_refresh").respond_with_json({})
    httpserver.expect_request("/x_entities/_update_by_query").respond_with_json({**answer, "status": 403}, status=403)
    store = OpenSearchVectorStore(url=httpserver.url_for(""), collection_name="x", embedding_model_dims=4)
    with pytest.raises(expected, match=message):
        unlink_memories(store.client, "x_entities", ["m1"])
    store.close()


def test_rows_that_never_hold_still_are_an_error_in_the_end(httpserver, monkeypatch):
    monkeypatch.setattr(by_query, "ROUND_WAIT", (0.0, 0.0))
    httpserver.expect_request("/").respond_with_json({"version": {"distribution": "opensearch", "number": "3.6.0"}})
    httpserver.expect_request("/x_entities/_refresh").respond_with_json({})
    httpserver.expect_request("/x_entities/_update_by_query").respond_with_json(
        {"updated": 0, "deleted": 0, "version_conflicts": 1, "timed_out": False, "failures": []}
    )
    store = OpenSearchVectorStore(url=httpserver.url_for(""), collection_name="x", embedding_model_dims=4)
    with pytest.raises(BackendUnavailable, match="call it again"):
        unlink_memories(store.client, "x_entities", ["m1"])
    store.close()


def test_a_server_without_scripts_is_refused(entities, store, monkeypatch):
    """None of those that are run here lacks them."""
    entities.link("甲", "m1", LIN)
    store.insert([EAST], [{"data": "x", **LIN}], ["m1"])
    monkeypatch.setattr(type(store.client.dialect), "has_update_by_query", False)
    for act in (lambda: entities.link("乙", "m1", LIN), lambda: entities.unlink("甲", "m1", LIN)):
        with pytest.raises(ConfigError, match="full cluster"):
            act()
    store.delete("m1")
    assert store.get("m1") is None
