"""What each dialect says, and how a server's is told."""

import pytest

from mem_opensearch.config import StoreConfig
from mem_opensearch.dialects import ElasticsearchDialect, OpenSearchDialect, choose_dialect
from mem_opensearch.dialects.aoss import ServerlessDialect
from mem_opensearch.errors import ConfigError
from mem_opensearch.index import render_templates
from mem_opensearch.models import IndexSpec
from mem_opensearch.queries import FIELD_BOOSTS, boosts_for

OPENSEARCH, ELASTICSEARCH = OpenSearchDialect((3, 6, 0)), ElasticsearchDialect((9, 2, 0))
TERM = {"term": {"user_id": "u1"}}


@pytest.mark.parametrize(
    ("version", "dialect"),
    [
        ({"number": "3.6.0", "distribution": "opensearch"}, OpenSearchDialect((3, 6, 0))),
        ({"number": "2.19.1", "distribution": "opensearch"}, OpenSearchDialect((2, 19, 1))),
        ({"number": "8.15.3"}, ElasticsearchDialect((8, 15, 3))),
        ({"number": "9.2.0-SNAPSHOT", "build_flavor": "default"}, ElasticsearchDialect((9, 2, 0))),
        (None, OpenSearchDialect((3, 0, 0))),
    ],
)
def test_the_server_says_what_it_is(version, dialect):
    assert choose_dialect({"version": version} if version else {"error": "forbidden", "status": 403}) == dialect


def test_a_hidden_server_is_what_the_configuration_says():
    assert choose_dialect({"status": 403}, engine="elasticsearch").name == "elasticsearch"


def test_another_server_than_the_configuration_says_is_refused():
    with pytest.raises(ConfigError, match="engine is 'opensearch', but the server is elasticsearch 8.15.3; set engine"):
        choose_dialect({"version": {"number": "8.15.3"}}, engine="opensearch")
    with pytest.raises(ConfigError, match="the server is easysearch 1.7.0; this release works with OpenSearch 2.19 or"):
        choose_dialect({"version": {"number": "1.7.0", "distribution": "easysearch"}})
    with pytest.raises(ConfigError, match="option 'engine'"):
        StoreConfig.build(engine="solr")


@pytest.mark.parametrize("dialect", [OPENSEARCH, ELASTICSEARCH])
def test_scores_are_cosines_clamped(dialect):
    assert [dialect.cosine_of(score) for score in (1.0, 0.9, 0.5, 0.2, 1.0000001)] == [1.0, 0.8, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(("k", "beam"), [(1, 8), (60, 480), (125, 1000), (900, 1000), (1000, None), (10_000, None)])
def test_the_graph_is_searched_with_a_beam_wider_than_what_is_wanted(k, beam):
    inner = OpenSearchDialect((3, 6, 0)).knn([1.0], k=k, filters=[])["knn"]["vector"]
    assert inner.get("method_parameters", {}).get("ef_search") == beam
    assert "method_parameters" not in ServerlessDialect((2, 17, 0)).knn([1.0], k=k, filters=[])["knn"]["vector"]


def test_the_filter_stands_inside_the_knn_clause():
    assert OPENSEARCH.knn([1.0], k=7, filters=[TERM], name="knn") == {
        "knn": {
            "vector": {
                "vector": [1.0],
                "k": 7,
                "method_parameters": {"ef_search": 56},
                "filter": {"bool": {"filter": [TERM]}},
                "_name": "knn",
            }
        }
    }
    assert ELASTICSEARCH.knn([1.0], k=7, filters=[TERM], name="knn") == {
        "knn": {
            "field": "vector",
            "query_vector": [1.0],
            "k": 7,
            "num_candidates": 100,
            "filter": [TERM],
            "_name": "knn",
        }
    }


@pytest.mark.parametrize(("k", "candidates"), [(1, 100), (60, 120), (5_000, 10_000), (10_000, 10_000)])
def test_candidates_are_never_fewer_than_k_nor_more_than_the_server_takes(k, candidates):
    assert ELASTICSEARCH.knn([1.0], k=k, filters=[])["knn"]["num_candidates"] == candidates


def test_the_exact_cosine_is_among_the_rows_that_are_named():
    for dialect in (OPENSEARCH, ELASTICSEARCH):
        everything = dialect.exact_cosine([1.0], name="cosine")["script_score"]
        assert (everything["query"], everything["_name"]) == ({"match_all": {}}, "cosine")
        assert dialect.exact_cosine([1.0], among=TERM)["script_score"]["query"] == TERM


@pytest.mark.parametrize("kind", ["memory", "entities"])
def test_the_index_of_each(kind):
    spec = IndexSpec("c", kind, 4, "bigram", "lucene")
    ours, theirs = (render_templates(spec, dialect) for dialect in (OPENSEARCH, ELASTICSEARCH))
    assert ours.component == theirs.component
    for dialect, templates in ((OPENSEARCH, ours), (ELASTICSEARCH, theirs)):
        vector = templates.index["template"]["mappings"]["properties"]["vector"]
        assert dialect.dims_of(vector) == 4
        assert templates.index["template"]["settings"] == dialect.index_settings() | {
            "index.number_of_shards": 1,
            "index.number_of_replicas": 0,
        }
    assert ours.index["template"]["mappings"]["properties"]["vector"]["type"] == "knn_vector"
    vector = theirs.index["template"]["mappings"]["properties"]["vector"]
    assert (vector["type"], vector["similarity"], vector["index_options"]["type"]) == ("dense_vector", "cosine", "hnsw")


def test_vectors_stay_in_the_source_where_the_server_would_leave_them_out():
    assert ElasticsearchDialect((9, 1, 9)).index_settings() == {}  # which would not know the setting
    assert ElasticsearchDialect((9, 2, 0)).index_settings() == {"index.mapping.exclude_source_vectors": False}


def test_weights_are_fitted_to_the_servers_bm25():
    assert [OpenSearchDialect(version).has_legacy_bm25 for version in ((2, 19, 5), (3, 0, 0))] == [True, False]
    assert ELASTICSEARCH.has_legacy_bm25
    assert boosts_for(legacy_bm25=True)["text"] == pytest.approx(FIELD_BOOSTS["text"] / 2.6)
