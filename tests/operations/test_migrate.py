"""From mem0's own OpenSearch layout: everything is moved or named, the newest wins, a second run changes nothing."""

from __future__ import annotations

import json
import os
import tempfile
import uuid

import pytest
from load import vector_of
from typer.testing import CliRunner

# Read once, when mem0 is imported; a developer's own mem0 home is not for tests.
os.environ.setdefault("MEM0_DIR", tempfile.mkdtemp(prefix="mem0-home-"))
os.environ.setdefault("MEM0_TELEMETRY", "False")

import mem_opensearch.mem0 as bridge
from mem_opensearch import EntityStore, OpenSearchVectorStore
from mem_opensearch.cli import app
from mem_opensearch.client.encoding import encode_lines
from mem_opensearch.embed import UniversalSentenceEncoder
from mem_opensearch.errors import ConfigError, IndexStateError
from mem_opensearch.transfer import migrate_index

TEXTS = ["我女儿对花生过敏", "订单 PX-441 的包裹寄到了臺北", "她每个星期六早上去骑自行车"]


@pytest.fixture
def builtin(opensearch_url):
    """mem0's own provider, with its index and its entities."""
    encoder = UniversalSentenceEncoder()
    with bridge.builtin_memory(url=opensearch_url, collection=f"b-{uuid.uuid4().hex}", embedder=encoder) as memory:
        yield memory
        memory.drop()


def source_of(builtin):
    builtin.refresh()
    return builtin.memory.collection_name


def target(opensearch_url, collection, dims=512):
    return OpenSearchVectorStore(url=opensearch_url, collection_name=collection, embedding_model_dims=dims)


def snapshot(client, index):
    client.request("POST", f"/{index}/_refresh")
    hits = client.request("POST", f"/{index}/_search", body={"size": 1000, "seq_no_primary_term": True})["hits"]["hits"]
    return sorted((hit["_id"], hit["_seq_no"], json.dumps(hit["_source"], sort_keys=True)) for hit in hits)


def test_what_mem0_stored_is_found_afterwards(builtin, opensearch_url, collection):
    for text in TEXTS:
        builtin.memory.add(text, user_id="lin", infer=False)
    links = {"data": "包裹", "entity_type": "thing", "linked_memory_ids": ["m1"], "user_id": "lin"}
    builtin.memory.entity_store.insert([[0.5] * 512], [links], ["e1"])
    name = source_of(builtin)
    store = target(opensearch_url, collection)
    before = snapshot(store.client, name)
    memories, entities = migrate_index(name, collection, url=opensearch_url)
    assert (memories.rows, memories.moved, memories.verified, memories.is_whole) == (3, 3, 3, True)
    assert (entities.collection, entities.moved, entities.is_whole) == (f"{collection}_entities", 1, True)
    listed = {hit.id: hit.payload for hit in builtin.memory.vector_store.list(top_k=100)[0]}
    assert {hit.id: hit.payload for hit in store.list()[0]} == listed
    assert store.keyword_search("px441 台北", filters={"user_id": "lin"})[0].payload["data"] == TEXTS[1]
    encoder = builtin.memory.embedding_model
    assert store.search("", encoder.embed(TEXTS[2]), top_k=1)[0].score == pytest.approx(1.0, abs=1e-5)
    (entity,) = target(opensearch_url, f"{collection}_entities").list()[0]
    assert entity.payload == links
    assert snapshot(store.client, name) == before


def test_entities_that_are_one_become_one_row(builtin, opensearch_url, collection):
    """mem0's provider has a second row for an entity where two processes added at once, or a look-up failed."""
    provider = builtin.memory.entity_store
    lin = {"user_id": "lin"}
    payloads = [
        {"data": "臺北", "entity_type": "place", "linked_memory_ids": ["m1", "m2"], **lin},
        {"data": "台北", "entity_type": "place", "linked_memory_ids": ["m3"], **lin},
        {"data": "台北", "entity_type": "name", "linked_memory_ids": ["m4"], **lin},
        {"data": "台北", "entity_type": "place", "linked_memory_ids": ["m5"], "user_id": "chen"},
        {"data": "无主", "linked_memory_ids": ["m6"]},
    ]
    vectors = [vector_of(number) * 64 for number in range(1, 6)]
    provider.insert(vectors, payloads, [f"e{number}" for number in range(1, 6)])
    builtin.memory.add(TEXTS[0], user_id="lin", infer=False)
    name = source_of(builtin)
    report = migrate_index(name, collection, url=opensearch_url)[1]
    assert (report.rows, report.moved, report.duplicates, report.verified) == (5, 3, 1, 3)
    assert list(report.failed) == ["e5"]
    assert "belongs to a scope" in report.failed["e5"]
    store = EntityStore(url=opensearch_url, collection_name=f"{collection}_entities", embedding_model_dims=512)
    assert {(each.type, frozenset(each.memory_ids)) for each in store.find("台北", lin)} == {
        ("place", frozenset({"m1", "m2", "m3"})),
        ("name", frozenset({"m4"})),
    }
    store.link("台北", "m7", lin, entity_type="place")  # goes to the row that was moved
    again = migrate_index(name, collection, url=opensearch_url)[1]
    assert (again.moved, again.updated, again.unchanged, again.verified) == (0, 0, 3, 3)
    assert len(store.list()[0]) == 3
    assert "m7" in store.read("台北", lin, entity_type="place").memory_ids
    store.unlink("台北", "m3", lin, entity_type="place")
    assert store.read("台北", {"user_id": "chen"}, entity_type="place").memory_ids == ("m5",)
    store.close()


