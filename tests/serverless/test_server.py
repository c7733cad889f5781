"""The server that the other tests rely on refuses what it is there to refuse, and carries out the rest."""

from __future__ import annotations

import hashlib
import json
import uuid

import pytest
import requests
from aoss_server import ServerlessServer

NDJSON = {"content-type": "application/x-ndjson"}
REFUSED = [
    # what                 method    path                               status
    ("information", "GET", "/", 404),
    ("nodes", "GET", "/_nodes/plugins", 404),
    ("cluster", "GET", "/_cluster/health", 404),
    ("settings of a cluster", "PUT", "/_cluster/settings", 404),
    ("tasks", "GET", "/_tasks", 404),
    ("statistics", "GET", "/INDEX/_stats/store", 404),
    ("statistics of all", "GET", "/_stats", 404),
    ("a refresh", "POST", "/INDEX/_refresh", 404),
    ("a flush", "POST", "/INDEX/_flush", 404),
    ("a merge", "POST", "/INDEX/_forcemerge", 404),
    ("a write block", "PUT", "/INDEX/_block/write", 404),
    ("a point in time", "POST", "/INDEX/_search/point_in_time?keep_alive=1m", 404),
    ("a scroll", "POST", "/_search/scroll", 404),
    ("deletion by query", "POST", "/INDEX/_delete_by_query", 404),
    ("an update by query", "POST", "/INDEX/_update_by_query", 404),
    ("a copy", "POST", "/_reindex", 404),
    ("an update", "POST", "/INDEX/_update/a", 404),
    ("a stored script", "PUT", "/_scripts/x", 404),
    ("a custom id", "PUT", "/INDEX/_doc/a", 400),
    ("a custom id, created", "PUT", "/INDEX/_create/a", 400),
    ("a write that is shown at once", "POST", "/INDEX/_doc?refresh=true", 400),
    ("a write that waits", "POST", "/INDEX/_doc?refresh=wait_for", 400),
    ("a parameter of a cluster", "POST", "/INDEX/_bulk?require_alias=true", 400),
]


@pytest.fixture(scope="module")
def serverless(opensearch_url):
    server = ServerlessServer(opensearch_url, delay=3600.0)  # whatever is written is shown when the test says so
    yield server
    server.close()


