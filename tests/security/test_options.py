"""Every option has an effect, seen from the server's side; one that has none beside the others is refused."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import opensearchpy
import pytest
import test_credentials
import test_sigv4
import test_tls
from certificates import server_context, valid
from gateway import as_json

from mem_opensearch.config import StoreConfig
from mem_opensearch.errors import BackendUnavailable, ConfigError, InvalidInputError

VECTOR = [1.0, 0.0, 0.0, 0.0]
CONNECTIONS = ["Urllib3HttpConnection", "RequestsHttpConnection"]


def test_url(open_gateway, store_at):
    first, second = open_gateway(), open_gateway()
    client = store_at([first.url, second.url + "/below/"]).client
    for _ in range(8):
        client.request("GET", "/x")
    assert {request.target for request in first.requests} == {"/x"}
    assert {request.target for request in second.requests} == {"/below/x"}


def test_host_and_port(open_gateway, store_at):
    gateway = open_gateway()
    store_at(None, host="127.0.0.1", port=gateway.port).client.request("GET", "/")
    assert gateway.requests[0].headers["host"] == f"127.0.0.1:{gateway.port}"


def test_use_ssl(open_gateway, store_at, authority):
    gateway = open_gateway(context=server_context(*valid(authority)))
    options = {"host": "localhost", "port": gateway.port, "ca_certs": authority.file}
    store_at(None, use_ssl=True, **options).client.request("GET", "/")
    assert len(gateway.requests) == 1
    with pytest.raises(ConfigError, match="'ca_certs' would have no effect over http"):
        store_at(None, **options)


@pytest.mark.parametrize("connection_class", CONNECTIONS)
def test_allow_insecure(connection_class, open_gateway, store_at, monkeypatch):
    gateway = open_gateway()
    look_up = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *more: look_up("127.0.0.1" if host == "search.example" else host, *more)
    )
    options = {"api_key": "k", "connection_class": connection_class}
    url = f"http://search.example:{gateway.port}"
    with pytest.raises(ConfigError, match=f"unencrypted to search.example:{gateway.port}"):
        store_at(url, **options)
    assert gateway.requests == []
    store_at(url, allow_insecure=True, **options).client.request("GET", "/")
    assert gateway.requests[0].headers["authorization"] == "ApiKey k"


@pytest.mark.parametrize("connection_class", CONNECTIONS)
def test_timeout(connection_class, open_gateway, store_at):
    over = threading.Event()

    def wait(_):
        over.wait(60)

    gateway = open_gateway(check=wait)
    try:
        with pytest.raises(BackendUnavailable) as caught:
            store_at(gateway.url, timeout=0.2, max_tries=2, connection_class=connection_class).search("a", VECTOR)
    finally:
        over.set()
    assert caught.value.tries == ["time-out", "time-out"]


@pytest.mark.parametrize("tries", [1, 3])
def test_max_tries(tries, open_gateway, store_at):
    gateway = open_gateway(check=lambda _: as_json({}, 503))
    with pytest.raises(BackendUnavailable):
        store_at(gateway.url, max_tries=tries).search("a", VECTOR)
    assert len(gateway.requests) == tries


def test_max_retry_seconds(open_gateway, store_at):
    gateway = open_gateway(check=lambda _: as_json({}, 503))
    with pytest.raises(BackendUnavailable):
        store_at(gateway.url, max_tries=5, max_retry_seconds=0).search("a", VECTOR)
    assert len(gateway.requests) == 1


@pytest.mark.parametrize("connection_class", CONNECTIONS)
@pytest.mark.parametrize("size", [1, 3])
def test_pool_maxsize(size, connection_class, open_gateway, store_at):
    busy, most, lock = set(), [], threading.Lock()

    def note(request):
        with lock:
            busy.add(request.connection)
            most.append(len(busy))
        threading.Event().wait(0.01)  # so that requests overlap
        with lock:
            busy.discard(request.connection)

    gateway = open_gateway(check=note)
    client = store_at(gateway.url, pool_maxsize=size, connection_class=connection_class).client
    with ThreadPoolExecutor(16) as threads:
        assert len(list(threads.map(lambda _: client.request("GET", "/"), range(64)))) == 64
    assert gateway.connections == max(most) == size


@pytest.mark.parametrize("connection_class", CONNECTIONS)
def test_http_compress(connection_class, open_gateway, store_at):
    gateway = open_gateway()
    for compress in (True, False):
        store = store_at(gateway.url, http_compress=compress, connection_class=connection_class)
        store.client.request("POST", "/", body={"a": 1})
    compressed, plain = gateway.requests
    assert compressed.body[:2] == b"\x1f\x8b"
    assert compressed.headers["content-encoding"] == "gzip"
    assert "gzip" in compressed.headers["accept-encoding"]
    assert plain.body == b'{"a":1}'
    assert "gzip" not in plain.headers.get("accept-encoding", "")


class Marked(opensearchpy.Urllib3HttpConnection):
    """A connection class of the caller's own."""

    def perform_request(self, *arguments, **options):
        return super().perform_request(*arguments, headers={"x-marked": "1"}, **options)


