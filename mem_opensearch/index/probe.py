"""Find out what a server can do, without writing anything to it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mem_opensearch.errors import ConfigError, IndexStateError
from mem_opensearch.models import NATIVE_ATTRIBUTE, KnnEngine, Profile, ServerFacts
from mem_opensearch.profiles import word_field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mem_opensearch.client import SearchClient

OLDEST = (2, 19, 0)
"""Before it, one vector could have two scores, and neither was (1 + cosine) / 2 throughout (k-NN issue 2319)."""

_PLUGIN_PROFILES: tuple[Profile, ...] = ("ik", "smartcn")  # best first
_OTHER_PROFILES: tuple[Profile, ...] = ("jieba", "bigram")  # these need nothing of the server


def probe_server(client: SearchClient) -> ServerFacts:
    """Return what the server is and can do.

    Raises:
        ConfigError: it is no OpenSearch, or one that is too old.
        IndexStateError: the server has no kNN plugin, so no index of ours can work there.
        BackendError: it can't be asked.
    """
    about = client.request("GET", "/")
    version = about.get("version", {})
    _refuse_unsupported(str(version.get("distribution", "elasticsearch")), str(version.get("number", "0")))
    nodes = client.request("GET", "/_nodes/plugins").get("nodes", {})
    # A managed service may hide its nodes; lucene needs nothing that a k-NN plugin could lack.
    engines: frozenset[KnnEngine] = knn_engines(nodes) if nodes else frozenset({"lucene"})
    if not engines:
        raise IndexStateError(
            "the server has no k-NN plugin (opensearch-knn), so it can't hold vectors; install it on every node"
        )
    return ServerFacts(
        distribution=str(version.get("distribution", "elasticsearch")),
        version=_version_of(str(version.get("number", "0"))),
        data_nodes=max(1, sum("data" in node.get("roles", ["data"]) for node in nodes.values())),
        engines=engines,
        profiles=(
            *[name for name in _PLUGIN_PROFILES if _has_tokenizer(client, word_field(name).tokenizer)],
            *_OTHER_PROFILES,
        ),
    )


def _refuse_unsupported(distribution: str, number: str) -> None:
    oldest = ".".join(map(str, OLDEST[:2]))
    if distribution != "opensearch" or _version_of(number) < OLDEST:
        raise ConfigError(
            f"the server is {distribution} {number}; this release works with OpenSearch {oldest} and later: "
            "upgrade the server, or give the 'url' of another"
        )


def has_legacy_bm25(client: SearchClient) -> bool:
    """Whether the server multiplies BM25 by k1 + 1, see `queries.boosts_for`."""
    version = client.request("GET", "/", accept=(403, 404)).get("version", {})
    if version.get("distribution", "elasticsearch" if version else "opensearch") != "opensearch":
        return True
    return _version_of(str(version.get("number", "3"))) < (3, 0, 0)


def knn_engines(nodes: Mapping[str, Mapping[str, Any]]) -> frozenset[KnnEngine]:
    """Return the kNN engines that are safe on every data node.

    `lucene` comes with the k-NN plugin. `faiss` needs a native library, and the first write to a faiss index kills a
    node that lacks it; our local node lacks it and says so in an attribute. Other nodes are taken for full ones.

    Args:
        nodes: node id -> info, as `GET /_nodes/plugins` lists them under ``nodes``.
    """
    data_nodes = [node for node in nodes.values() if "data" in node.get("roles", ["data"])]
    if not data_nodes or not all(_has_knn(node) for node in data_nodes):
        return frozenset()
    if any(node.get("attributes", {}).get(NATIVE_ATTRIBUTE) == "false" for node in data_nodes):
        return frozenset({"lucene"})
    return frozenset({"lucene", "faiss"})


def _has_knn(node: Mapping[str, Any]) -> bool:
    return any(plugin.get("name") == "opensearch-knn" for plugin in node.get("plugins", []))


def _has_tokenizer(client: SearchClient, name: str) -> bool:
    answer = client.request("POST", "/_analyze", body={"tokenizer": name, "text": "测试"}, accept=(400,))
    return "tokens" in answer


def _version_of(number: str) -> tuple[int, int, int]:
    parts = [int(part) for part in re.findall(r"\d+", number)[:3]]
    return (*parts, 0, 0, 0)[:3]  # type: ignore[return-value]  # three items by construction
