"""`register` switches mem0's provider, once; `unregister` puts back exactly what was there."""

import copy
import logging
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
from mem0 import Memory
from mem0.configs import base as mem0_base
from mem0.configs.vector_stores import opensearch as mem0_options
from mem0.embeddings.configs import EmbedderConfig
from mem0.utils.factory import EmbedderFactory, VectorStoreFactory
from mem0.vector_stores import opensearch as mem0_provider
from mem0.vector_stores.base import VectorStoreBase
from mem0.vector_stores.configs import VectorStoreConfig
from pydantic import ValidationError

import mem_opensearch.mem0 as bridge
from mem_opensearch.config import StoreConfig
from mem_opensearch.errors import ConfigError
from mem_opensearch.mem0 import internals
from mem_opensearch.store import OpenSearchVectorStore

pytestmark = pytest.mark.unit

OURS = {"vector_store": {"provider": "opensearch", "config": {"url": "http://127.0.0.1:9", "analyzer": "ik"}}}


def mem0_state() -> dict[str, object]:
    """Everything that the bridge may touch, and what follows from it."""
    return copy.copy(
        {
            "stores": dict(VectorStoreFactory.provider_to_class),
            "embedders": dict(EmbedderFactory.provider_to_class),
            "options": mem0_options.OpenSearchConfig,
            "validators": dict(EmbedderConfig.__pydantic_decorators__.field_validators),
            "memory_config": dict(mem0_base.MemoryConfig.model_config),
            "store_config": dict(VectorStoreConfig.model_config),
            "schemas": [
                model.model_json_schema() for model in (mem0_base.MemoryConfig, VectorStoreConfig, EmbedderConfig)
            ],
            "module_names": sorted(vars(mem0_options)),
        }
    )


def refusal_of_our_embedder() -> str:
    with pytest.raises(ValidationError) as refused:
        mem0_base.MemoryConfig(embedder={"provider": "mem_opensearch", "config": {"model": "use"}})
    return str(refused.value)


@pytest.fixture(autouse=True)
def _left_as_found():
    bridge.unregister()
    before = mem0_state()
    yield
    bridge.unregister()
    assert mem0_state() == before


def test_register_switches_the_provider():
    bridge.register()
    assert bridge.is_registered()
    config = mem0_base.MemoryConfig(**OURS).vector_store.config
    store = VectorStoreFactory.create("opensearch", config)
    assert isinstance(config, StoreConfig)
    assert isinstance(store, OpenSearchVectorStore)
    assert isinstance(store, VectorStoreBase)


def test_unregister_restores_mem0_exactly():
    before, refusal = mem0_state(), refusal_of_our_embedder()
    bridge.register()
    assert mem0_state() != before
    bridge.unregister()
    assert mem0_state() == before
    assert not bridge.is_registered()
    assert refusal_of_our_embedder() == refusal
    config = VectorStoreConfig(provider="opensearch", config={"host": "localhost"}).config
    assert type(config) is mem0_provider.OpenSearchConfig


def test_registering_again_changes_nothing():
    before = mem0_state()
    bridge.register()
    once = mem0_state()
    bridge.register()
    assert mem0_state() == once
    bridge.unregister()
    assert mem0_state() == before
    bridge.unregister()
    assert mem0_state() == before


def test_many_threads_register_once():
    before = mem0_state()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: bridge.register(), range(32)))
    assert isinstance(mem0_base.MemoryConfig(**OURS).vector_store.config, StoreConfig)
    bridge.unregister()
    assert mem0_state() == before


def test_mem0s_own_provider_keeps_its_own_options():
    bridge.register()
    assert mem0_provider.OpenSearchConfig.__module__.startswith("mem0.")


def test_other_providers_are_untouched():
    bridge.register()
    assert type(VectorStoreConfig(provider="qdrant", config={}).config).__name__ == "QdrantConfig"
    assert EmbedderConfig(provider="openai", config={"model": "m"}).config == {"model": "m"}
    with pytest.raises(ValidationError, match="Unsupported embedding provider: no-such"):
        mem0_base.MemoryConfig(embedder={"provider": "no-such", "config": {"model": "m"}})


def test_the_embedder_provider_is_accepted_in_every_form():
    bridge.register()
    given = {"provider": "mem_opensearch", "config": {"model": "use", "embedding_dims": 512}}
    typed = EmbedderConfig(**given)
    assert mem0_base.MemoryConfig(embedder=given).embedder == typed
    assert mem0_base.MemoryConfig(embedder=typed).embedder == typed


