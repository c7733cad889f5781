"""Find out what a server can do, without writing anything to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mem_opensearch.dialects import SUPPORTED
from mem_opensearch.errors import ConfigError, IndexStateError
from mem_opensearch.models import NATIVE_ATTRIBUTE, KnnEngine, Profile, ServerFacts
from mem_opensearch.profiles import word_field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mem_opensearch.client import SearchClient
    from mem_opensearch.dialects import Dialect

_PLUGIN_PROFILES: tuple[Profile, ...] = ("ik", "smartcn")  # best first
_OTHER_PROFILES: tuple[Profile, ...] = ("jieba", "bigram")  # these need nothing of the server


def probe_server(client: SearchClient) -> ServerFacts:
    """Return what the server is and can do.

    Raises:
        ConfigError: it is none that this release works with.
        IndexStateError: the server has no kNN plugin, so no index of ours can work there.
        BackendError: it can't be asked.
    """
    dialect = client.dialect
    _refuse_unsupported(dialect)
    nodes = client.request("GET", "/_nodes/plugins").get("nodes", {}) if dialect.has_cluster else {}
    return ServerFacts(
        distribution=dialect.name,
        version=dialect.version,
        data_nodes=max(1, sum(_holds_data(node) for node in nodes.values())),
        max_dims=dialect.max_dims,
        engines=_usable_engines(dialect, nodes),
        profiles=(
            *[name for name in _PLUGIN_PROFILES if _has_tokenizer(client, word_field(name).tokenizer)],
            *_OTHER_PROFILES,
        ),
    )


def _refuse_unsupported(dialect: Dialect) -> None:
    if dialect.version < dialect.oldest:
        raise ConfigError(
            f"the server is {dialect.name} {'.'.join(map(str, dialect.version))}; this release works with {SUPPORTED}: "
            "upgrade the server, or give the 'url' of another"
        )


def _usable_engines(dialect: Dialect, nodes: Mapping[str, Mapping[str, Any]]) -> frozenset[KnnEngine]:
    if dialect.name != "opensearch" or not nodes:
        # A managed service may hide its nodes; lucene, where there is one, needs nothing that a k-NN plugin could lack.
        return frozenset(dialect.knn_engines[:1])
    engines = knn_engines(nodes)
    if not engines:
        raise IndexStateError(
            "the server has no k-NN plugin (opensearch-knn), so it can't hold vectors; install it on every node"
        )
    return engines


def knn_engines(nodes: Mapping[str, Mapping[str, Any]]) -> frozenset[KnnEngine]:
    """Return the kNN engines that are safe on every data node.

    `lucene` comes with the k-NN plugin. `faiss` needs a native library, and the first write to a faiss index kills a
    node that lacks it; our local node lacks it and says so in an attribute. Other nodes are taken for full ones.

    Args:
        nodes: node id -> info, as `GET /_nodes/plugins` lists them under ``nodes``.
    """
    data_nodes = [node for node in nodes.values() if _holds_data(node)]
    if not data_nodes or not all(_has_knn(node) for node in data_nodes):
        return frozenset()
    if any(node.get("attributes", {}).get(NATIVE_ATTRIBUTE) == "false" for node in data_nodes):
        return frozenset({"lucene"})
    return frozenset({"lucene", "faiss"})


def _holds_data(node: Mapping[str, Any]) -> bool:
    """Whether a node holds shards; Elasticsearch also has roles such as `data_hot`."""
    return any(role.startswith("data") for role in node.get("roles", ["data"]))


def _has_knn(node: Mapping[str, Any]) -> bool:
    return any(plugin.get("name") == "opensearch-knn" for plugin in node.get("plugins", []))


def _has_tokenizer(client: SearchClient, name: str) -> bool:
    answer = client.request("POST", "/_analyze", body={"tokenizer": name, "text": "测试"}, accept=(400,))
    return "tokens" in answer
