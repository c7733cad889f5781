"""Say which kNN engines a cluster can use, from what its nodes tell about themselves."""

from __future__ import annotations

from collections.abc import Mapping

NATIVE_ATTRIBUTE = "knn_native"
"""Node attribute of our local nodes: ``"false"`` where the native library of the k-NN plugin is missing."""
PLUGIN = "opensearch-knn"


def knn_engines(nodes_info: Mapping[str, object]) -> frozenset[str]:
    """The kNN engines that every node of a cluster can use.

    The k-NN plugin brings engine ``lucene`` with it; engine ``faiss`` needs a native library, and the first write
    to a faiss index ends a node that lacks it. The published plugin of a local node lacks it, and the node says so in
    the attribute ``knn_native``. A node without that attribute is taken for a full installation.

    Args:
        nodes_info: the answer to ``GET /_nodes`` (or ``GET /_nodes/plugins``, which also holds the attributes).

    Returns:
        ``{"lucene", "faiss"}``, ``{"lucene"}``, or nothing when a node has no k-NN plugin.

    >>> local = {"plugins": [{"name": "opensearch-knn"}], "attributes": {"knn_native": "false"}}
    >>> sorted(knn_engines({"nodes": {"a": local}}))
    ['lucene']
    """
    nodes = nodes_info.get("nodes")
    if not isinstance(nodes, Mapping) or not nodes:
        return frozenset()
    engines = {"lucene", "faiss"}
    for node in nodes.values():
        engines &= _engines_of(node if isinstance(node, Mapping) else {})
    return frozenset(engines)


def _engines_of(node: Mapping[str, object]) -> set[str]:
    plugins = node.get("plugins")
    names = (
        {plugin.get("name") for plugin in plugins if isinstance(plugin, Mapping)}
        if isinstance(plugins, list)
        else set()
    )
    if PLUGIN not in names:
        return set()
    attributes = node.get("attributes")
    native = attributes.get(NATIVE_ATTRIBUTE) if isinstance(attributes, Mapping) else None
    return {"lucene"} if str(native).lower() == "false" else {"lucene", "faiss"}
