"""What Mastra's rerank functions ask a scorer or a model for, and what they make of its answers."""

import json
import logging
import math
import threading

import numpy as np
import pytest

from mem_opensearch.errors import InvalidInputError, RerankError
from mem_opensearch.rerank.mastra import rerank, rerank_with_scorer
from mem_opensearch.rerank.scoring import Scorer

pytestmark = pytest.mark.unit


class Known:
    """A scorer that knows the score of each text, and remembers how it was asked."""

    def __init__(self, scores, *, most_texts=None, most_characters=None):
        self.scores, self.most_texts, self.most_characters = scores, most_texts, most_characters
        self.name = "known"
        self.calls = []

    def score(self, query, texts):
        self.calls.append((query, list(texts)))
        return [self.scores[text] for text in texts]


def mastra(name, score, text):
    return {"id": name, "score": score, "metadata": {"text": text}}


def three(first, second, third):
    """Three results of the scores 0.9, 0.6, 0.8, and a scorer that gives their texts these scores.

    Their positions are 1 - 0/3 = 1, 1 - 1/3 = 2/3 and 1 - 2/3 = 1/3.
    """
    results = [mastra("a", 0.9, "甲"), mastra("b", 0.6, "乙"), mastra("c", 0.8, "丙")]
    return results, Known({"甲": first, "乙": second, "丙": third})


def test_all_texts_are_asked_in_one_call():
    results, scorer = three(0.1, 0.95, 0.5)
    rerank_with_scorer(results, "谁？", scorer)
    assert scorer.calls == [("谁？", ["甲", "乙", "丙"])]


@pytest.mark.parametrize(
    "metadata",
    [{}, {"text": None}, {"text": ""}, {"text": " \n　"}, None],
    ids=["no key", "None", "empty", "blank", "no metadata"],
)
def test_a_result_without_text_has_a_semantic_score_of_0_without_a_call(metadata, caplog):
    results = [mastra("a", 0.5, "甲"), {"id": "b", "score": 1.0, "metadata": metadata, "document": "不读"}]
    scorer = Known({"甲": 0.5})
    first, second = rerank_with_scorer(results, "问", scorer)
    assert scorer.calls == [("问", ["甲"])]
    assert (first.result["id"], first.score) == ("a", pytest.approx(0.2 + 0.2 + 0.2))
    assert (second.details.semantic, second.score) == (0, pytest.approx(0 + 0.4 + 0.1))
    (record,) = caplog.records
    assert "1 of 2 results have no text" in record.getMessage()
    assert "results[1] (id 'b')" in record.getMessage()


def test_where_no_result_has_a_text_nothing_is_asked():
    scorer = Known({})
    results = [{"id": "a", "score": 0.2}, {"id": "b", "score": 0.9}]
    best = rerank_with_scorer(results, "问", scorer)
    assert [one.score for one in best] == pytest.approx([0.36 + 0.1, 0.08 + 0.2])
    assert scorer.calls == []


def test_a_scorer_that_takes_few_texts_a_call_is_asked_more_than_once():
    scorer = Known({f"t{i}": i / 10 for i in range(7)}, most_texts=3)
    results = [mastra(f"m{i}", 0.5, f"t{i}") for i in range(7)]
    best = rerank_with_scorer(results, "问", scorer, top_k=7)
    assert {one.result["id"]: one.details.semantic for one in best} == {f"m{i}": i / 10 for i in range(7)}
    assert sorted(texts for _, texts in scorer.calls) == [["t0", "t1", "t2"], ["t3", "t4", "t5"], ["t6"]]


def test_a_text_that_is_too_long_for_the_scorer_is_cut():
    scorer = Known({"一二三": 0.5, "一": 0.1}, most_characters=3)
    rerank_with_scorer([mastra("a", 0.5, "一二三四五"), mastra("b", 0.5, "一")], "问", scorer)
    assert scorer.calls == [("问", ["一二三", "一"])]


def test_what_is_given_to_rerank_with_scorer_is_a_scorer():
    assert isinstance(Known({}), Scorer)
    with pytest.raises(InvalidInputError, match=r"type function and has no method score.*goes to rerank\(\)"):
        rerank_with_scorer([], "问", lambda query, text: 0.5)


def test_scores_of_numpy_are_scores():
    class Numpy:
        def score(self, query, texts):
            return np.linspace(0, 1, len(texts), dtype=np.float32)

    results = [mastra("a", np.float32(0.5), "甲"), mastra("b", 0.5, "乙")]
    best = rerank_with_scorer(results, "问", Numpy())
    assert [(one.result["id"], one.details.semantic) for one in best] == [("b", 1.0), ("a", 0.0)]
    json.dumps(best[0].as_dict()["details"])


