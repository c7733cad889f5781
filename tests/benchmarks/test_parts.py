"""The parts of benchmarks: the data are what they say, and the hand-written floor writes what the store writes."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # benchmarks are no installed package

from benchmarks import measure  # noqa: E402
from benchmarks.contenders import ExactScan  # noqa: E402
from benchmarks.data import NOISE, Memories, id_of  # noqa: E402
from benchmarks.measure import interleave, ratio, rotated  # noqa: E402
from benchmarks.raw import load  # noqa: E402
from benchmarks.wire import watching  # noqa: E402
from mem_opensearch import OpenSearchVectorStore  # noqa: E402
from mem_opensearch.errors import InvalidInputError  # noqa: E402


class Hashed:
    """An embedder that costs nothing: a random unit vector for each text."""

    name, dims = "hashed", 16

    def embed_documents(self, texts):
        rows = [np.random.default_rng(list(text.encode())).standard_normal(self.dims) for text in texts]
        return np.stack([row / np.linalg.norm(row) for row in rows]).astype(np.float32)

    embed_queries = embed_documents


def test_memories_are_the_same_each_time_and_no_two_are_equal():
    first, again = Memories(4000, Hashed(), users=(10, 1)), Memories(4000, Hashed(), users=(10, 1))
    blocks = list(first.blocks(700))
    assert [len(block.texts) for block in blocks] == [700] * 5 + [500]
    (part,) = again.blocks(50, first=3000, last=3050)
    np.testing.assert_array_equal(part.vectors, blocks[4].vectors[200:250])
    assert part.texts == blocks[4].texts[200:250]
    assert part.ids[0] == id_of(3000)
    texts = [text for block in blocks for text in block.texts]
    assert len(set(texts)) > 3900  # a number of one digit may be drawn twice
    vectors = np.concatenate([block.vectors for block in blocks])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    known = len(first._texts)
    cosine = (vectors[known : 2 * known] * vectors[:known]).sum(axis=1).mean()
    assert cosine == pytest.approx(1 / np.sqrt(1 + NOISE**2), abs=0.02)


def test_users_are_told_apart_by_their_filter():
    memories = Memories(300, Hashed(), users=(7, 1))
    (block,) = memories.blocks(300)
    for question in memories.questions[:5]:
        for users in (7, 1):
            ((key, value),) = memories.filter_for(question, users).items()
            rows = [row for row, payload in enumerate(block.payloads) if payload[key] == value]
            assert rows == list(range(300))[memories.rows_for(question, users)]
            assert question.row in rows


def test_the_exact_scan_finds_the_nearest():
    memories = Memories(300, Hashed(), users=(3,))
    exact = ExactScan(memories)
    (block,) = memories.blocks(300)
    exact.take(block)
    question = memories.questions[0]
    rows = memories.rows_for(question, 3)
    cosines = {row: float(block.vectors[row] @ question.vector) for row in range(300)[rows]}
    assert exact.nearest(question, rows, 5) == sorted(cosines, key=lambda row: -cosines[row])[:5]


@pytest.mark.parametrize("given", [{"size": 0}, {"users": (1, 2, 3, 4)}, {"users": (0,)}])
def test_sizes_that_make_no_sense_are_refused(given):
    with pytest.raises(InvalidInputError):
        Memories(given.get("size", 10), Hashed(), users=given.get("users", (1,)))


def test_the_floor_writes_what_the_store_writes(make_store, opensearch_url, collection):
    store = make_store(embedding_model_dims=16, annotate=False)
    memories = Memories(20, Hashed(), users=(2, 3, 1))
    (block,) = memories.blocks(20)
    store.create_col()
    sources = []
    for write in (
        lambda: store.insert(list(block.vectors), block.payloads, block.ids),
        lambda: load(opensearch_url, collection, [block]),
    ):
        write()
        found = store.client.request("GET", f"/{collection}/_doc/{block.ids[3]}")["_source"]
        sources.append(found)
    assert sources[0] == sources[1]


def test_requests_and_bytes_are_counted_and_counting_ends(opensearch_url, collection):
    store = OpenSearchVectorStore(url=opensearch_url, collection_name=collection, embedding_model_dims=4)
    store.create_col()
    with watching() as wire:
        store.insert([[1, 0, 0, 0]], [{"data": "一"}], ["m1"])
        store.get("m1")
    assert [request.method for request in wire.requests] == ["POST", "POST"]  # in bulk, and by id
    assert '"一"'.encode() in wire.requests[0].body
    assert wire.per_call(2)["requests"] == 1
    assert wire.per_call(1)["bytes_sent"] == sum(len(request.body) for request in wire.requests)
    store.get("m1")
    assert len(wire.requests) == 2
    store.close()


def test_each_turn_has_another_order_and_every_system_its_turn():
    seen = []
    times = interleave({name: [lambda name=name: seen.append(name) or [name]] * 2 for name in "ABC"}, rounds=3)
    assert seen[:6] == list("AABBCC")  # warming up
    turns = [number + turn for number in range(3) for turn in range(2)]
    assert seen[6:] == [name for turn in turns for name in rotated("ABC", turn)]
    assert all(len(each.every) == 6 and each.found == [1] * 6 for each in times.values())
    assert ratio(times["A"], times["A"]) == 1


def test_a_slow_system_gets_fewer_questions_and_others_each_round(monkeypatch):
    seen = []
    monkeypatch.setattr(measure, "ROUND_SECONDS", 0.05)
    slow = [lambda name=name: time.sleep(0.02) or seen.append(name) or [name] for name in "ABCD"]
    times = interleave({"slow": slow, "fast": [list] * 4}, rounds=2)
    assert len(times["fast"].found) == 8
    assert 2 <= len(times["slow"].found) <= 4
    measured = seen[measure.TRIED :]
    assert len(set(measured)) == len(measured)