def test_connection_class(open_gateway, store_at, caplog):
    gateway = open_gateway()
    caplog.set_level("DEBUG")
    store_at(gateway.url, connection_class=Marked).client.request("POST", "/", body={"text": "geheim"})
    assert gateway.requests[0].headers["x-marked"] == "1"
    assert "geheim" not in caplog.text
    for name in CONNECTIONS:
        raw = store_at(gateway.url, connection_class=name).client.transport.raw
        (connection,) = raw.transport.connection_pool.connections
        assert isinstance(connection, getattr(opensearchpy, name))
    with pytest.raises(ConfigError, match="connection_class 'Nonsense' is unknown"):
        _ = store_at(gateway.url, connection_class="Nonsense").client


def test_client(open_gateway, store_at):
    gateway = open_gateway()
    store_at(None, client=opensearchpy.OpenSearch([gateway.url], headers={"x-own": "1"})).client.request("GET", "/")
    assert gateway.requests[0].headers["x-own"] == "1"


def made(store):
    """Return mapping and settings of the store's index, as the server has them."""
    store.create_col()
    ((index, mapping),) = store.client.request("GET", f"/{store.collection_name}/_mapping").items()
    return mapping["mappings"], store.client.request("GET", f"/{index}/_settings")[index]["settings"]["index"]


def test_collection_name(opensearch_url, store_at, collection):
    store = store_at(opensearch_url)
    store.create_col()
    assert collection in store.list_cols()


def test_embedding_model_dims(opensearch_url, store_at):
    mapping, _ = made(store_at(opensearch_url, embedding_model_dims=7))
    assert mapping["properties"]["vector"]["dimension"] == 7


def test_embedding_model(opensearch_url, store_at):
    mapping, _ = made(store_at(opensearch_url, embedding_model="e5"))
    assert "'e5'" in repr(mapping["_meta"])


def test_kind(opensearch_url, store_at):
    mapping, _ = made(store_at(opensearch_url, kind="entities"))
    assert "'entities'" in repr(mapping["_meta"])


def test_analyzer(opensearch_url, store_at):
    mapping, _ = made(store_at(opensearch_url, analyzer="jieba"))
    assert "words" in mapping["properties"]


def test_dictionary(opensearch_url, store_at):
    store = store_at(opensearch_url, analyzer="jieba", dictionary=["裴若谷山庄"])
    store.insert([VECTOR], [{"data": "住在裴若谷山庄"}], ["1"])
    row = store.client.request("GET", f"/{store.collection_name}/_doc/1")["_source"]
    assert "裴若谷山庄" in row["words"].split()


def test_knn_engine(opensearch_url, store_at):
    mapping, _ = made(store_at(opensearch_url, knn_engine="lucene"))
    assert mapping["properties"]["vector"]["method"]["engine"] == "lucene"
    with pytest.raises(ConfigError, match="faiss"):  # this node has no native library
        store_at(opensearch_url, knn_engine="faiss", collection_name="never-made").create_col()


def test_shards_and_replicas(opensearch_url, store_at):
    _, settings = made(store_at(opensearch_url, shards=3, replicas=2))
    assert (settings["number_of_shards"], settings["number_of_replicas"]) == ("3", "2")


