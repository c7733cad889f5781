"""mem0's `rerank=True` over our second stage: its own providers, ours, and whatever a caller brings."""

from __future__ import annotations

import asyncio
import json

import pytest
from werkzeug import Response

import mem_opensearch.mem0 as bridge
from mem_opensearch.errors import ConfigError
from mem_opensearch.mem0.reranking import CLASSES, Mem0Reranker
from mem_opensearch.rerank import AnswerScorer, Reranker

SCOPE = {"user_id": "lin"}
CUPS = [f"第{number}杯咖啡" for number in range(25)]


@pytest.fixture
def memory(config):
    memory = bridge.Memory.from_config(config)
    yield memory
    memory.close()


def found(answer):
    return [result["memory"] for result in answer["results"]]


def scores_by(wanted):
    """A rerank service that gives 1 to what holds `wanted`, and less to what comes later."""

    def answer(request):
        documents = request.get_json()["documents"]
        scored = [(1.0 if wanted in text else 0.5 / (1 + at), at) for at, text in enumerate(documents)]
        results = [{"index": at, "relevance_score": score} for score, at in sorted(scored, reverse=True)]
        return Response(json.dumps({"results": results}), content_type="application/json")

    return answer


def test_a_memory_far_down_comes_first_by_mem0s_own_section(config, httpserver, add_texts):
    """The right one of 25 alike is the last of them, far below the five that a search without a reranker gives."""
    options = {"url": httpserver.url_for("/v2/rerank"), "api_key": "k", "model": "rerank-v3.5", "pool": 5}
    config["reranker"] = {"provider": "cohere", "config": options}
    memory = bridge.Memory.from_config(config)
    add_texts("lin", CUPS)
    plain = memory.search("咖啡", filters=SCOPE, top_k=25)
    assert all("rerank_score" not in result for result in plain["results"])
    right = found(plain)[-1]
    httpserver.expect_request("/v2/rerank", method="POST").respond_with_handler(scores_by(right))
    answer = memory.search("咖啡", filters=SCOPE, top_k=5, rerank=True, explain=True)
    assert found(answer)[0] == right
    first = answer["results"][0]
    assert first["rerank_score"] == 1.0
    assert 0 < first["score"] < 1.0  # of all signals, untouched
    assert first["score_details"]["rerank"]["rank"] == 1
    assert len(answer["results"]) == 5
    assert "degraded" not in answer
    request = httpserver.log[0][0]
    assert request.headers["Authorization"] == "Bearer k"
    assert len(request.get_json()["documents"]) == 25
    memory.close()


def test_mem0s_own_class_reranks_the_page_that_it_has(config, httpserver, memory, add_texts):
    """Without our read path mem0 hands over what is left after the cut; a failure is no fake score."""
    from mem0 import Memory

    httpserver.expect_request("/v2/rerank", method="POST").respond_with_handler(scores_by("第2杯"))
    config["reranker"] = {"provider": "cohere", "config": {"url": httpserver.url_for("/v2/rerank"), "api_key": "k"}}
    add_texts("lin", CUPS[:4])
    plain = Memory.from_config(config)
    results = plain.search("咖啡", filters=SCOPE, top_k=4, rerank=True)["results"]
    assert results[0]["memory"] == "第2杯咖啡"
    assert results[0]["rerank_score"] == 1.0
    httpserver.clear()
    httpserver.expect_request("/v2/rerank").respond_with_data("", status=401)
    results = plain.search("咖啡", filters=SCOPE, top_k=4, rerank=True)["results"]
    assert len(results) == 4
    assert all("rerank_score" not in result for result in results)
    plain.close()


def test_the_reranker_without_a_model(config, add_texts):
    config["reranker"] = {"provider": "answers", "config": {"pool": 3}}
    memory = bridge.Memory.from_config(config)
    add_texts("lin", ["我和同事組了一個羽毛球小組，每週打球", "小組裡有八個人左右，都是同事"])
    query = "我的羽毛球小組有多少人？"
    assert found(memory.search(query, filters=SCOPE, rerank=True))[0] == "小組裡有八個人左右，都是同事"
    memory.close()


def test_a_second_stage_of_ours_is_taken_as_it_is(memory, add_texts):
    add_texts("lin", ["我和同事組了一個羽毛球小組，每週打球", "小組裡有八個人左右，都是同事"])
    memory.reranker = Reranker(AnswerScorer(), weight=0.5)
    assert found(memory.search("小組有多少人？", filters=SCOPE, rerank=True))[0].startswith("小組裡")


def test_async(config, add_texts):
    add_texts("lin", ["我和同事組了一個羽毛球小組，每週打球", "小組裡有八個人左右，都是同事"])
    config["reranker"] = {"provider": "answers"}

    async def main():
        memory = bridge.AsyncMemory.from_config(config)
        answer = await memory.search("我的羽毛球小組有多少人？", filters=SCOPE, rerank=True)
        memory.close()
        return answer

    first = asyncio.run(main())["results"][0]
    assert first["memory"].startswith("小組裡")
    assert first["rerank_score"] > 0


