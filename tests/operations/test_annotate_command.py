"""`mem-opensearch annotate`: memories that were stored without notes get them."""

from __future__ import annotations

import json

import pytest
from load import vector_of
from typer.testing import CliRunner

from mem_opensearch import EntityStore
from mem_opensearch.cli import app
from mem_opensearch.transfer import export_collection, import_collection

TURNS = 300  # more than one page


@pytest.fixture
def run(opensearch_url):
    return lambda *arguments: CliRunner().invoke(app, ["annotate", "--url", opensearch_url, *arguments])


def places(store):
    store.client.request("POST", f"/{store.collection_name}/_refresh")
    body = {"size": 1000, "_source": ["conversation", "seq"]}
    hits = store.client.request("POST", f"/{store.collection_name}/_search", body=body)["hits"]["hits"]
    return {hit["_id"]: (hit["_source"].get("conversation"), hit["_source"].get("seq")) for hit in hits}


def test_one_talk_of_several_pages(make_store, collection, run):
    """The collection says how long its vectors are; doing it again changes nothing."""
    store = make_store(annotate=False)
    payloads = [
        {"data": f"第{n}句", "user_id": "u1", "created_at": f"2026-08-01T{n // 60:02}:{n % 60:02}:00Z"}
        for n in range(TURNS)
    ]
    store.insert([vector_of(n) for n in range(TURNS)], payloads, [f"m{n}" for n in range(TURNS)])
    assert set(places(store).values()) == {(None, None)}
    first = run("--collection", collection)
    assert (first.exit_code, first.stdout) == (0, f"{collection}: {TURNS} memories annotated\n"), first.stderr
    found = places(store)
    assert {row_id: seq for row_id, (_, seq) in found.items()} == {f"m{n}": n for n in range(TURNS)}
    assert len({conversation for conversation, _ in found.values()}) == 1
    again = run("--collection", collection, "--json")
    assert json.loads(again.stdout) == {"collection": collection, "memories": TURNS}
    assert places(store) == found


def test_a_second_run_keeps_the_order_of_facts_with_one_time(make_store, collection, run):
    """Even where their ids sort the other way, and a page ends between them."""
    store = make_store()
    ids = [f"m{TURNS - n:03}" for n in range(TURNS)]
    payload = {"data": "事實", "user_id": "u1", "created_at": "2026-08-01T10:00:00Z"}
    store.insert([vector_of(n) for n in range(TURNS)], [payload] * TURNS, ids)
    found = places(store)
    assert [found[row_id][1] for row_id in ids] == list(range(TURNS))
    assert run("--collection", collection).exit_code == 0
    assert places(store) == found


def test_what_can_not_be_annotated_is_said(opensearch_url, collection, run):
    missing = run("--collection", collection)
    assert missing.exit_code == 2
    assert f"there is no collection '{collection}' to annotate" in missing.stderr
    entities = EntityStore(url=opensearch_url, collection_name=f"{collection}_entities", embedding_model_dims=4)
    entities.create_col()
    entities.close()
    refused = run("--collection", f"{collection}_entities")
    assert refused.exit_code == 2
    assert "holds entities, and only memories are annotated" in refused.stderr


def test_an_import_annotates_what_it_has_stored(opensearch_url, make_store, collection, tmp_path):
    """Lines are in the order of their ids, which here is against that of time, and over more than one chunk."""
    turns = 700
    store = make_store()
    payloads = [
        {"data": f"第{n}句", "user_id": "u1", "created_at": f"2026-08-01T{n // 60:02}:{n % 60:02}:00Z"}
        for n in range(turns)
    ]
    ids = [f"m{turns - n:03}" for n in range(turns)]
    store.insert([vector_of(n) for n in range(turns)], payloads, ids)
    found = places(store)
    file = str(tmp_path / "rows.jsonl")
    export_collection(store, file)
    store.delete_col()
    report = import_collection(file, url=opensearch_url, collection_name=collection)
    assert report.rows == turns
    assert {row_id: seq for row_id, (_, seq) in places(store).items()} == {
        row_id: seq for row_id, (_, seq) in found.items()
    }
    import_collection(file, url=opensearch_url, collection_name=collection, annotate=False)
    assert set(places(store).values()) == {(None, None)}
