"""Reading a server's abilities off what its nodes say."""

from mem_opensearch.index.probe import knn_engines


def test_engines_are_those_that_every_data_node_has():
    full = {"plugins": [{"name": "opensearch-knn"}], "attributes": {}}
    local = {"plugins": [{"name": "opensearch-knn"}], "attributes": {"knn_native": "false"}}
    bare = {"plugins": [], "attributes": {}}
    manager = {"plugins": [], "roles": ["cluster_manager"]}
    assert knn_engines({"a": full}) == {"lucene", "faiss"}
    assert knn_engines({"a": local}) == {"lucene"}
    assert knn_engines({"a": full, "b": local}) == {"lucene"}
    assert knn_engines({"a": full, "b": bare}) == frozenset()
    assert knn_engines({"a": full, "b": manager}) == {"lucene", "faiss"}
    assert knn_engines({}) == frozenset()
