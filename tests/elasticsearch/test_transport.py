"""What goes over the wire to Elasticsearch, and what is said when the server is another; with real sockets.

No such servers can be had here: these only say that they are one.
"""

from __future__ import annotations

import base64
import logging
import re
import sys
import warnings
from pathlib import Path

import elasticsearch
import pytest
from werkzeug import Response

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.client import open_client
from mem_opensearch.config import StoreConfig
from mem_opensearch.errors import BackendUnavailable, ConfigError, IndexStateError, MissingExtraError

MAJOR = int(elasticsearch.__versionstr__.partition(".")[0])
PRODUCT = {"X-Elastic-Product": "Elasticsearch"}
pytestmark = pytest.mark.unit


def serve_about(httpserver, number, headers=PRODUCT, **more):
    httpserver.expect_request("/", method="GET").respond_with_json(
        {"version": {"number": number, **more}}, headers=headers
    )


@pytest.fixture
def server(httpserver):
    """A server of the client's own major that answers every path with an empty object."""
    serve_about(httpserver, f"{MAJOR}.19.0")
    httpserver.expect_request("/c/_search").respond_with_json({"hits": {"hits": []}}, headers=PRODUCT)
    httpserver.expect_request("/c/_bulk").respond_with_json({"items": []}, headers=PRODUCT)
    return httpserver


@pytest.fixture
def client_of(httpserver):
    made = []

    def make(**options):
        options = {"engine": "elasticsearch", "url": httpserver.url_for(""), "max_tries": 2, **options}
        config = StoreConfig.build(**options)
        made.append(open_client(config, config.urls))
        return made[-1]

    yield make
    for client in made:
        client.close()


def sent(httpserver, path):
    return [request for request, _ in httpserver.log if request.path == path]


def test_media_types_are_those_of_the_clients_major(server, client_of):
    client = client_of()
    client.request("POST", "/c/_search", body={"size": 0})
    client.request("POST", "/c/_bulk", body=b'{"index":{}}\n{}\n')
    search, bulk = sent(server, "/c/_search")[0], sent(server, "/c/_bulk")[0]
    assert search.headers["accept"] == f"application/vnd.elasticsearch+json; compatible-with={MAJOR}"
    assert search.headers["content-type"] == f"application/vnd.elasticsearch+json; compatible-with={MAJOR}"
    assert bulk.headers["content-type"] == f"application/vnd.elasticsearch+x-ndjson; compatible-with={MAJOR}"
    assert bulk.get_data() == b'{"index":{}}\n{}\n'


def test_the_server_is_asked_once_and_in_the_plain_media_type(server, client_of):
    client = client_of()
    for _ in range(3):
        client.request("POST", "/c/_search", body={})
    (about,) = sent(server, "/")
    assert about.headers["accept"] == "application/json"
    assert client.dialect.version == (MAJOR, 19, 0)


@pytest.mark.parametrize(
    ("options", "header"),
    [
        ({"user": "u", "password": "p"}, "Basic " + base64.b64encode(b"u:p").decode()),
        ({"api_key": "a2V5"}, "ApiKey a2V5"),
        ({"user": "使用者", "password": "密"}, "Basic " + base64.b64encode("使用者:密".encode()).decode()),
        ({"bearer_token": "dG9rZW4"}, "Bearer dG9rZW4"),
        ({"http_auth": ["u", "p"]}, "Basic " + base64.b64encode(b"u:p").decode()),
        ({}, None),
    ],
)
def test_credentials(server, client_of, options, header):
    client_of(**options).request("POST", "/c/_search", body={})
    assert [request.headers.get("authorization") for request, _ in server.log] == [header, header]


def test_params_and_paths_are_only_data(server, client_of):
    server.expect_request("/c/_doc/a/b?c").respond_with_json({"found": True}, headers=PRODUCT)
    answer = client_of().request("GET", "/c/_doc/a%2Fb%3Fc", params={"_source_includes": "a&b", "n": 5})
    assert answer == {"found": True}
    assert sent(server, "/c/_doc/a/b?c")[0].args.to_dict() == {"_source_includes": "a&b", "n": "5"}