def test_unknown_option_is_refused_with_the_known_ones(caplog):
    bridge.register()
    options = {"url": "http://127.0.0.1:9", "analyser": "ik", "password": "hunter2"}
    with (
        caplog.at_level(logging.DEBUG),
        pytest.raises(ValidationError) as refused,
    ):
        Memory.from_config({"vector_store": {"provider": "opensearch", "config": options}})
    message = str(refused.value)
    assert "option 'analyser' is unknown" in message
    assert "analyzer" in message.split("known are:")[1]
    assert "hunter2" not in message
    assert "hunter2" not in caplog.text  # mem0 logs the error before it raises it


@pytest.mark.parametrize(
    ("owner", "name", "named"),
    [
        (VectorStoreFactory, "provider_to_class", "mem0.utils.factory.VectorStoreFactory.provider_to_class"),
        (EmbedderFactory, "provider_to_class", "mem0.utils.factory.EmbedderFactory.provider_to_class"),
        (mem0_options, "OpenSearchConfig", "mem0.configs.vector_stores.opensearch.OpenSearchConfig"),
        (mem0_provider, "OpenSearchDB", "mem0.vector_stores.opensearch.OpenSearchDB"),
        (mem0_base, "MemoryConfig", "mem0.configs.base.MemoryConfig"),
    ],
)
def test_missing_internals_are_named(monkeypatch, owner, name, named):
    with monkeypatch.context() as patch:
        patch.delattr(owner, name)
        with pytest.raises(ConfigError) as refused:
            bridge.register()
    assert named in str(refused.value)
    assert internals.SUPPORTED_TEXT in str(refused.value)
    assert not bridge.is_registered()


def test_a_missing_provider_entry_is_named(monkeypatch):
    with monkeypatch.context() as patch:
        patch.delitem(VectorStoreFactory.provider_to_class, "opensearch")
        with pytest.raises(ConfigError, match="entry 'opensearch' of VectorStoreFactory"):
            bridge.register()


def test_a_missing_validator_is_named(monkeypatch):
    with monkeypatch.context() as patch:
        patch.delitem(EmbedderConfig.__pydantic_decorators__.field_validators, "validate_config")
        with pytest.raises(ConfigError, match=r"EmbedderConfig\.validate_config"):
            bridge.register()


def test_a_failure_half_way_changes_nothing(monkeypatch):
    before = mem0_state()
    with monkeypatch.context() as patch:
        rebuild, fails = VectorStoreConfig.model_rebuild, iter([True])

        def fail_once(**options):
            if next(fails, False):
                raise RuntimeError("half way")
            return rebuild(**options)

        patch.setattr(VectorStoreConfig, "model_rebuild", fail_once)
        with pytest.raises(RuntimeError, match="half way"):
            bridge.register()
    assert mem0_state() == before
    assert not bridge.is_registered()
    assert type(VectorStoreConfig(provider="opensearch", config={"host": "h"}).config) is mem0_provider.OpenSearchConfig


def test_the_documented_config_needs_no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    bridge.register()
    memory = Memory.from_config({**OURS, "embedder": {"provider": "mem_opensearch"}, "llm": {"provider": "vllm"}})
    assert isinstance(memory.vector_store, OpenSearchVectorStore)
    memory.close()


@pytest.mark.parametrize("version", ["2.0.20", "2.1.0", "2.2.1", "2.2.99"])
def test_supported_versions_are_quiet(monkeypatch, version):
    monkeypatch.setattr("mem0.__version__", version)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bridge.register()
    assert bridge.is_registered()


@pytest.mark.parametrize("version", ["2.0.19", "2.3", "2.3.0rc1", "3.0.0", "dev"])
def test_other_versions_warn_and_work(monkeypatch, version):
    monkeypatch.setattr("mem0.__version__", version)
    with pytest.warns(UserWarning, match=rf"mem0ai {version} is not among the versions") as caught:
        bridge.register()
    assert caught[0].filename == __file__
    assert bridge.is_registered()


def test_importing_the_bridge_does_not_import_mem0():
    code = (
        "import sys, mem_opensearch.mem0; print(any(name.split('.')[0] in ('mem0', 'openai') for name in sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_exported_names_resolve():
    for name in bridge.__all__:
        assert getattr(bridge, name).__module__.startswith("mem_opensearch.mem0.")
    with pytest.raises(AttributeError, match="no_such_name"):
        bridge.no_such_name  # noqa: B018 - the access is the test
