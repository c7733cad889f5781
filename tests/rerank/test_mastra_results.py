"""The shapes of results that Mastra's rerank functions take, and the one that they give."""

import copy
import json

import pytest

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.models import Hit
from mem_opensearch.rerank.mastra import rerank_with_scorer
from mem_opensearch.search.results import Found

pytestmark = pytest.mark.unit


class ByLength:
    name = "by length"
    most_texts = None
    most_characters = None

    def __init__(self):
        self.texts = []

    def score(self, query, texts):
        self.texts += texts
        return [len(text) / 10 for text in texts]


SHAPES = {
    "mastra": {"id": "m", "score": 0.5, "metadata": {"text": "我住在台北"}},
    "mastra, whole": {
        "id": "m",
        "score": 0.5,
        "metadata": {"text": "我住在台北", "docId": 7},
        "vector": [0.1, 0.2],
        "document": "别的",
    },
    "mem0": {"id": "m", "memory": "我住在台北", "score": 0.5, "hash": "x", "metadata": {"text": "別的"}},
    "mem0, no metadata": {"id": "m", "memory": "我住在台北", "score": 0.5, "metadata": None},
    "ours": Found("m", 0.5, {"data": "我住在台北", "user_id": "amei"}),
    "the store's": Hit("m", 0.5, {"data": "我住在台北"}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_scored_the_same(shape):
    scorer = ByLength()
    given = SHAPES[shape]
    (best,) = rerank_with_scorer([given], "住哪？", scorer)
    assert scorer.texts == ["我住在台北"]
    assert best.result is given
    assert (best.details.semantic, best.details.vector, best.details.position) == (0.5, 0.5, 1)
    assert best.score == pytest.approx(0.2 + 0.2 + 0.2)


def test_shapes_may_be_mixed_and_come_from_any_iterable():
    best = rerank_with_scorer((SHAPES[shape] for shape in SHAPES), "住哪？", ByLength(), top_k=9)
    assert [one.result for one in best] == list(SHAPES.values())


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_given_stays_as_it_is(shape):
    given = [copy.deepcopy(SHAPES[shape])]
    weights, vector = {"semantic": 0.4}, [6.0]
    rerank_with_scorer(given, "住哪？", ByLength(), weights=weights, query_embedding=vector)
    assert given == [SHAPES[shape]]
    assert (weights, vector) == ({"semantic": 0.4}, [6.0])


def test_as_mastras_own_json():
    (best,) = rerank_with_scorer([SHAPES["mastra"]], "住哪？", ByLength(), query_embedding=[0.6, -0.8])
    assert json.loads(json.dumps(best.as_dict(camel=True))) == {
        "result": {"id": "m", "score": 0.5, "metadata": {"text": "我住在台北"}},
        "score": pytest.approx(0.6),
        "details": {
            "semantic": 0.5,
            "vector": 0.5,
            "position": 1.0,
            "queryAnalysis": {"magnitude": 1.0, "dominantFeatures": [1, 0]},
        },
    }
    assert best.as_dict()["details"]["query_analysis"] == {"magnitude": 1.0, "dominant_features": [1, 0]}


@pytest.mark.parametrize("camel", [True, False])
def test_without_a_query_vector_there_is_no_analysis(camel):
    (best,) = rerank_with_scorer([SHAPES["mastra"]], "住哪？", ByLength())
    assert list(best.as_dict(camel=camel)["details"]) == ["semantic", "vector", "position"]


def test_our_own_results_become_mastras_json():
    (best,) = rerank_with_scorer([SHAPES["ours"]], "住哪？", ByLength())
    assert best.as_dict(camel=True)["result"] == {
        "id": "m",
        "score": 0.5,
        "metadata": {"user_id": "amei", "text": "我住在台北"},
    }
    empty = Found("e", 0.5, {})
    (best,) = rerank_with_scorer([empty], "住哪？", ByLength())
    assert best.as_dict()["result"] == {"id": "e", "score": 0.5, "metadata": {}}


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ("我住在台北", r"results\[1\] is of type str; expected Mastra's"),
        (None, r"results\[1\] is of type NoneType"),
        (("m", 0.5), r"results\[1\] is of type tuple"),
        ({"id": "x", "memory": "我住在台北"}, r"results\[1\] is a dict without 'score'"),
        ({"id": "x", "score": 0.5, "metadata": "文"}, r"results\[1\] \(id 'x'\) has a metadata of type str"),
        ({"id": "x", "score": 0.5, "metadata": {"text": 7}}, r"\(id 'x'\) has a text of type int, expected a string"),
        ({"id": "x", "score": 0.5, "memory": ["文"]}, r"\(id 'x'\) has a text of type list"),
        (Found("x", 0.5, {"data": 7}), r"\(id 'x'\) has a text of type int"),
        (Found("x", 0.5, None), r"\(id 'x'\) has a payload of type NoneType"),
        (Hit("x", 12.5, {"data": "文"}), r"\(id 'x'\) has the score 12.5, expected a number from 0 to 1"),
        ({"id": "x", "score": -0.2}, r"has the score -0.2"),
        ({"id": "x", "score": float("nan")}, r"has the score nan"),
        ({"id": "x", "score": "0.5"}, r"has the score of type str"),
        ({"id": "x", "score": True}, r"has the score True"),
        ({"score": 2}, r"results\[1\] has the score 2"),
    ],
)
def test_what_is_no_result_is_refused_with_its_place_and_id(result, said):
    scorer = ByLength()
    with pytest.raises(InvalidInputError, match=said) as caught:
        rerank_with_scorer([SHAPES["ours"], result], "住哪？", scorer)
    assert scorer.texts == []
    assert not any(text in str(caught.value) for text in ("我住在台北", "住哪", "文"))


@pytest.mark.parametrize("results", [{"results": []}, "abc", None, 7])
def test_what_is_no_list_of_results_is_refused(results):
    with pytest.raises(InvalidInputError, match="results is of type .* expected a list of results"):
        rerank_with_scorer(results, "住哪？", ByLength())
