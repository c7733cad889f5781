"""The commands and mem0 on a server of the serverless shape."""

from __future__ import annotations

import json
import logging
import os

import pytest
from opensearchpy import RequestsAWSV4SignerAuth
from typer.testing import CliRunner

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.cli import app
from mem_opensearch.errors import AuthenticationError, ConfigError, PermissionDenied
from mem_opensearch.store.entity_collection import EntityCollection
from mem_opensearch.transfer import exporting

EAST, NORTH = [1, 0, 0, 0], [0, 1, 0, 0]


@pytest.fixture
def store(serverless, collection):
    store = OpenSearchVectorStore(url=serverless.url, collection_name=collection, embedding_model_dims=4)
    yield store
    store.close()


@pytest.fixture
def run(serverless):
    def invoke(command, *arguments):
        return CliRunner().invoke(app, [command, "--url", serverless.url, *arguments])

    return invoke


def test_init_makes_and_checks_both_indices(run, serverless, collection):
    options = ("--collection", collection, "--dims", "4", "--json")
    made = run("init", *options)
    assert made.exit_code == 0, made.stderr
    memories, entities = json.loads(made.stdout)
    assert (memories["state"], memories["engine"], entities["state"]) == ("made", "faiss", "made")
    assert memories["server"]["distribution"] == "aoss"
    assert "ik" not in memories["server"]["analyzers"]
    checked = run("init", *options, "--check")
    assert (checked.exit_code, json.loads(checked.stdout)[0]["state"]) == (0, "ok"), checked.stdout
    assert [report["state"] for report in json.loads(run("init", *options).stdout)] == ["ok", "ok"]
    assert serverless.refusals() == []


def test_what_init_can_not_do_there_it_says(run, collection, store):
    store.create_col()
    rolled = run("init", "--collection", collection, "--roll")
    assert rolled.exit_code == 2
    assert "copies no index" in rolled.stderr


def test_another_engine_is_refused(serverless, collection):
    options = {"url": serverless.url, "collection_name": collection, "embedding_model_dims": 4}
    with pytest.raises(ConfigError, match=r"none of aoss's\. It has: faiss"):
        OpenSearchVectorStore(**options, knn_engine="lucene").create_col()
    with pytest.raises(ConfigError, match="analyzer 'ik' is not installed"):
        OpenSearchVectorStore(**options, analyzer="ik").create_col()


@pytest.fixture
def short_pages(monkeypatch):
    monkeypatch.setattr(exporting, "PAGE_MOST", 7)


@pytest.mark.usefixtures("short_pages")
def test_export_and_import_go_there_and_back(run, serverless, collection, store, tmp_path):
    rows = [(f"m{n:02}", {"data": f"第{n}条", "n": n}) for n in range(30)]
    store.insert([EAST if n % 2 else NORTH for n in range(30)], [each[1] for each in rows], [each[0] for each in rows])
    store.list()
    for n in (6, 7, 13):  # where pages end
        _plant(serverless, collection, f"m{n:02}")
    file = tmp_path / "rows.jsonl"
    exported = run("export", "--collection", collection, str(file))
    assert exported.exit_code == 0, exported.stderr
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(line["id"], line["payload"]) for line in lines] == rows
    assert lines[0]["vector"] == pytest.approx(NORTH)
    store.reset()
    imported = run("import", "--collection", collection, str(file))
    assert imported.exit_code == 0, imported.stderr
    assert sorted((hit.id, hit.payload["n"]) for hit in store.list()[0]) == [(row_id, p["n"]) for row_id, p in rows]
    assert serverless.refusals() == []


def _plant(serverless, collection, row_id):
    import requests

    url = f"{serverless.upstream}/{collection}/_doc?refresh=true"
    old = {"id": row_id, "payload": {"data": "旧"}, "text": "旧", "vector": EAST, "written_at": 5}
    requests.post(url, json=old, timeout=60).raise_for_status()


def test_migrate_says_what_to_do_instead(run, collection):
    refused = run("migrate", "--from", "mem0", "--collection", collection)
    assert refused.exit_code != 0
    assert "takes no ids" in refused.stderr


def test_links_of_entities_are_refused_in_words(serverless, collection):
    options = {"url": serverless.url, "collection_name": f"{collection}_entities", "embedding_model_dims": 4}
    entities = EntityCollection(**options)
    with pytest.raises(ConfigError, match="links would be lost; entities need a full cluster"):
        entities.insert([EAST], [{"data": "王芳", "user_id": "u1", "linked_memory_ids": ["m1"]}])


