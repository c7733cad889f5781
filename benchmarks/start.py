"""How long it takes to begin: importing the package, and the first search of a new process."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
import uuid
from typing import TYPE_CHECKING, Any, Final

from benchmarks import machine
from benchmarks.contenders import OurCollection

if TYPE_CHECKING:
    from benchmarks.contenders import Tick
    from benchmarks.data import Memories

IMPORTS: Final = {
    "python alone": "pass",
    "import mem_opensearch": "import mem_opensearch",
    "from mem_opensearch import OpenSearchVectorStore": "from mem_opensearch import OpenSearchVectorStore",
    "from mem_opensearch.search import Searcher": "from mem_opensearch.search import Searcher",
    "from mem_opensearch.mem0 import Memory": "from mem_opensearch.mem0 import Memory",
    "from mem0 import Memory": "from mem0 import Memory",
}

_FIRST = """
import json, sys, time
began = time.perf_counter()
from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.search import Searcher
given = json.load(sys.stdin)
store = OpenSearchVectorStore(url=given["url"], collection_name=given["name"], embedding_model_dims=given["dims"])
searcher = Searcher(store)
seconds, requests = [], []
ready = time.perf_counter() - began
for question in given["questions"]:
    sent, start = store.client.requests, time.perf_counter()
    searcher.search(question["text"], vector=question["vector"], filters=question["filters"])
    seconds.append(time.perf_counter() - start)
    requests.append(store.client.requests - sent)
print(json.dumps({"imported": ready, "seconds": seconds, "requests": requests}))
"""
"""A process that searches for a few questions, whose vectors it is given: the model of the embedder is not loaded."""

QUESTIONS: Final = 5


def run(url: str, memories: Memories, *, rounds: int, tick: Tick) -> dict[str, Any]:
    """Measure; every process is a new one.

    Args:
        url: the server.
        memories: what is searched, and the questions.
        rounds: how often each is started.
        tick: told what is done.
    """
    about = machine.facts(url)
    imports: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for number in range(rounds + 1):  # the first reads files that nobody has read yet, and does not count
        for name, code in IMPORTS.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)  # noqa: S603 - our own code
            if number:
                imports[name].append(time.perf_counter() - start)
        tick("importing", number, rounds)
    medians = {name: round(statistics.median(found) * 1000, 1) for name, found in imports.items()}
    first = _first_searches(url, memories, rounds, tick)
    return {
        "benchmark": "start",
        "medians_ms": {**medians, **first["medians_ms"]},
        "above_python_ms": {name: round(each - medians["python alone"], 1) for name, each in medians.items()},
        "requests_of_searches": first["requests"],
        "runs": rounds,
        "data": memories.facts(),
        "machine": about,
    }


def _first_searches(url: str, memories: Memories, rounds: int, tick: Tick) -> dict[str, Any]:
    with OurCollection(url, f"bench-{uuid.uuid4().hex[:8]}", memories) as ours:
        ours.fill(tick)
        given = {
            "url": url,
            "name": ours.store.collection_name,
            "dims": memories.dims,
            "questions": [
                {
                    "text": each.text,
                    "vector": each.vector.tolist(),
                    "filters": memories.filter_for(each, memories.users[0]),
                }
                for each in memories.questions[:QUESTIONS]
            ],
        }
        found = []
        for number in range(rounds):
            answer = subprocess.run(  # noqa: S603 - our own code
                [sys.executable, "-c", _FIRST], input=json.dumps(given).encode(), check=True, capture_output=True
            )
            found.append(json.loads(answer.stdout))
            tick("first searches", number + 1, rounds)
    return {
        "medians_ms": {
            "first search, imported": _median([each["seconds"][0] for each in found]),
            "second search": _median([each["seconds"][1] for each in found]),
            "later searches": _median([second for each in found for second in each["seconds"][2:]]),
        },
        "requests": found[0]["requests"],
    }


def _median(seconds: list[float]) -> float:
    return round(statistics.median(seconds) * 1000, 1) if seconds else 0.0
