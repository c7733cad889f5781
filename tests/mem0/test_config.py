"""The store's options survive what mem0 does to them."""

import copy
import threading
from dataclasses import dataclass

import pytest
from mem0.configs.vector_stores.opensearch import OpenSearchConfig as Mem0OwnConfig
from mem0.memory.main import _safe_deepcopy_config
from pydantic import SecretStr

from mem_opensearch.errors import ConfigError
from mem_opensearch.mem0 import Mem0StoreConfig
from mem_opensearch.store import OpenSearchVectorStore

pytestmark = pytest.mark.unit


@dataclass
class Signer:
    """An auth object as signers are: a dataclass that holds what can't be copied."""

    lock: object

    def __call__(self, method, url, body):
        return {}

    def __deepcopy__(self, memo):
        raise TypeError("a credential session can't be copied")


def test_the_dump_makes_the_store_and_the_same_config_again():
    config = Mem0StoreConfig(host="localhost", user="u", password="hunter2", auto_refresh=True)
    again = type(config)(**{**config.model_dump(), "collection_name": "mem0migrations"})
    assert again.password == SecretStr("hunter2")
    assert again.refresh == config.refresh == "true"
    assert again.collection_name == "mem0migrations"
    OpenSearchVectorStore(**config.model_dump())


def test_secrets_stay_hidden():
    config = Mem0StoreConfig(url="https://search.example:9200", api_key="hunter2")
    assert isinstance(config.model_dump()["api_key"], SecretStr)
    for shown in (repr(config), str(config), str(config.model_dump()), config.model_dump_json(exclude={"http_auth"})):
        assert "hunter2" not in shown


def test_the_entity_config_keeps_password_and_live_objects():
    signer = Signer(lock=threading.Lock())
    config = Mem0StoreConfig(url="https://search.example:9200", http_auth=signer)
    entities = _safe_deepcopy_config(config)
    entities.collection_name = "mem0_entities"
    assert entities.http_auth is signer
    assert entities.model_dump()["http_auth"] is signer
    assert config.collection_name == "mem0"
    secret = Mem0StoreConfig(url="https://search.example:9200", user="u", password="hunter2")
    assert _safe_deepcopy_config(secret).password == SecretStr("hunter2")


def test_a_given_client_is_shared_by_the_copy():
    client = type("Client", (), {"transport": threading.Lock()})()  # a lock can't be copied
    config = Mem0StoreConfig(client=client)
    assert copy.deepcopy(config).client is client
    assert config.model_dump()["client"] is client


def test_lists_are_copied():
    config = Mem0StoreConfig(url=["http://127.0.0.1:9200"])
    assert copy.deepcopy(config).url is not config.url


def test_every_key_of_mem0s_own_provider_is_known():
    assert set(Mem0OwnConfig.model_fields) <= set(Mem0StoreConfig.model_fields)


def test_mem0_puts_no_path_into_it():
    assert "path" not in Mem0StoreConfig.__annotations__
    assert "path" not in Mem0StoreConfig.model_fields


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"kind": "entities"}, "'kind' is not for mem0"),
        ({"collection_name": "people_entities"}, "'people_entities' can't hold memories"),
        ({"url": "http://a:9200", "host": "b"}, "'url' and 'host'"),
        ({"no_such": 1}, "option 'no_such' is unknown; known are: .*analyzer.*url"),
    ],
)
def test_options_without_a_meaning_are_refused(options, reason):
    with pytest.raises(ConfigError, match=reason):
        Mem0StoreConfig(**options)
