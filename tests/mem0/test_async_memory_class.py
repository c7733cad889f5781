"""`mem_opensearch.mem0.AsyncMemory`: many searches at once, and a loop that goes on."""

from __future__ import annotations

import asyncio
import asyncio.events
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import mem_opensearch.mem0 as bridge

SCOPE = {"user_id": "lin"}
SECONDS = 0.2
SEARCHES, REQUESTS, CONNECTIONS = 200, 2, 20


@pytest.fixture
def slow_url(opensearch_url):
    """A server that takes SECONDS for a search."""
    program = Path(__file__).parent / "slow_server.py"
    command = [sys.executable, str(program), opensearch_url, str(SECONDS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip()
        process.terminate()


def run(config, steps):
    async def main():
        memory = bridge.AsyncMemory.from_config(config)
        try:
            return await steps(memory)
        finally:
            memory.close()

    return asyncio.run(main())


def test_the_main_path(config):
    async def steps(memory):
        added = await memory.add("專案代號是ＰＸ－４４１", **SCOPE, infer=False)
        answer = await memory.search("px441 是什么？", filters=SCOPE, explain=True, mode="rrf")
        assert answer["results"][0]["id"] == added["results"][0]["id"]
        assert answer["results"][0]["score_details"]["mode"] == "rrf"
        assert (await memory.search("咖啡", filters={"user_id": "chen"}))["empty"]
        assert (await memory.why("px441", added["results"][0]["id"], filters=SCOPE)).reason == "found"

    run(config, steps)


def test_mem0s_own_class_searches_as_ours_does(config):
    bridge.register(patch=True)
    from mem0 import AsyncMemory

    async def main():
        memory = AsyncMemory.from_config(config)
        await memory.add("專案代號是ＰＸ－４４１", **SCOPE, infer=False)
        answer = await memory.search("px441", filters=SCOPE, explain=True, mode="union")
        assert answer["results"][0]["score_details"]["gate"] == "identifier"
        memory.close()

    asyncio.run(main())


class Durations:
    """How long each callback of a loop ran: on the clock, and on this thread's processor."""

    def __init__(self, monkeypatch):
        self.wall = self.processor = 0.0
        run_handle = asyncio.events.Handle._run

        def watched(handle):
            wall, processor = time.perf_counter(), time.thread_time()
            try:
                return run_handle(handle)
            finally:
                self.wall = max(self.wall, time.perf_counter() - wall)
                self.processor = max(self.processor, time.thread_time() - processor)

        monkeypatch.setattr(asyncio.events.Handle, "_run", watched)


def seconds_of_bare_requests(store):
    """Return what the same number of requests takes over as many connections, with nothing done about them."""
    body = {"query": {"match_all": {}}}
    started = time.perf_counter()
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        paths = [f"/{store.collection_name}/_search"] * (SEARCHES * REQUESTS)
        list(threads.map(lambda path: store.client.request("POST", path, body=body), paths))
    return time.perf_counter() - started


def test_200_searches_at_once(config, slow_url, monkeypatch):
    """They take what the connections allow, twice that at most, and none of them holds the loop up.

    What the connections allow is measured in the same run: two requests for each search, and nothing else.

    A callback that computes shows by its processor time; one that waits for the server by its time on the clock, which
    would be an answer's 200 ms. The clock alone would also count what other programs of this machine take away.
    """
    config["vector_store"]["config"] |= {"url": slow_url, "pool_maxsize": CONNECTIONS}

    async def steps(memory):
        await memory.add("專案代號是ＰＸ－４４１", **SCOPE, infer=False)
        await memory.search(
            "px441 是什么？", filters=SCOPE
        )  # looks at the index, loads the model, measures the background
        (vector,) = memory.embedding_model.embed_batch(["px441 是什么？"], "search")
        memory.embedding_model.embed = lambda text, memory_action=None: vector
        floor = await asyncio.to_thread(seconds_of_bare_requests, memory.vector_store)
        durations = Durations(monkeypatch)
        started = time.perf_counter()
        answers = await asyncio.gather(
            *(memory.search(f"px441 是什么？{number}", filters=SCOPE) for number in range(SEARCHES))
        )
        seconds = time.perf_counter() - started
        assert all(answer["results"] for answer in answers)
        assert durations.processor < 0.02
        assert durations.wall < SECONDS
        assert floor > 0.9 * SEARCHES * REQUESTS * SECONDS / CONNECTIONS
        assert seconds < 2 * floor

    run(config, steps)
