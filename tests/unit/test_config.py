"""Every option: where it goes, what it clashes with, and that secrets stay secret."""

import copy
import ssl
import warnings

import opensearchpy
import pytest
from pydantic import SecretStr

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.client import open_client
from mem_opensearch.config import StoreConfig
from mem_opensearch.errors import ConfigError

MEM0_KEYS = {
    "collection_name": "memories",
    "host": "127.0.0.1",
    "port": 9201,
    "user": "admin",
    "password": "geheim",
    "embedding_model_dims": 512,
    "verify_certs": False,
    "use_ssl": True,
    "connection_class": "RequestsHttpConnection",
    "pool_maxsize": 7,
    "auto_refresh": True,
}


def connection_of(**options):
    config = StoreConfig.build(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = open_client(config, config.urls)
    (connection,) = client.transport.raw.transport.connection_pool.connections
    return connection


def test_mem0s_own_keys_all_have_their_effect():
    config = StoreConfig.build(**MEM0_KEYS)
    assert config.urls == ["https://127.0.0.1:9201"]
    assert config.collection_name == "memories"
    assert config.embedding_model_dims == 512
    assert config.refresh == "true"
    connection = connection_of(**MEM0_KEYS)
    assert isinstance(connection, opensearchpy.RequestsHttpConnection)
    assert connection.session.verify is False
    assert connection.session.headers["authorization"] == "Basic YWRtaW46Z2VoZWlt"
    assert connection.session.adapters["https://"]._pool_maxsize == 7


@pytest.mark.parametrize(
    ("options", "urls"),
    [
        ({}, ["http://localhost:9200"]),
        ({"host": "search.example", "port": 80}, ["http://search.example:80"]),
        ({"host": "https://search.example"}, ["https://search.example:9200"]),
        ({"host": "::1"}, ["http://[::1]:9200"]),
        ({"url": "https://a.example:443/base/"}, ["https://a.example:443/base"]),
        ({"url": ["http://a:1", "http://b:2"]}, ["http://a:1", "http://b:2"]),
        ({"url": "local"}, []),
    ],
)
def test_urls(options, urls):
    assert StoreConfig.build(**options).urls == urls


def test_each_connection_option_reaches_the_transport():
    assert connection_of(timeout=12.5).timeout == 12.5
    assert connection_of(pool_maxsize=3).pool.pool.maxsize == 3
    assert connection_of(http_compress=True).http_compress is True
    assert connection_of(api_key="k").headers["authorization"] == "ApiKey k"
    assert connection_of(user="a", password="b").headers["authorization"].startswith("Basic ")
    assert connection_of(http_auth=("a", "b")).headers["authorization"].startswith("Basic ")
    assert connection_of(http_auth=["a", "b"]).headers["authorization"].startswith("Basic ")
    assert isinstance(connection_of(), opensearchpy.Urllib3HttpConnection)
    assert connection_of(url="https://a.example").pool.conn_kw["ssl_context"].verify_mode is ssl.CERT_REQUIRED


def test_an_auth_object_of_requests_brings_its_transport():
    import requests.auth

    auth = requests.auth.HTTPDigestAuth("a", "b")
    connection = connection_of(http_auth=auth)
    assert isinstance(connection, opensearchpy.RequestsHttpConnection)
    assert connection.session.auth is auth


def test_unverified_tls_warns():
    config = StoreConfig.build(url="https://127.0.0.1:1", verify_certs=False)
    with pytest.warns(UserWarning, match="certificate is not checked"):
        open_client(config, config.urls)


def test_a_given_client_is_used_as_it_is():
    raw = opensearchpy.OpenSearch(hosts=["http://127.0.0.1:1"])
    store = OpenSearchVectorStore(client=raw)
    assert store.client.transport.raw is raw
    with pytest.raises(ConfigError, match="give an opensearchpy.OpenSearch"):
        _ = OpenSearchVectorStore(client="http://x").client
    with pytest.raises(ConfigError, match="with 'client' given, url would have no effect"):
        OpenSearchVectorStore(client=raw, url="http://x")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"hots": "x"}, "option 'hots' is unknown; known are: allow_insecure, analyzer"),
        ({"url": "http://a", "host": "b"}, "'url' and 'host' both"),
        ({"url": "http://a", "port": 1}, "'port' and 'use_ssl' go with 'host'"),
        ({"user": "a"}, "'user' and 'password' go together"),
        ({"password": "a"}, "'user' and 'password' go together"),
        ({"user": "a", "password": "b", "api_key": "c"}, "exclude each other"),
        ({"auto_refresh": True, "refresh": "wait_for"}, "say the same thing"),
        ({"refresh": "sometimes"}, "option 'refresh'"),
        ({"analyzer": "hanlp"}, "option 'analyzer'"),
        ({"knn_engine": "nmslib"}, "option 'knn_engine'"),
        ({"embedding_model_dims": 0}, "option 'embedding_model_dims'"),
        ({"port": 99999}, "option 'port'"),
        ({"collection_name": "Upper"}, "can't be a collection name"),
        ({"collection_name": "_x"}, "can't be a collection name"),
        ({"collection_name": "a,b"}, "can't be a collection name"),
        ({"collection_name": "a*"}, "can't be a collection name"),
        ({"collection_name": ""}, "can't be a collection name"),
        ({"host": "search.example", "user": "a", "password": "b"}, "unencrypted to search.example"),
        ({"url": "http://search.example", "api_key": "c"}, "allow_insecure=true"),
    ],
)
def test_refused(options, said):
    with pytest.raises(ConfigError, match=said):
        StoreConfig.build(**options)


@pytest.mark.parametrize("url", ["ftp://a", "nonsense", "http://u:p@host"])
def test_a_bad_url_is_refused(url):
    with pytest.raises(ConfigError):
        _ = StoreConfig.build(url=url).urls


def test_credentials_over_http_are_fine_on_this_machine_or_when_allowed():
    StoreConfig.build(host="localhost", user="a", password="b")
    StoreConfig.build(host="127.0.0.1", user="a", password="b")
    StoreConfig.build(host="search.example", user="a", password="b", allow_insecure=True)


def test_secrets_show_nowhere():
    config = StoreConfig.build(user="admin", password="geheim")
    for shown in (repr(config), str(config.model_dump()), config.model_dump_json()):
        assert "geheim" not in shown
    with pytest.raises(ConfigError) as caught:
        StoreConfig.build(password="geheim", api_key=5)
    assert "geheim" not in str(caught.value)


def test_a_dump_makes_the_same_configuration_again():
    """mem0 calls the store with `config.model_dump()`, and copies the configuration for the entity collection."""
    config = StoreConfig.build(**MEM0_KEYS)
    again = StoreConfig.build(**config.model_dump())
    assert again == config
    assert isinstance(again.password, SecretStr)
    copied = copy.deepcopy(config)
    copied.collection_name = "memories_entities"
    assert StoreConfig.build(**copied.model_dump()).collection_kind == "entities"


def test_the_environment_fills_in(monkeypatch):
    monkeypatch.setenv("MEM_OPENSEARCH_URL", "http://127.0.0.1:9333")
    monkeypatch.setenv("MEM_OPENSEARCH_REFRESH", "wait_for")
    config = StoreConfig.build(collection_name="x")
    assert config.urls == ["http://127.0.0.1:9333"]
    assert config.refresh == "wait_for"
    assert StoreConfig.build(host="127.0.0.1", port=9444).urls == ["http://127.0.0.1:9444"]


def test_either_a_config_or_options():
    with pytest.raises(ConfigError, match="not both"):
        OpenSearchVectorStore(StoreConfig.build(), url="http://x")