# -- signed requests


class _Credentials:
    """What botocore's chain gives."""

    access_key, secret_key, token = "AKIDEXAMPLE", "secret", None

    def get_frozen_credentials(self):
        return self


def test_signed_requests_for_the_right_service_are_taken(serverless, collection):
    serverless.knobs.signed = True

    def store_of(**options):
        return OpenSearchVectorStore(
            url=serverless.url, collection_name=collection, embedding_model_dims=4, engine="aoss", **options
        )

    with pytest.raises(AuthenticationError):
        store_of().insert([EAST], [{"data": "x"}], ["m"])
    other_service = RequestsAWSV4SignerAuth(_Credentials(), "eu-west-1", "es")
    with pytest.raises(PermissionDenied):
        store_of(http_auth=other_service).insert([EAST], [{"data": "x"}], ["m"])
    store = store_of(http_auth=RequestsAWSV4SignerAuth(_Credentials(), "eu-west-1", "aoss"))
    store.insert([EAST], [{"data": "x"}], ["m"])
    assert [hit.id for hit in store.search("q", EAST)] == ["m"]
    store.update("m", payload={"data": "y"})
    assert store.delete("m") is True
    serverless.knobs.signed = False


# -- mem0


@pytest.fixture
def memory(serverless, collection, monkeypatch, tmp_path):
    monkeypatch.setenv("MEM0_DIR", str(tmp_path))
    os.environ.setdefault("MEM0_TELEMETRY", "False")
    from mem0 import Memory

    import mem_opensearch.mem0 as bridge

    bridge.register()
    memory = Memory.from_config(
        {
            "vector_store": {
                "provider": "opensearch",
                "config": {"url": serverless.url, "collection_name": collection, "embedding_model_dims": 512},
            },
            "embedder": {"provider": "mem_opensearch", "config": {"model": "use", "embedding_dims": 512}},
            "llm": {"provider": "vllm", "config": {"vllm_base_url": "http://127.0.0.1:9/v1"}},
            "history_db_path": ":memory:",
        }
    )
    yield memory
    memory.close()
    bridge.unregister()


def test_mem0_adds_searches_updates_and_deletes(memory, serverless, caplog):
    """Two reports at once: inserts ended in 404 for want of a refresh, and updates and deletes were lost in silence."""
    caplog.set_level(logging.WARNING, "mem_opensearch.mem0")
    texts = ["我女儿对花生过敏", "订单 PX-441 的包裹寄到了台北办公室", "她每个星期六早上去河边骑自行车"]
    ids = [memory.add(text, user_id="lin", infer=False)["results"][0]["id"] for text in texts]
    memory.add("我住在柏林", user_id="chen", infer=False)
    found = memory.search("px441 寄到哪里", filters={"user_id": "lin"})["results"]
    assert found[0]["id"] == ids[1]
    memory.update(ids[0], "我女儿对芒果过敏")
    assert memory.get(ids[0])["memory"] == "我女儿对芒果过敏"
    assert memory.search("芒果过敏", filters={"user_id": "lin"})["results"][0]["id"] == ids[0]
    memory.delete(ids[2])
    assert {item["id"] for item in memory.get_all(filters={"user_id": "lin"})["results"]} == set(ids[:2])
    memory.delete_all(user_id="lin")
    assert memory.get_all(filters={"user_id": "lin"})["results"] == []
    assert [item["memory"] for item in memory.get_all(filters={"user_id": "chen"})["results"]] == ["我住在柏林"]
    assert serverless.refusals() == []
    said = [record.getMessage() for record in caplog.records if "linked" in record.getMessage()]
    assert len(said) == 1  # not one for each memory
    assert said[0].endswith("can't keep links")


def test_delete_all_of_mem0_takes_more_rows_than_it_lists_at_once(memory, serverless, monkeypatch):
    """It lists 1,000, deletes them one by one, and stops when it sees the same again."""
    rng_rows = 1030
    store = memory.vector_store
    vectors = [[float(n % 7 + 1), *([0.1] * 511)] for n in range(rng_rows)]
    store.insert(vectors, [{"data": "x", "user_id": "lin"}] * rng_rows)
    memory.delete_all(user_id="lin")
    assert store.count({"user_id": "lin"}) == 0
    assert serverless.refusals() == []
