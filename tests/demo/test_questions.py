"""The questions belong to the data, and were chosen by the rule that their file states."""

import pytest

from mem_opensearch.demo.load import load_memories, load_queries
from mem_opensearch.demo.questions import QUESTIONS
from mem_opensearch.demo.summarise import meaning_rank
from mem_opensearch.embed import load_embedder
from mem_opensearch.text import fold

pytestmark = pytest.mark.unit

# Variant (in keyword_zh) or data set of each question that was taken over unchanged and whose kind the data name.
NAMED_KINDS = {"kw-k07-q0": "hyphenless", "kw-k09-q3": "fullwidth", "tmp-t01-q0": "tmp-", "ent-e01-q0": "ent-"}


@pytest.fixture(scope="module")
def memories():
    return {memory.id: memory for memory in load_memories()}


@pytest.fixture(scope="module")
def queries():
    return {query["id"]: query for query in load_queries()}


@pytest.fixture(scope="module")
def rank_by_meaning(memories):
    """Where the exact cosine puts a memory among those of its user, for a query."""
    embedder = load_embedder("use")

    def rank(query, user_id, relevant):
        mine = [memory for memory in memories.values() if memory.user_id == user_id]
        cosines = embedder.embed_documents([memory.text for memory in mine]) @ embedder.embed_queries([query])[0]
        return meaning_rank(relevant, {memory.id: float(cosine) for memory, cosine in zip(mine, cosines, strict=True)})

    return rank


def test_the_data_are_complete(memories, queries):
    assert len(memories) == len(load_memories()) == 1572  # so no id occurs twice
    assert len({memory.user_id for memory in memories.values()}) == 36
    assert {memory.dataset for memory in memories.values()} == {"temporal_zh", "keyword_zh", "entity_zh"}
    assert all(memory.text.strip() and memory.created_at and memory.role for memory in memories.values())
    assert all(set(query["relevant"]) <= set(memories) for query in queries.values())


def test_every_right_memory_exists_and_is_its_users(memories):
    assert len(QUESTIONS) == 10
    for question in QUESTIONS:
        assert memories[question.relevant].user_id == question.user_id


def test_the_right_memory_is_the_one_that_the_data_name(queries):
    taken = [question for question in QUESTIONS if question.source]
    assert len(taken) == 9
    for question in taken:
        assert queries[question.source]["relevant"] == [question.relevant]
        # Two are written in the other script, letter by letter; folding makes both one.
        assert fold(queries[question.source]["query"]) == fold(question.query)


def test_both_scripts_are_asked():
    rewritten = {question.query for question in QUESTIONS if question.kind.startswith(("traditional", "simplified"))}
    assert rewritten == {"逄若虛醫生週幾出門診？", "郏小棠教练教什么？"}


def test_each_is_the_first_of_its_kind(queries, rank_by_meaning):
    chosen = {question.source: question for question in QUESTIONS}
    for source, kind in NAMED_KINDS.items():
        same_kind = [q for q in queries.values() if q.get("variant") == kind or q["id"].startswith(kind)]
        if chosen[source].hard:
            same_kind = [q for q in same_kind if rank_by_meaning(q["query"], q["user_id"], q["relevant"][0]) > 3]
        assert same_kind[0]["id"] == source


def test_hard_ones_are_not_found_by_meaning_and_easy_ones_are(rank_by_meaning):
    ranks = {question: rank_by_meaning(question.query, question.user_id, question.relevant) for question in QUESTIONS}
    assert all(ranks[question] > 3 for question in QUESTIONS if question.hard)
    assert sum(rank == 1 for rank in ranks.values()) >= 2
