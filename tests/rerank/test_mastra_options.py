"""The options of Mastra's rerank functions: what is refused, and Mastra's own names."""

import math

import pytest

from mem_opensearch.errors import InvalidInputError, VectorError
from mem_opensearch.rerank.mastra import DEFAULT_WEIGHTS, rerank, rerank_with_scorer

pytestmark = pytest.mark.unit


class Constant:
    """A scorer that gives one score to all texts, and counts its calls."""

    def __init__(self):
        self.calls = 0

    def score(self, query, texts):
        self.calls += 1
        return [0.5] * len(texts)


RESULTS = [{"id": name, "score": 0.5, "metadata": {"text": name}} for name in "abc"]


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (
            {"semantic": 0.5, "position": 0.5},
            r"add up to 1.4, expected 1: semantic 0.5, vector 0.4 \(default\), position 0.5",
        ),
        ({"semantic": 0.4, "vector": 0.4, "position": 0.1}, "add up to 0.9, expected 1"),
        ({"semantic": 0.401}, "add up to 1.001, expected 1"),
        ({"semantics": 0.4}, "unknown key 'semantics'; known: semantic, vector, position"),
        ({"semantic": -0.2, "vector": 1.0}, "weight 'semantic' is -0.2, expected a number from 0"),
        ({"semantic": math.nan}, "weight 'semantic' is nan"),
        ({"semantic": math.inf}, "weight 'semantic' is inf"),
        ({"semantic": "0.4"}, "weight 'semantic' is '0.4'"),
        ({"semantic": None}, "weight 'semantic' is None"),
        ({"semantic": True, "vector": 0, "position": 0}, "weight 'semantic' is True"),
        ([0.4, 0.4, 0.2], "weights is of type list"),
    ],
)
def test_weights_that_are_wrong_are_refused(weights, said):
    scorer = Constant()
    with pytest.raises(InvalidInputError, match=said):
        rerank_with_scorer(RESULTS, "问", scorer, weights=weights)
    assert scorer.calls == 0


@pytest.mark.parametrize(
    "weights",
    [{}, {"semantic": 1 / 3, "vector": 1 / 3, "position": 1 / 3}, {"semantic": 0.7, "vector": 0.1, "position": 0.2}],
)
def test_weights_that_add_up_to_1_but_for_rounding_are_taken(weights):
    assert len(rerank_with_scorer(RESULTS, "问", Constant(), weights=weights)) == 3


def test_the_default_weights_can_not_be_changed():
    with pytest.raises(TypeError):
        DEFAULT_WEIGHTS["semantic"] = 1


@pytest.mark.parametrize("query", ["", "  ", "　\n", None, 7])
def test_a_query_that_is_none_is_refused(query):
    for results in (RESULTS, []):
        with pytest.raises(InvalidInputError, match="query is blank or no string"):
            rerank_with_scorer(results, query, Constant())


@pytest.mark.parametrize("top_k", [0, -1, None, 2.0, "3", True])
def test_a_top_k_below_1_is_refused(top_k):
    for results in (RESULTS, []):
        with pytest.raises(InvalidInputError, match="top_k is .* expected a whole number from 1"):
            rerank_with_scorer(results, "问", Constant(), top_k=top_k)


@pytest.mark.parametrize(
    "vector", [[], [0.1, math.nan], [math.inf], ["0.1"], [True], "0.1", 0.1, [[0.1, 0.2]]], ids=repr
)
def test_a_query_vector_that_is_none_is_refused(vector):
    with pytest.raises(VectorError, match="query_embedding"):
        rerank_with_scorer(RESULTS, "问", Constant(), query_embedding=vector)


def test_mastras_names_of_keywords_are_taken():
    options = {"topK": 1, "queryEmbedding": [0.0, 6.0]}
    for function in (rerank, rerank_with_scorer):
        (best,) = function(RESULTS, "问", Constant(), **options)
        assert best.result["id"] == "a"
        assert best.details.query_analysis.magnitude == 6
    assert options == {"topK": 1, "queryEmbedding": [0.0, 6.0]}


@pytest.mark.parametrize("function", [rerank, rerank_with_scorer])
@pytest.mark.parametrize("both", [{"topK": 3, "top_k": 3}, {"queryEmbedding": [1.0], "query_embedding": None}])
def test_an_option_that_is_given_by_both_names_is_refused(function, both):
    with pytest.raises(InvalidInputError, match=" and ".join(f"'{name}'" for name in both)):
        function(RESULTS, "问", Constant(), **both)


@pytest.mark.parametrize("function", [rerank, rerank_with_scorer])
@pytest.mark.parametrize("name", ["topk", "k", "options", "queryembedding"])
def test_an_unknown_keyword_is_a_type_error(function, name):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
        function(RESULTS, "问", Constant(), **{name: 1})