@pytest.mark.parametrize(
    ("options", "sent", "shown"),
    [
        ({}, "false", 1),
        ({"refresh": "on_read"}, "false", 1),
        ({"refresh": "wait_for"}, "wait_for", 0),
        ({"refresh": True}, "true", 0),
        ({"refresh": "false"}, "false", 0),
        ({"auto_refresh": True}, "true", 0),
        ({"auto_refresh": False}, "false", 0),
    ],
)
def test_refresh(options, sent, shown, opensearch_url, open_gateway, store_at):
    gateway = open_gateway(opensearch_url)
    store = store_at(gateway.url, **options)
    store.insert([VECTOR], [{"data": "a"}], ["1"])
    store.search("a", VECTOR)
    (bulk,) = [request.target for request in gateway.requests if "_bulk" in request.target]
    assert f"refresh={sent}" in bulk
    assert len([request for request in gateway.requests if request.target.endswith("/_refresh")]) == shown


@pytest.mark.parametrize(
    ("options", "requests"), [({"bulk_max_items": 2}, 3), ({"bulk_max_bytes": 10_000}, 5), ({}, 1)]
)
def test_bulk_limits(options, requests, opensearch_url, open_gateway, store_at):
    gateway = open_gateway(opensearch_url)
    store_at(gateway.url, **options).insert([VECTOR] * 5, [{"data": "a", "pad": "x" * 6000} for _ in range(5)])
    assert len([request for request in gateway.requests if "_bulk" in request.target]) == requests


def test_engine(opensearch_url, open_gateway, store_at):
    with pytest.raises(ConfigError, match="engine is 'elasticsearch', but what answers at .* does not say"):
        store_at(opensearch_url, engine="elasticsearch").create_col()
    store_at(opensearch_url, engine="opensearch").create_col()


def test_max_request_bytes(opensearch_url, open_gateway, store_at):
    gateway = open_gateway(opensearch_url)
    row = {"data": "a", "pad": "x" * 150_000}
    with pytest.raises(InvalidInputError, match="max_request_bytes"):
        store_at(gateway.url, max_request_bytes=100_000).insert([VECTOR], [row], ["1"])
    assert gateway.requests == []
    store_at(gateway.url).insert([VECTOR], [row], ["1"])


@pytest.mark.parametrize(("policy", "rows"), [("keep", 2), ("skip", 1), ("update", 1)])
def test_on_duplicate(policy, rows, opensearch_url, store_at):
    store = store_at(opensearch_url, on_duplicate=policy)
    for name in ("1", "2"):
        store.insert([VECTOR], [{"data": "臺北", "user_id": "u"}], [name])
    assert store.count() == rows


def test_node_options_reach_the_local_node(opensearch_url, store_at, monkeypatch):
    """That a node has them then is shown by the tests of the node."""
    asked = {}
    monkeypatch.setattr(
        "mem_opensearch.node.attach_or_start", lambda **options: asked.update(options) or opensearch_url
    )
    store_at("local", node_version="2.19.1", node_data="/somewhere").list_cols()
    assert (asked["version"], asked["data"]) == ("2.19.1", "/somewhere")


def test_annotate(make_store):
    """Without it, nothing is noted with a memory; the payload is the same."""
    for annotate, noted in ((False, False), (True, True)):
        store = make_store(annotate=annotate)
        store.insert([[1, 0, 0, 0]], [{"data": "你好", "user_id": "u1", "created_at": "2026-01-01"}], ["m1"])
        row = store.client.request("GET", f"/{store.collection_name}/_doc/m1")["_source"]
        assert ("conversation" in row) is noted


def test_search(make_store):
    """What a searcher takes for all its searches."""
    from mem_opensearch.search import Searcher

    store = make_store(search={"mode": "rrf"})
    store.insert([[1, 0, 0, 0]], [{"data": "我喝咖啡", "user_id": "u1"}], ["m1"])
    searcher = Searcher(store)
    assert searcher.search("咖啡", vector=[1, 0, 0, 0], filters={"user_id": "u1"}).mode == "rrf"
    with pytest.raises(
        ConfigError, match=r"'search.mood' is unknown; known are: mode, normaliser, pool, size, threshold, weights"
    ):
        make_store(search={"mood": "good"})
    with pytest.raises(ConfigError, match="known are: words, identifiers, entity"):
        Searcher(make_store(search={"weights": {"wörter": 1}}))