def test_bodies_are_compressed_when_asked(server, client_of):
    client_of(http_compress=True).request("POST", "/c/_search", body={"size": 0})
    assert sent(server, "/c/_search")[0].headers["content-encoding"] == "gzip"


@pytest.mark.parametrize("ahead", [-1, 2])
def test_a_server_of_another_major_is_told_at_once_with_what_to_install(httpserver, client_of, ahead):
    serve_about(httpserver, f"{MAJOR + ahead}.15.3")
    least = "8.15" if MAJOR + ahead == 8 else MAJOR + ahead
    with pytest.raises(ConfigError) as caught:
        client_of().request("POST", "/c/_search", body={})
    said = str(caught.value)
    assert f"is Elasticsearch {MAJOR + ahead}.15.3 and the installed client" in said
    assert f"'elasticsearch' is {elasticsearch.__versionstr__}, which servers of major {MAJOR + ahead} refuse" in said
    assert f"run: pip install 'elasticsearch>={least},<{MAJOR + ahead + 1}'" in said
    assert sent(httpserver, "/c/_search") == []  # nothing else was tried


def test_a_server_of_the_next_major_understands_this_client(httpserver, client_of):
    serve_about(httpserver, f"{MAJOR + 1}.0.1")
    httpserver.expect_request("/c/_search").respond_with_json({"hits": {}}, headers=PRODUCT)
    assert client_of().request("POST", "/c/_search", body={}) == {"hits": {}}


def test_what_is_no_elasticsearch_is_refused(httpserver, client_of):
    serve_about(httpserver, "3.6.0", headers={}, distribution="opensearch")
    with pytest.raises(ConfigError, match="does not say that it is Elasticsearch 8 or later; set engine=auto"):
        client_of().request("POST", "/c/_search", body={})


def test_an_elasticsearch_that_is_too_old_is_refused_by_name(httpserver):
    serve_about(httpserver, f"{MAJOR}.0.0")
    httpserver.expect_request("/mem0/_mapping").respond_with_json({"error": "none"}, status=404)
    store = OpenSearchVectorStore(engine="elasticsearch", url=httpserver.url_for(""), embedding_model_dims=2)
    if MAJOR == 8:
        with pytest.raises(ConfigError, match="elasticsearch 8.0.0; this release works with OpenSearch 2.19 or"):
            store.create_col()


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_server_that_does_not_say_what_it_is_is_taken_at_the_configurations_word(httpserver, client_of, status):
    httpserver.expect_request("/", method="GET").respond_with_json({"error": "hidden"}, status=status)
    httpserver.expect_request("/c/_search").respond_with_json({"hits": {}})
    assert client_of().request("POST", "/c/_search", body={}) == {"hits": {}}


def test_the_question_is_asked_again_after_a_server_in_trouble(httpserver, client_of):
    httpserver.expect_ordered_request("/").respond_with_json({"error": "starting"}, status=503)
    httpserver.expect_ordered_request("/c/_search").respond_with_json({"hits": {}})
    httpserver.expect_ordered_request("/").respond_with_json(
        {"version": {"number": f"{MAJOR - 1}.17.0"}}, headers=PRODUCT
    )
    client = client_of()
    assert client.request("POST", "/c/_search", body={}) == {"hits": {}}
    with pytest.raises(ConfigError, match="run: pip install"):
        client.request("POST", "/c/_search", body={})


def test_another_host_takes_over(server, client_of):
    client = client_of(url=["http://127.0.0.1:9", server.url_for("")], max_tries=6)
    assert sorted(client.hosts) == sorted(["http://127.0.0.1:9", server.url_for("").rstrip("/")])
    for _ in range(5):
        client.request("POST", "/c/_search", body={})
    assert len(sent(server, "/c/_search")) == 5


def test_a_server_in_trouble_is_asked_again(server, client_of):
    answers = iter([Response("{}", status=503), Response("{}", status=429), Response('{"hits":{}}')])
    server.expect_request("/d/_search").respond_with_handler(lambda _: next(answers))
    assert client_of(max_tries=3).request("POST", "/d/_search", body={}) == {"hits": {}}