def test_duplicates_the_newest_wins_and_a_second_run_changes_nothing(builtin, opensearch_url, collection):
    provider = builtin.memory.vector_store
    day = "2026-01-0{}T00:00:00+08:00"
    for version in (2, 3, 1):  # the provider adds a second row for an id that is stored
        payload = {"data": f"第{version}版", "user_id": "u", "updated_at": day.format(version)}
        provider.insert([vector_of(version) * 64], [payload], ["twice"])
    provider.insert([[1.0] * 512], [{"data": "一", "created_at": day.format(5)}], ["once"])
    many = range(10, 610)
    provider.insert(
        [vector_of(n) * 64 for n in many], [{"data": f"第{n}条", "n": n} for n in many], [f"m{n}" for n in many]
    )
    name = source_of(builtin)
    (report,) = [one for one in migrate_index(name, collection, url=opensearch_url) if one.collection == collection]
    assert (report.rows, report.moved, report.duplicates, report.verified) == (604, 602, 2, 602)
    assert report.is_whole
    store = target(opensearch_url, collection)
    assert store.get("twice").payload["data"] == "第3版"
    assert store.search("", vector_of(3) * 64, top_k=1)[0].id == "twice"
    before = snapshot(store.client, collection)
    again = migrate_index(name, collection, url=opensearch_url)[0]
    assert (again.moved, again.updated, again.unchanged, again.kept) == (0, 0, 602, 0)
    assert again.is_whole
    assert snapshot(store.client, collection) == before
    # What was changed here since stays; what was changed there since comes over.
    store.update("twice", payload={"data": "新", "updated_at": day.format(9)})
    provider.update("once", payload={"data": "二", "updated_at": day.format(8)})
    source_of(builtin)
    third = migrate_index(name, collection, url=opensearch_url)[0]
    assert (third.moved, third.updated, third.unchanged, third.kept) == (0, 1, 600, 1)
    assert (store.get("twice").payload["data"], store.get("once").payload["data"]) == ("新", "二")


def test_interrupted_it_goes_on(builtin, opensearch_url, collection):
    provider = builtin.memory.vector_store
    provider.insert([[1.0] * 512] * 900, [{"data": f"第{n}条"} for n in range(900)], [f"m{n}" for n in range(900)])
    name = source_of(builtin)

    def interrupt(stage, done, total):
        assert (stage, total) == ("moving", 900)
        if done >= 400:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate_index(name, collection, url=opensearch_url, progress=interrupt)
    stages = []
    report = migrate_index(name, collection, url=opensearch_url, progress=lambda *what: stages.append(what))[0]
    assert (report.moved, report.unchanged, report.verified) == (500, 400, 900)
    assert ("verifying", 900, 900) in stages
    assert stages[-1] == ("annotating", 900, 900)


@pytest.fixture
def foreign(opensearch_url, collection):
    """An index that lets in what mem0's own mapping would refuse, as other engines and older releases did."""
    name = f"src-{collection}"
    store = target(opensearch_url, collection, dims=2)

    def make(rows, fields):
        store.client.request("PUT", f"/{name}", body={"mappings": {"properties": fields}})
        lines = [line for place, row in rows.items() for line in ({"index": {"_id": place}}, row)]
        answer = store.client.request("POST", f"/{name}/_bulk", params={"refresh": "true"}, body=encode_lines(lines))
        assert not answer["errors"], answer
        return name

    yield make
    store.client.request("DELETE", f"/{name}", accept=(404,))


PLAIN = {"vector_field": {"type": "float"}, "payload": {"type": "object", "enabled": False}, "id": {"type": "keyword"}}