@pytest.fixture(scope="module")
def index(serverless, opensearch_url):
    name = f"test-{uuid.uuid4().hex[:12]}-v1-000001"
    field = {"type": "knn_vector", "dimension": 2, "method": {"name": "hnsw", "engine": "faiss", "space_type": "l2"}}
    body = {"settings": {"index.knn": True}, "mappings": {"properties": {"vector": field, "id": {"type": "keyword"}}}}
    answer = requests.put(f"{serverless.url}/{name}", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    yield name
    requests.delete(f"{opensearch_url}/{name}", timeout=60)


@pytest.mark.parametrize(("method", "path", "status"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_it_refuses(serverless, index, method, path, status):
    answer = requests.request(method, serverless.url + path.replace("INDEX", index), json={"a": 1}, timeout=60)
    assert answer.status_code == status
    assert answer.headers["server"] == "aoss-amazon"
    assert bool(answer.content) == (status == 400)


def test_the_refusal_of_an_id_is_the_one_that_was_reported(serverless, index):
    lines = [{"index": {"_id": "a"}}, {"id": "a"}, {"create": {"_id": "b"}}, {"id": "b"}, {"index": {}}, {"id": "c"}]
    body = "".join(json.dumps(line) + "\n" for line in lines)
    answer = requests.post(
        f"{serverless.url}/{index}/_bulk", data=body, headers={"content-type": "application/x-ndjson"}, timeout=60
    )
    first, second, third = (item for each in answer.json()["items"] for item in each.values())
    assert answer.json()["errors"] is True
    for item in (first, second):
        assert item["status"] == 400
        assert item["error"] == {
            "type": "illegal_argument_exception",
            "reason": "Document ID is not supported in create/index operation request",
        }
    assert third["status"] == 201


@pytest.mark.parametrize(
    "body",
    [
        {"query": {"script_score": {"query": {"match_all": {}}, "script": {"source": "1"}}}},
        {"query": {"match_all": {}}, "script_fields": {"a": {"script": {"source": "1"}}}},
        {"query": {"match_all": {}}, "pit": {"id": "x"}},
    ],
)
def test_it_refuses_in_a_search(serverless, index, body):
    assert requests.post(f"{serverless.url}/{index}/_search", json=body, timeout=60).status_code == 400
    lines = "{}\n" + json.dumps(body) + "\n"
    assert requests.post(f"{serverless.url}/{index}/_msearch", data=lines, timeout=60).status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        {"settings": {"index.number_of_shards": 1}},
        {"settings": {"index": {"number_of_replicas": 0}}},
        {"settings": {"refresh_interval": "1s"}},
        {"mappings": {"properties": {"v": {"type": "knn_vector", "method": {"name": "hnsw", "engine": "lucene"}}}}},
        {"settings": {"analysis": {"tokenizer": {"words": {"type": "ik_max_word"}}}}},
    ],
)
def test_it_refuses_in_an_index(serverless, body):
    assert requests.put(f"{serverless.url}/test-refused-v1-000001", json=body, timeout=60).status_code == 400


def test_a_write_is_shown_late_by_searches_and_by_id(serverless, index):
    def seen():
        by_id = requests.get(f"{serverless.url}/{index}/_doc/{doc}", timeout=60).status_code
        return by_id, requests.get(f"{serverless.url}/{index}/_count", timeout=60).json()["count"]

    serverless.show(index)
    doc = requests.post(f"{serverless.url}/{index}/_doc", json={"id": "a"}, timeout=60).json()["_id"]
    before = seen()
    assert before[0] == 404
    serverless.show(index)
    assert seen() == (200, before[1] + 1)


def test_the_engine_is_faiss_for_the_store(serverless, opensearch_url, index):
    path = f"/{index}/_mapping"
    mine, nodes = (requests.get(url + path, timeout=60).json()[index] for url in (serverless.url, opensearch_url))
    assert mine["mappings"]["properties"]["vector"]["method"]["engine"] == "faiss"
    assert nodes["mappings"]["properties"]["vector"]["method"]["engine"] == "lucene"


def test_a_signature_has_to_be_for_the_service_and_to_cover_the_body(serverless, index):
    serverless.knobs.signed = True
    body = b'{"query":{"match_all":{}}}'
    scope = "AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/{}/aws4_request, SignedHeaders=host, Signature=0"
    digest = hashlib.sha256(body).hexdigest()

    def status_of(headers):
        headers = {"content-type": "application/json"} | headers
        return requests.post(f"{serverless.url}/{index}/_search", data=body, headers=headers, timeout=60).status_code

    assert status_of({}) == 401
    assert status_of({"authorization": scope.format("es"), "x-amz-content-sha256": digest}) == 403
    assert status_of({"authorization": scope.format("aoss")}) == 403
    assert status_of({"authorization": scope.format("aoss"), "x-amz-content-sha256": "0" * 64}) == 403
    assert status_of({"authorization": scope.format("aoss"), "x-amz-content-sha256": digest}) == 200
    serverless.knobs.signed = False


def test_back_pressure_lost_answers_and_cold_starts_can_be_had(serverless, index):
    serverless.knobs.throttle = 1
    url = f"{serverless.url}/{index}/_doc"
    assert requests.post(url, json={"id": "a"}, timeout=60).status_code == 429
    serverless.knobs.lose_answers = 1
    with pytest.raises(requests.ConnectionError):
        requests.post(url, json={"id": "a"}, timeout=60)
    serverless.knobs.cold = 0.5
    with pytest.raises(requests.Timeout):
        requests.get(f"{serverless.url}/{index}/_count", timeout=0.1)
    assert requests.post(url, json={"id": "a"}, timeout=60).status_code == 201