EFFECTS = {
    "url": test_url,
    "host": test_host_and_port,
    "port": test_host_and_port,
    "use_ssl": test_use_ssl,
    "verify_certs": test_tls.test_without_verification_it_works_and_warns,
    "ca_certs": test_tls.test_the_whole_of_a_store_behind_tls_and_password,
    "user": test_credentials.test_right_credentials,
    "password": test_credentials.test_right_credentials,
    "api_key": test_credentials.test_right_credentials,
    "bearer_token": test_credentials.test_right_credentials,
    "client_cert": test_tls.test_a_client_certificate_is_shown,
    "client_key": test_tls.test_a_client_certificate_is_shown,
    "aws_region": test_sigv4.test_every_request_of_a_store,
    "aws_service": test_sigv4.test_every_request_of_a_store,
    "http_auth": test_credentials.test_an_auth_object_is_called_for_each_request,
    "allow_insecure": test_allow_insecure,
    "timeout": test_timeout,
    "max_tries": test_max_tries,
    "max_retry_seconds": test_max_retry_seconds,
    "pool_maxsize": test_pool_maxsize,
    "http_compress": test_http_compress,
    "connection_class": test_connection_class,
    "client": test_client,
    "collection_name": test_collection_name,
    "embedding_model_dims": test_embedding_model_dims,
    "embedding_model": test_embedding_model,
    "kind": test_kind,
    "analyzer": test_analyzer,
    "dictionary": test_dictionary,
    "knn_engine": test_knn_engine,
    "shards": test_shards_and_replicas,
    "replicas": test_shards_and_replicas,
    "refresh": test_refresh,
    "auto_refresh": test_refresh,
    "engine": test_engine,
    "max_request_bytes": test_max_request_bytes,
    "on_duplicate": test_on_duplicate,
    "annotate": test_annotate,
    "search": test_search,
    "bulk_max_bytes": test_bulk_limits,
    "bulk_max_items": test_bulk_limits,
    "node_version": test_node_options_reach_the_local_node,
    "node_data": test_node_options_reach_the_local_node,
}


def test_every_option_is_shown_to_have_an_effect():
    assert set(EFFECTS) == set(StoreConfig.model_fields), "name the test that shows what a new option does"
    assert all(callable(test) for test in EFFECTS.values())


CERTIFICATE = {"url": "https://a", "client_cert": "a.pem"}
WITHOUT_EFFECT = {
    "a key without its certificate": (
        {"url": "https://a", "client_key": "k.pem"},
        "'client_key' has no effect without",
    ),
    "a service without a region": ({"aws_service": "aoss"}, "'aws_service' has no effect without 'aws_region'"),
    "authorities, unverified": (
        {"url": "https://a", "ca_certs": "x", "verify_certs": False},
        "'ca_certs' has no effect",
    ),
    "authorities over http": ({"ca_certs": "x"}, "'ca_certs' would have no effect over http"),
    "a certificate over http": ({"client_cert": "x"}, "'client_cert' would have no effect over http"),
    "a password for the local node": ({"url": "local", "user": "a", "password": "b"}, 'url="local", user, password'),
    "TLS for the local node": ({"url": "local", "verify_certs": False}, 'url="local", verify_certs would have'),
    "a node's version for a server": ({"url": "http://a", "node_version": "2.19.1"}, "'node_version' would have no"),
    "a node's data for a server": ({"node_data": "/x"}, "'node_data' would have no effect: they go with"),
    "a query in the URL": ({"url": "https://a/?pretty"}, "must end there"),
    "no URL": ({"url": []}, "'url' is an empty list"),
    "two ways to say who": ({"api_key": "a", "bearer_token": "b"}, "'api_key', 'bearer_token' exclude each other"),
    "a signature and a password": ({"aws_region": "eu-central-1", "user": "a", "password": "b"}, "exclude each other"),
    "a region that is none": ({"aws_region": "Frankfurt"}, "option 'aws_region'"),
    "auth that can't be called": ({"http_auth": 7}, "'http_auth' is a int"),
    "auth of three parts": ({"http_auth": ["a", "b", "c"]}, "'http_auth' is a list"),
    "a timeout without end": ({"timeout": float("inf")}, "option 'timeout'"),
    "a timeout that is no number": ({"timeout": float("nan")}, "option 'timeout'"),
}


