"""What an operation costs in requests, bytes, calls and memory, which no busy machine changes; never in seconds.

They stand in costs.json beside this file, with how far each may rise. `scripts/measure-costs` writes them anew after a
change that is meant to cost more, or to cost less.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tracemalloc
from pathlib import Path

import pytest
import urllib3

from mem_opensearch import EntityLinker, EntityStore, MemoryText, OpenSearchVectorStore, Searcher

COSTS = Path(__file__).with_name("costs.json")
WRITES = "MEM_OPENSEARCH_WRITE_COSTS"
MARGINS = {"requests": 0.0, "sent_bytes": 0.02, "received_bytes": 0.05, "calls": 0.05, "peak_bytes": 0.15}
"""How far each may rise: the server's times and scores have more digits one time than another."""

OF_THE_INTERPRETER = ("calls", "peak_bytes")  # other versions of Python make another number of calls
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

DIMS, ROWS = 64, 300
USER = {"user_id": "lin"}
PLACES = ["大安區", "柏林", "里斯本", "植物園", "茶館", "火車站"]


def vector(seed):
    numbers = random.Random(seed)
    return [round(numbers.gauss(0, 1), 6) for _ in range(DIMS)]


def payload(number):
    text = f"第{number}次去{PLACES[number % len(PLACES)]}，買了{number % 7}杯茶"
    return {"data": text, "created_at": f"2026-03-{1 + number % 28:02d}T08:00:00+00:00", **USER}


class Costs:
    """Measures one call of an operation, after two that warm it up."""

    def __init__(self, monkeypatch):
        self.sent = []
        urlopen = urllib3.connectionpool.HTTPConnectionPool.urlopen

        def counted(pool, method, url, body=None, **more):
            answer = urlopen(pool, method, url, body=body, **more)
            self.sent.append((len(body or b""), len(answer.data)))
            return answer

        monkeypatch.setattr(urllib3.connectionpool.HTTPConnectionPool, "urlopen", counted)

    def of(self, operation):
        for number in range(2):
            operation(number)
        self.sent.clear()
        tracemalloc.start()
        try:
            operation(2)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        requests = list(self.sent)
        return {
            "requests": len(requests),
            "sent_bytes": sum(sent for sent, _ in requests),
            "received_bytes": sum(received for _, received in requests),
            "calls": calls_of(lambda: operation(3)),
            "peak_bytes": peak,
        }


def calls_of(operation):
    """Return how many functions a call calls in this thread: what it computes, whatever the machine does beside it."""
    count = 0

    def counted(_frame, event, _argument):
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        operation()
    finally:
        sys.setprofile(before)
    return count


@pytest.fixture
def costs(monkeypatch):
    return Costs(monkeypatch)


@pytest.fixture
def store(opensearch_url, collection):
    """A store of memories that share words, some of them linked to a name."""
    opened = OpenSearchVectorStore(url=opensearch_url, collection_name=collection, embedding_model_dims=DIMS)
    rows = range(ROWS)
    opened.insert([vector(n) for n in rows], [payload(n) for n in rows], [f"m{n}" for n in rows])
    yield opened
    opened.close()


@pytest.fixture
def entities(store):
    opened = EntityStore.beside(store, embed=lambda names: [vector(name) for name in names])
    rows = [MemoryText(f"m{n}", payload(n)["data"], USER, ["阿福"]) for n in range(0, ROWS, 10)]
    EntityLinker(opened).link(rows)
    yield opened
    opened.delete_col()
    opened.close()


def operations(store, entities):
    """Return name -> what is measured; each is told how often it was done before."""
    searcher = Searcher(store, entities=entities)
    new = [payload(n) for n in range(100)]

    def insert(number, count):
        ids = [f"new{number}-{n}" for n in range(count)]
        store.insert([vector(row_id) for row_id in ids], new[:count], ids)

    def search(question, **options):
        return lambda _: searcher.search(question, vector=vector("question"), filters=USER, top_k=10, **options)

    return {
        "search, union": search("哪天去了植物園喝茶"),
        "search, union, with a known name": search("阿福去了哪裡"),
        "search, rrf, explained": search("哪天去了植物園喝茶", mode="rrf", explain=True),
        "search by meaning alone": lambda _: store.search("", vector("question"), top_k=10, filters=USER),
        "search by words alone": lambda _: store.keyword_search("植物園 茶", top_k=10, filters=USER),
        "get": lambda _: store.get("m1"),
        "list of 100": lambda _: store.list(USER, top_k=100),
        "insert of 1": lambda number: insert(number, 1),
        "insert of 100": lambda number: insert(number, 100),
        "update": lambda number: store.update("m1", payload=payload(number)),
        "delete": lambda number: store.delete(f"m{200 + number}"),
        "link": lambda number: entities.link("阿福", f"m{number}", USER),
    }


@pytest.fixture
def measured(store, entities, costs):
    figures = {name: costs.of(operation) for name, operation in operations(store, entities).items()}
    if os.environ.get(WRITES):
        written = {"python": PYTHON, "operations": figures}
        COSTS.write_text(json.dumps(written, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return figures


def test_nothing_costs_more_than_it_did(measured):
    known = json.loads(COSTS.read_text(encoding="utf-8"))
    assert measured.keys() == known["operations"].keys()
    left_out = OF_THE_INTERPRETER if known["python"] != PYTHON else ()
    compared = {
        name: {figure: value for figure, value in figures.items() if figure not in left_out}
        for name, figures in measured.items()
    }
    assert risen(compared, known["operations"]) == []


def risen(measured, known):
    """Return a sentence for each figure that is above what is known by more than its margin."""
    return [
        f"{name}: {figure} {value:,}, before {known[name][figure]:,} ({value / known[name][figure] - 1:+.0%}); if that "
        "is meant, run scripts/measure-costs"
        for name, figures in measured.items()
        for figure, value in figures.items()
        if value > known[name][figure] * (1 + MARGINS[figure])
    ]


@pytest.mark.parametrize(("figure", "margin"), MARGINS.items())
def test_a_figure_that_rises_is_named(figure, margin):
    known = {"get": dict.fromkeys(MARGINS, 1000)}
    assert risen({"get": known["get"] | {figure: int(1000 * (1 + margin))}}, known) == []
    (said,) = risen({"get": known["get"] | {figure: int(1000 * (1 + margin)) + 1}}, known)
    assert f"get: {figure} 1," in said


def test_calls_are_counted():
    assert calls_of(lambda: [abs(-1) for _ in range(50)]) == pytest.approx(50, abs=5)