def test_a_function_is_a_model_that_is_asked_text_by_text():
    results, _ = three(0, 0, 0)
    asked = []

    def model(query, text):
        asked.append((query, text))
        return {"甲": 0.1, "乙": None, "丙": 0.5}[text]

    best = rerank(results, "问", model)
    assert sorted(asked) == [("问", "丙"), ("问", "乙"), ("问", "甲")]
    # b: (0.4 x 0.6 + 0.2 x 2/3) / 0.6 = 0.622; a: 0.04 + 0.36 + 0.2 = 0.6; c: 0.2 + 0.32 + 0.2/3 = 0.587
    assert [(one.result["id"], one.details.semantic) for one in best] == [("b", None), ("a", 0.1), ("c", 0.5)]


def test_a_function_is_asked_by_several_threads():
    together = threading.Barrier(3, timeout=60)

    def model(query, text):
        together.wait()
        return 0.5

    assert len(rerank(three(0, 0, 0)[0], "问", model)) == 3


def test_a_model_with_the_method_of_a_scorer_is_asked_once():
    results, scorer = three(0.1, 0.95, 0.5)
    assert [one.result["id"] for one in rerank(results, "问", scorer)] == ["b", "a", "c"]
    assert len(scorer.calls) == 1


def test_a_text_whose_call_fails_has_no_score_and_the_failure_is_said(caplog):
    def model(query, text):
        if text == "乙":
            raise RerankError("the service is busy", scorer="model", retryable=True)
        return 0.5

    best = rerank(three(0, 0, 0)[0], "问", model)
    assert {one.result["id"]: one.details.semantic for one in best} == {"a": 0.5, "b": None, "c": 0.5}
    assert "1 of 3 calls of scorer 'model' failed" in caplog.text
    assert "the service is busy" in caplog.text


def test_where_every_call_fails_the_failure_is_raised():
    def model(query, text):
        raise RerankError("the service is busy", scorer="model", retryable=True)

    with pytest.raises(RerankError, match="the service is busy") as caught:
        rerank(three(0, 0, 0)[0], "问", model)
    assert caught.value.retryable


def test_a_fault_of_the_model_itself_is_passed_on():
    with pytest.raises(ZeroDivisionError):
        rerank(three(0, 0, 0)[0], "问", lambda query, text: 1 / 0)


@pytest.mark.parametrize("model", [None, "rerank-v3.5", {"score": 1}])
def test_what_is_no_model_is_refused(model):
    with pytest.raises(InvalidInputError, match="model is of type .* expected an object with a method score"):
        rerank(three(0, 0, 0)[0], "问", model)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([0.5, math.nan, 0.5], r"gave nan for results\[1\] \(id 'b'\), expected a number from 0 to 1"),
        ([0.5, 0.5, math.inf], r"gave inf for results\[2\]"),
        ([-0.1, 0.5, 0.5], r"gave -0.1 for results\[0\]"),
        ([0.5, 7.25, 0.5], r"gave 7.25 for results\[1\] .*raw logits go through a sigmoid first"),
        ([0.5, 10**400, 0.5], r"for results\[1\]"),
        ([0.5, "0.5", 0.5], r"gave a str for results\[1\]"),
        ([0.5, True, 0.5], r"for results\[1\]"),
        ([0.5, 0.5], "gave 2 scores for 3 texts"),
        ([0.5] * 4, "gave 4 scores for 3 texts"),
        ([], "gave 0 scores for 3 texts"),
        (None, "gave a NoneType, expected a list of scores"),
        (0.5, "gave a float, expected a list of scores"),
    ],
)
def test_scores_that_are_none_are_refused(answer, said):
    class Liar:
        name = "liar"

        def score(self, query, texts):
            return answer

    with pytest.raises(RerankError, match=said) as caught:
        rerank_with_scorer(three(0, 0, 0)[0], "问", Liar())
    assert caught.value.scorer == "liar"
    assert not caught.value.retryable
    assert not any(text in str(caught.value) for text in ("甲", "乙", "丙", "问"))


def test_rounding_is_no_lie():
    results = [mastra("a", 1.0000001, "甲"), mastra("b", -1e-9, "乙")]
    best = rerank_with_scorer(results, "问", Known({"甲": 1.0000001, "乙": -1e-9}))
    assert [(one.details.semantic, one.details.vector) for one in best] == [(1.0, 1.0), (0.0, 0.0)]


def test_texts_and_queries_are_not_logged(caplog):
    caplog.set_level(logging.DEBUG)
    rerank([mastra("a", 0.5, "秘密"), {"id": "b", "score": 0.1}], "私事", lambda query, text: 0.5)
    assert caplog.records
    assert not any(word in caplog.text for word in ("秘密", "私事"))