def test_rows_that_cannot_be_moved_are_named(foreign, opensearch_url, collection):
    good = {"vector_field": [1, 2], "payload": {"data": "好"}}
    rows = {
        "p1": good | {"id": "good"},
        "p2": good | {"id": "zero", "vector_field": [0, 0]},
        "p3": good,
        "p4": good | {"id": "long", "vector_field": [1, 2, 3]},
        "p5": {"id": "none", "payload": {"data": "无"}},
        "p6": good | {"id": "scope", "payload": {"data": "x", "user_id": 7}},
        "p7": good | {"id": "list", "payload": ["x"]},
        "p8": good | {"id": "text", "payload": {"data": {"秘密": 1}}},
        "p9": good | {"id": "both"},
        "p10": good | {"id": "both", "vector_field": [0, 0]},
        "p11": good | {"id": "nothing", "payload": None},
    }
    name = foreign(rows, PLAIN)
    (report,) = migrate_index(name, collection, url=opensearch_url, embedding_model_dims=2)
    assert (report.rows, report.moved, report.verified) == (11, 2, 2)
    assert not report.is_whole
    assert report.failed.keys() == {
        "zero", "_id p3", "long", "none", "scope", "list", "text", "both (_id p10)", "nothing",
    }  # fmt: skip
    assert "all zero" in report.failed["zero"]
    assert report.failed["_id p3"] == "has no memory id"
    assert "has 3 dimensions" in report.failed["long"]
    assert "gave no vector" in report.failed["none"]
    assert "'user_id' is int" in report.failed["scope"]
    assert "is list, expected a mapping" in report.failed["list"]
    assert "秘密" not in str(report.failed)
    done = CliRunner().invoke(
        app, ["migrate", "--from", name, "--collection", collection, "--url", opensearch_url, "--dims", "2"]
    )
    assert done.exit_code == 1
    assert "11 rows read; 0 memories moved, 0 updated, 2 were there" in done.stdout
    assert "2 of 2 memories counted" in done.stdout
    assert "not moved: zero: vector of 'zero' is all zero" in done.stdout


def test_the_older_layout(foreign, opensearch_url, collection):
    fields = {
        "text": {"type": "text"},
        "vector_field": {
            "type": "knn_vector",
            "dimension": 2,
            "method": {"engine": "lucene", "name": "hnsw", "space_type": "cosinesimil"},
        },
        "metadata": {"type": "object", "properties": {"user_id": {"type": "keyword"}}},
    }
    rows = {
        "a": {"text": "我住在臺北", "vector_field": [1, 2], "metadata": {"user_id": "u", "n": 3}},
        "b": {"vector_field": [2, 1], "metadata": {"user_id": "u", "data": "柏林"}},
    }
    knn = {"settings": {"index.knn": True}}
    name = f"src-{collection}"
    client = target(opensearch_url, collection, dims=2).client
    client.request("PUT", f"/{name}", body=knn | {"mappings": {"properties": fields}})
    lines = [line for place, row in rows.items() for line in ({"index": {"_id": place}}, row)]
    client.request("POST", f"/{name}/_bulk", params={"refresh": "true"}, body=encode_lines(lines))
    try:
        (report,) = migrate_index(name, collection, url=opensearch_url)
    finally:
        client.request("DELETE", f"/{name}")
    assert (report.moved, report.is_whole) == (2, True)
    store = target(opensearch_url, collection, dims=2)
    assert store.get("a").payload == {"data": "我住在臺北", "user_id": "u", "n": 3}
    assert store.get("b").payload == {"user_id": "u", "data": "柏林"}
    assert store.keyword_search("台北", filters={"user_id": "u"})[0].id == "a"


def test_what_is_no_source_is_refused(builtin, opensearch_url, collection):
    store = target(opensearch_url, collection)
    store.create_col()
    name = source_of(builtin)
    for source, error, said, options in [
        ("nosuch", IndexStateError, "there is no index 'nosuch'", {}),
        (f"{collection}-v1-000001", IndexStateError, "is a collection of this package already", {}),
        (collection, ConfigError, "can't have the name of the index that is read", {}),
        (name, IndexStateError, "holds vectors of 512 dimensions, not 9", {"embedding_model_dims": 9}),
    ]:
        with pytest.raises(error, match=said):
            migrate_index(source, collection, url=opensearch_url, **options)
    assert store.list() == [[]]


def test_the_command(builtin, opensearch_url, collection):
    builtin.memory.add(TEXTS[0], user_id="lin", infer=False)
    arguments = ["migrate", "--from", source_of(builtin), "--collection", collection, "--url", opensearch_url]
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)[0]
    assert (report["moved"], report["verified"], report["expected"], report["whole"]) == (1, 1, 1, True)
    assert "moving" in done.stderr
    assert "verifying" in done.stderr