@pytest.mark.parametrize(("options", "said"), WITHOUT_EFFECT.values(), ids=WITHOUT_EFFECT)
def test_what_would_have_no_effect_is_refused(options, said):
    with pytest.raises(ConfigError, match=said):
        StoreConfig.build(**options)


@pytest.mark.parametrize(
    "option",
    [
        {"url": "http://a"},
        {"host": "a"},
        {"port": 1},
        {"use_ssl": True},
        {"verify_certs": False},
        {"ca_certs": "x"},
        {"user": "a", "password": "b"},
        {"api_key": "a"},
        {"bearer_token": "a"},
        {"client_cert": "a"},
        {"aws_region": "eu-central-1"},
        {"http_auth": ("a", "b")},
        {"allow_insecure": True},
        {"pool_maxsize": 3},
        {"http_compress": True},
        {"connection_class": "RequestsHttpConnection"},
    ],
    ids=str,
)
def test_beside_a_given_client_connection_options_are_refused(option):
    with pytest.raises(ConfigError, match=f"with 'client' given, {next(iter(option))}.* would have no effect"):
        StoreConfig.build(client=opensearchpy.OpenSearch(["http://127.0.0.1:1"]), **option)


ENVIRONMENT = {
    "a URL gives way to a host": ({"URL": "http://a"}, {"host": "b"}, {"url": None, "host": "b"}),
    "a host gives way to a URL": (
        {"HOST": "a", "PORT": "1", "USE_SSL": "1"},
        {"url": "http://b"},
        {"host": None, "port": None},
    ),
    "a password stays beside a URL": ({"USER": "u", "PASSWORD": "p"}, {"url": "https://b"}, {"user": "u"}),
    "a password stays beside its user": ({"PASSWORD": "p"}, {"user": "u"}, {"user": "u"}),
    "a password gives way to a key": (
        {"USER": "u", "PASSWORD": "p"},
        {"api_key": "k"},
        {"user": None, "password": None},
    ),
    "a key gives way to a signature": (
        {"API_KEY": "k"},
        {"url": "https://a", "aws_region": "eu-west-1"},
        {"api_key": None},
    ),
    "nothing is for the local node": (
        {"URL": "https://a", "USER": "u", "PASSWORD": "p", "CA_CERTS": "x", "VERIFY_CERTS": "0"},
        {"url": "local"},
        {"user": None, "ca_certs": None, "verify_certs": True},
    ),
    "certificates are not for plain http": (
        {"CA_CERTS": "x", "USER": "u", "PASSWORD": "p"},
        {"url": "http://localhost"},
        {"ca_certs": None, "user": "u"},
    ),
    "a policy gives way to mem0's word for it": ({"REFRESH": "wait_for"}, {"auto_refresh": True}, {"refresh": "true"}),
    "several URLs are a JSON list": ({"URL": '["http://a", "http://b"]'}, {}, {"url": ["http://a", "http://b"]}),
}


@pytest.mark.parametrize(("environment", "arguments", "wanted"), ENVIRONMENT.values(), ids=ENVIRONMENT)
def test_the_environment_gives_way_to_arguments_that_say_otherwise(environment, arguments, wanted, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(f"MEM_OPENSEARCH_{name}", value)
    config = StoreConfig.build(**arguments)
    assert {name: getattr(config, name) for name in wanted} == wanted
    assert StoreConfig.build(**config.model_dump()) == config


def test_the_environments_credentials_are_not_for_a_given_client(monkeypatch):
    monkeypatch.setenv("MEM_OPENSEARCH_URL", "https://a")
    monkeypatch.setenv("MEM_OPENSEARCH_API_KEY", "k")
    config = StoreConfig.build(client=opensearchpy.OpenSearch(["http://127.0.0.1:1"]))
    assert (config.url, config.api_key) == (None, None)


def test_amazon_is_reached_at_the_port_of_https():
    assert StoreConfig.build(url="https://x.eu-west-1.es.amazonaws.com", aws_region="eu-west-1").urls == [
        "https://x.eu-west-1.es.amazonaws.com:443"
    ]