def test_a_language_model_of_mem0s(config, httpserver, chat_model, add_texts):
    """One call with all memories, by mem0's own language model; its `provider` is the model's."""
    seen = []

    def answer(request):
        body = request.get_json()
        seen.append(body)
        count = body["messages"][-1]["content"].count("杯咖啡")
        scores = {"scores": [{"id": at + 1, "score": 10 if at == count - 1 else at % 5} for at in range(count)]}
        message = {"role": "assistant", "content": json.dumps(scores)}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        shape = {"id": "1", "object": "chat.completion", "created": 1, "model": "stub", "choices": [choice]}
        return Response(json.dumps(shape), content_type="application/json")

    httpserver.expect_request("/judge/chat/completions", method="POST").respond_with_handler(answer)
    nested = {"provider": "openai", "config": {"api_key": "no-key", "openai_base_url": httpserver.url_for("/judge")}}
    config["reranker"] = {"provider": "llm_reranker", "config": {"model": "stub", "llm": nested}}
    memory = bridge.Memory.from_config(config)
    add_texts("lin", CUPS[:6])
    answer = memory.search("咖啡", filters=SCOPE, top_k=2, rerank=True)
    assert "degraded" not in answer
    assert answer["results"][0]["rerank_score"] == 1.0
    assert len(seen) == 1
    memory.close()


def test_no_reranker_is_said(memory, add_texts):
    add_texts("lin", CUPS[:2])
    answer = memory.search("咖啡", filters=SCOPE, rerank=True)
    assert answer["degraded"] == ["rerank: the memory has no reranker"]
    assert len(answer["results"]) == 2


@pytest.mark.parametrize(
    ("provider", "options", "said"),
    [
        ("cohere", {"api_key": "k", "colour": 1}, "colour"),
        ("cohere", {"api_key": "k", "pool": 0}, "'pool'"),
        ("cohere", {"api_key": "k", "deadline": "soon"}, "reranker"),
        ("answers", {"api_key": "k"}, "api_key"),
    ],
)
def test_options_without_effect_are_refused(config, provider, options, said):
    config["reranker"] = {"provider": provider, "config": options}
    with pytest.raises(ConfigError, match=said):
        bridge.Memory.from_config(config)


def test_all_are_known_to_mem0_while_registered(registered):
    from mem0.utils.factory import RerankerFactory

    built = RerankerFactory.create("answers", {"top_k": 1})
    assert isinstance(built, Mem0Reranker)
    documents = [{"id": "1", "memory": "打球"}, {"id": "2", "memory": "八個人"}]
    assert [one["id"] for one in built.rerank("有多少人？", documents)] == ["2"]
    assert built.rerank("有多少人？", []) == []
    assert set(CLASSES) <= set(RerankerFactory.provider_to_class)
    bridge.unregister()
    assert set(RerankerFactory.provider_to_class) == {
        "cohere",
        "sentence_transformer",
        "zero_entropy",
        "llm_reranker",
        "huggingface",
    }
    assert RerankerFactory.provider_to_class["cohere"][0].startswith("mem0.")


# -- rerankers that are not ours


class Reversing:
    def __init__(self):
        self.seen = []

    def rerank(self, query, memories, top_k):
        self.seen.append(memories)
        return memories[::-1][:top_k]


def test_a_foreign_reranker_sees_more_than_is_wanted_and_whole_results(memory, add_texts):
    add_texts("lin", CUPS[:9])
    memory.reranker = Reversing()
    plain = memory.search("咖啡", filters=SCOPE, top_k=8)
    answer = memory.search("咖啡", filters=SCOPE, top_k=2, rerank=True)
    assert found(answer) == found(plain)[::-1][:2]
    (seen,) = memory.reranker.seen
    assert len(seen) == 8
    assert seen[0].keys() >= {"id", "memory", "score", "metadata", "created_at"}


def broken(query, memories, top_k):
    raise RuntimeError(memories[0]["memory"])


@pytest.mark.parametrize(
    ("rerank", "said"),
    [
        (broken, "rerank: Lying failed: RuntimeError"),
        (lambda query, memories, top_k: [{**one, "rerank_score": 0.0} for one in memories], "rerank: constant scores"),
        (lambda query, memories, top_k: [{"id": "no", "memory": "x"}], "rerank: Lying gave results that it was not"),
        (lambda query, memories, top_k: [memories[0]] * 2, "rerank: Lying gave results that it was not given, or one"),
        (lambda query, memories, top_k: None, "rerank: Lying failed: TypeError"),
    ],
)
def test_a_foreign_reranker_that_fails_or_lies_changes_nothing(memory, add_texts, rerank, said):
    add_texts("lin", CUPS)

    class Lying:
        def rerank(self, query, memories, top_k):
            return rerank(query, memories, top_k)

    memory.reranker = Lying()
    for wanted in ({"top_k": 2}, {}):  # without `top_k`, it is mem0's own
        answer = memory.search("咖啡", filters=SCOPE, rerank=True, **wanted)
        assert answer["results"] == memory.search("咖啡", filters=SCOPE, **wanted)["results"]
        assert len(answer["results"]) == wanted.get("top_k", 20)
        (sentence,) = answer["degraded"]
        assert sentence.startswith(said)


def test_what_a_foreign_reranker_leaves_out_keeps_its_place(memory, add_texts):
    add_texts("lin", CUPS[:4])
    plain = found(memory.search("咖啡", filters=SCOPE))

    class Partial:
        def rerank(self, query, memories, top_k):
            return [{**memories[2], "rerank_score": 0.9}, {**memories[0], "rerank_score": 0.2}]

    memory.reranker = Partial()
    answer = memory.search("咖啡", filters=SCOPE, rerank=True)
    assert found(answer) == [plain[2], plain[1], plain[0], plain[3]]
    assert [result.get("rerank_score") for result in answer["results"]] == [0.9, None, 0.2, None]


def test_an_object_that_can_not_rerank(memory, add_texts):
    add_texts("lin", CUPS[:2])
    memory.reranker = object()
    with pytest.raises(ConfigError, match="no method 'rerank'"):
        memory.search("咖啡", filters=SCOPE, rerank=True)