def test_a_missing_index_and_a_missing_server(server, client_of):
    error = {"error": {"type": "index_not_found_exception", "reason": "no such index [c]"}, "status": 404}
    server.expect_request("/e/_search").respond_with_json(error, status=404, headers=PRODUCT)
    with pytest.raises(IndexStateError, match="no such index"):
        client_of().request("POST", "/e/_search", body={})
    with pytest.raises(BackendUnavailable, match="got no answer from http://127.0.0.1:9 in 2 tries"):
        client_of(url="http://127.0.0.1:9").request("POST", "/e/_search", body={})


def test_a_slow_server_is_a_time_out(server, client_of):
    import time

    def slow(_request):
        time.sleep(1.5)
        return Response("{}")

    server.expect_request("/slow").respond_with_handler(slow)
    with pytest.raises(BackendUnavailable, match="time-out"):
        client_of(max_tries=1).request("GET", "/slow", timeout=0.2)


def test_head_says_whether_it_exists(server, client_of):
    server.expect_request("/there", method="HEAD").respond_with_data("", headers=PRODUCT)
    server.expect_request("/gone", method="HEAD").respond_with_data("", status=404, headers=PRODUCT)
    client = client_of()
    assert [client.request("HEAD", path)["exists"] for path in ("/there", "/gone")] == [True, False]


def test_nothing_of_the_body_is_logged(server, client_of, caplog):
    caplog.set_level(logging.DEBUG)
    elastic_transport = logging.getLogger("elastic_transport.node")
    elastic_transport.addHandler(caplog.handler)
    try:
        client_of().request("POST", "/c/_search", body={"query": "绝密文字"})
    finally:
        elastic_transport.removeHandler(caplog.handler)
    assert "绝密" not in caplog.text
    assert "size" not in caplog.text


def test_warnings_of_the_server_are_not_turned_into_pythons(server, client_of):
    server.expect_request("/w").respond_with_json(
        {}, headers=PRODUCT | {"Warning": '299 Elasticsearch "a deprecation"'}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert client_of().request("GET", "/w") == {}


class TestGivenClient:
    """A ready `elasticsearch.Elasticsearch` of the caller's."""

    def test_it_is_used_with_its_credentials_and_left_open(self, server):
        given = elasticsearch.Elasticsearch(server.url_for(""), basic_auth=("u", "p"))
        for engine in ("auto", "elasticsearch"):
            client = open_client(StoreConfig.build(client=given, engine=engine), [])
            client.request("POST", "/c/_search", body={})
            client.close()
        assert {request.headers["authorization"] for request, _ in server.log} == {"Basic dTpw"}
        assert given.info()["version"]["number"] == f"{MAJOR}.19.0"
        given.close()

    def test_another_kind_of_client_is_refused(self):
        import opensearchpy

        config = StoreConfig.build(client=opensearchpy.OpenSearch("http://127.0.0.1:9"), engine="elasticsearch")
        with pytest.raises(ConfigError, match="give an elasticsearch.Elasticsearch, or set engine=auto"):
            open_client(config, [])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"connection_class": "RequestsHttpConnection"}, "'connection_class' is opensearch-py's"),
        ({"aws_region": "eu-central-1"}, "'aws_region' signs requests to Amazon OpenSearch"),
        ({"http_auth": lambda: None}, "'http_auth' is a function, which signs requests of opensearch-py"),
    ],
)
def test_options_of_the_other_client_are_refused(client_of, options, said):
    with pytest.raises(ConfigError, match=said):
        client_of(**options)


def test_the_example_of_the_page_makes_a_store():
    page = (Path(__file__).parents[2] / "docs" / "elasticsearch.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    made = {}
    exec(example, made)
    hosts = made["store"].client.hosts
    assert sorted(hosts) == ["https://es1:9200", "https://es2:9200"]


def test_without_the_package_the_extra_is_named(client_of, monkeypatch):
    monkeypatch.setitem(sys.modules, "elasticsearch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'mem-opensearch\[elasticsearch\]'"):
        client_of()


def test_auto_needs_no_such_package(httpserver, monkeypatch):
    """Both kinds of servers take plain JSON, which opensearch-py speaks."""
    monkeypatch.setitem(sys.modules, "elasticsearch", None)
    serve_about(httpserver, "9.2.0")
    config = StoreConfig.build(url=httpserver.url_for(""), engine="auto")
    with open_client(config, config.urls) as client:
        assert client.dialect.name == "elasticsearch"
