"""`mem_opensearch.mem0.AsyncMemory`: many searches at once, and a loop that goes on."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import multiprocessing
import selectors
import subprocess
import sys
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import mem_opensearch.mem0 as bridge
from mem_opensearch import turns
from mem_opensearch.client.transport import NoAnswer
from mem_opensearch.errors import BackendUnavailable, VectorError
from mem_opensearch.mem0 import threads
from mem_opensearch.search import asking, names, ranking, request, signals

SCOPE = {"user_id": "lin"}
SECONDS = 0.2
SEARCHES, REQUESTS, CONNECTIONS = 200, 2, 20
ALLOWED = SEARCHES * REQUESTS * SECONDS / CONNECTIONS
"""Seconds that the connections are busy with that many searches."""
LATE = 0.02
ROUNDS = 6


@pytest.fixture
def slow_url(opensearch_url):
    """A server that takes SECONDS for a search."""
    program = Path(__file__).parent / "slow_server.py"
    command = [sys.executable, str(program), opensearch_url, str(SECONDS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip()
        process.terminate()


def run(config, steps, *, selector=None):
    async def main():
        memory = bridge.AsyncMemory.from_config(config)
        try:
            return await steps(memory)
        finally:
            memory.close()

    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        return runner.run(main())


def use_one_vector(memory):
    """Give every question the same vector, which costs nothing; return it."""
    (vector,) = memory.embedding_model.embed_batch(["px441 是什么？"], "search")
    memory.embedding_model.embed = lambda text, memory_action=None: vector
    return vector


class NoThreads(ThreadPoolExecutor):
    """A default executor that does nothing."""

    def submit(self, work, *_, **__):
        raise AssertionError(f"{work} was given to the default executor")


def test_the_main_path(config):
    async def steps(memory):
        added = await memory.add("專案代號是ＰＸ－４４１", **SCOPE, infer=False)
        answer = await memory.search("px441 是什么？", filters=SCOPE, explain=True, mode="rrf")
        assert answer["results"][0]["id"] == added["results"][0]["id"]
        assert answer["results"][0]["score_details"]["mode"] == "rrf"
        assert (await memory.search("咖啡", filters={"user_id": "chen"}))["empty"]
        assert (await memory.why("px441", added["results"][0]["id"], filters=SCOPE)).reason == "found"

    run(config, steps)


def test_mem0s_own_class_searches_as_ours_does(patched, config):
    from mem0 import AsyncMemory

    async def main():
        memory = AsyncMemory.from_config(config)
        await memory.add("專案代號是ＰＸ－４４１", **SCOPE, infer=False)
        answer = await memory.search(query="px441", filters=SCOPE, explain=True, mode="union")
        assert answer["results"][0]["score_details"]["gate"] == "identifier"
        both = {"AND": [{"user_id": "chen"}]}
        assert (await memory.search("px441", filters={**SCOPE, **both}))["results"] == []
        memory.close()

    asyncio.run(main())


def test_no_search_runs_in_the_default_executor(config):
    class Reversing:
        def rerank(self, query, memories, top_k):
            return memories[::-1]

    async def steps(memory):
        added = [await memory.add(f"第{number}杯咖啡", **SCOPE, infer=False) for number in range(3)]
        memory.reranker = Reversing()
        asyncio.get_running_loop().set_default_executor(NoThreads(1))
        for rerank in (False, True):
            assert len((await memory.search("咖啡", filters=SCOPE, rerank=rerank))["results"]) == 3
        assert (await memory.why("咖啡", added[0]["results"][0]["id"], filters=SCOPE)).reason == "found"

    run(config, steps)


def test_a_child_process_has_threads_of_its_own(config):
    memory = bridge.AsyncMemory.from_config(config)

    async def steps():
        await memory.add("我喜歡喝茶", **SCOPE, infer=False)
        assert (await memory.search("喝茶", filters=SCOPE))["results"]

    async def search():
        vector = [1.0] * memory.vector_store.embedding_model_dims  # a model that has run can't be forked
        memory.embedding_model.embed = lambda text, memory_action=None: vector
        sys.exit(0 if (await memory.search("喝茶", filters=SCOPE, threshold=0.0))["results"] else 3)

    asyncio.run(steps())
    child = multiprocessing.get_context("fork").Process(target=lambda: asyncio.run(search()))
    child.start()
    child.join(60)
    try:
        assert child.exitcode == 0
    finally:
        child.kill()
        memory.close()


class Watch(selectors.DefaultSelector):
    """A loop's selector, which tells how long the loop computes between two looks at what there is to do.

    That is what everything else on the loop waits for at least. It is the time of the loop's own thread, of which other
    threads and programs take nothing.
    """

    def __init__(self):
        super().__init__()
        self.most, self._began = 0.0, time.thread_time()

    def select(self, timeout=None):
        self.most = max(self.most, time.thread_time() - self._began)
        ready = super().select(timeout)
        self._began = time.thread_time()
        return ready


async def lateness_and_seconds(start):
    """Return how late a sleeper woke up at worst while what `start` returns was done, and how long that took."""
    late, done = [], asyncio.Event()

    async def beat():
        while not done.is_set():
            slept = time.perf_counter()
            await asyncio.sleep(0.005)
            late.append(time.perf_counter() - slept - 0.005)

    beating = asyncio.create_task(beat())
    await asyncio.sleep(0.01)  # it beats before the work begins
    started = time.perf_counter()
    await start()
    seconds = time.perf_counter() - started
    done.set()
    await beating
    return max(late), seconds


def bare_requests(store):
    """Make as many requests over as many connections, and do nothing about them."""
    body = {"query": {"match_all": {}}}
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        paths = [f"/{store.collection_name}/_search"] * (SEARCHES * REQUESTS)
        list(threads.map(lambda path: store.client.request("POST", path, body=body), paths))


def searches_at(url):
    with urllib.request.urlopen(f"{url}/_searches", timeout=60) as answer:
        return int(answer.read())


@pytest.fixture
def no_full_collection():
    """Python's own collection, of all that mem0 and a model have imported, takes 0.03 to 0.3 s once in a while.

    The test freezes what there is when everything has been used once, see docs/mem0.md.
    """
    yield
    gc.unfreeze()


@pytest.mark.parametrize("memories", [1, 150])
def test_200_searches_at_once(config, slow_url, no_full_collection, memories):
    """They take twice what the connections allow at most, and none of them holds the loop up.

    Other programs take this machine away at times. So the time is also measured for bare requests, and how late a loop
    is that has nothing beside it. And the best of several rounds counts, for a search that holds the loop up does so
    in each of them. What the loop itself computes is measured without them, and may not be too long even once. The
    embedder is a fixed vector: a model computes as long as it does.
    """
    config["vector_store"]["config"] |= {"url": slow_url, "pool_maxsize": CONNECTIONS}
    watch = Watch()

    async def steps(memory):
        texts = [f"專案代號是ＰＸ－４４１，第{number}次會議談了進度和預算" for number in range(memories)]
        vectors = np.random.default_rng(0).normal(size=(memories, memory.vector_store.embedding_model_dims))
        memory.vector_store.insert(list(vectors), [{"data": text, **SCOPE} for text in texts])
        await memory.search("px441 是什么？", filters=SCOPE)  # looks at the index, measures the background
        use_one_vector(memory)
        told = []

        async def search_all(number=SEARCHES):
            searches = [memory.search(f"px441 是什么？{number}", filters=SCOPE) for number in range(number)]
            assert all(answer["results"] for answer in await asyncio.gather(*searches))

        await search_all(2 * CONNECTIONS)  # imports what is imported late
        gc.collect()
        gc.freeze()
        for _ in range(ROUNDS):
            _, floor = await lateness_and_seconds(lambda: asyncio.to_thread(bare_requests, memory.vector_store))
            idle, _ = await lateness_and_seconds(lambda: asyncio.sleep(ALLOWED))
            before, watch.most = searches_at(slow_url), 0.0
            late, seconds = await lateness_and_seconds(search_all)
            assert searches_at(slow_url) - before - 1 == SEARCHES * REQUESTS
            assert watch.most < LATE
            told.append(
                f"late by {late:.3f} s, {idle:.3f} s with nothing beside it; "
                f"{seconds:.1f} s of {ALLOWED:.1f}, {floor:.1f} bare"
            )
            print(told[-1], f"the loop's own {watch.most:.4f} s")
            if late < LATE + idle and seconds < 2 * max(ALLOWED, floor):
                return
        pytest.fail("; ".join(told))

    run(config, steps, selector=watch)


class Count:
    """Wraps functions, and counts the threads that are within any of them at once."""

    def __init__(self):
        self._lock = threading.Lock()
        self._now = self.most = 0
        self.seen = set()

    def around(self, function):
        @functools.wraps(function)
        def counted(*args, **options):
            with self._lock:
                self._now += 1
                self.most = max(self.most, self._now)
                self.seen.add(function.__name__)
            try:
                time.sleep(0.005)  # a thread that computes for so long is met by all that may compute beside it
                return function(*args, **options)
            finally:
                with self._lock:
                    self._now -= 1

        return counted


COMPUTED = (
    (asking, "check_query"),
    (names, "encode_lines"),  # in the thread that looks names up while the question is embedded
    (request, "signals_request"),
    (signals, "candidates_of"),
    (ranking, "fuse"),
)
"""What a search computes between its waits, from its beginning to its end."""


@pytest.mark.parametrize("by_turns", [True, False])
def test_one_search_computes_at_a_time(config, monkeypatch, by_turns):
    """Without turns, several do: then this test would see it, whatever the machine does meanwhile."""
    count = Count()
    for module, name in COMPUTED:
        monkeypatch.setattr(module, name, count.around(getattr(module, name)))
    if not by_turns:
        monkeypatch.setattr(turns, "taken", contextlib.nullcontext)

    async def steps(memory):
        await memory.add("專案代號是ＰＸ－４４１", **SCOPE, infer=False)
        use_one_vector(memory)
        searches = [memory.search("px441 是什么？", filters=SCOPE) for _ in range(2 * CONNECTIONS)]
        assert all(answer["results"] for answer in await asyncio.gather(*searches))

    run(config, steps)
    assert count.seen == {name for _, name in COMPUTED}
    assert count.most == 1 if by_turns else count.most > 1


def test_searches_wait_for_embedders_and_rerankers_at_the_same_time(config):
    """Those of others, which ask a server as a rule: nobody comes on until all have come."""
    embedding, reranking = threading.Barrier(CONNECTIONS), threading.Barrier(CONNECTIONS)

    class Waiting:
        def rerank(self, query, memories, top_k):
            reranking.wait(60)
            return memories

    async def steps(memory):
        await memory.add("專案代號是ＰＸ－４４１", **SCOPE, infer=False)
        await memory.search("px441 是什么？", filters=SCOPE)
        vector = use_one_vector(memory)
        memory.embedding_model.embed = lambda text, memory_action=None: embedding.wait(60) < CONNECTIONS and vector
        memory.reranker = Waiting()
        searches = [memory.search("px441 是什么？", filters=SCOPE, rerank=True) for _ in range(CONNECTIONS)]
        for answer in await asyncio.gather(*searches):
            assert answer["results"]
            assert "degraded" not in answer

    run(config, steps)


def test_a_search_within_a_search_by_its_reranker(config):
    """It waits for no turn that the outer one has."""

    async def steps(memory):
        inner = bridge.Memory.from_config(config)

        class Asking:
            def rerank(self, query, memories, top_k):
                return inner.search("px441", filters=SCOPE)["results"]

        await memory.add("專案代號是ＰＸ－４４１", **SCOPE, infer=False)
        memory.reranker = Asking()
        searches = [memory.search("px441", filters=SCOPE, rerank=True) for _ in range(CONNECTIONS)]
        for answer in await asyncio.gather(*searches):
            assert len(answer["results"]) == 1
            assert "degraded" not in answer
        inner.close()

    run(config, steps)


def test_no_thread_computes_while_searches_that_begin_together_begin(config, monkeypatch):
    begun, begun_before_work = [], []
    reading_run, executor_of = threads.run, threads._executor_of

    def running(*args, **options):
        begun.append(args)
        return reading_run(*args, **options)

    def executor(memory):
        begun_before_work.append(len(begun))
        return executor_of(memory)

    monkeypatch.setattr(threads, "run", running)
    monkeypatch.setattr(threads, "_executor_of", executor)

    async def steps(memory):
        await memory.add("專案代號是ＰＸ－４４１", **SCOPE, infer=False)
        use_one_vector(memory)
        await asyncio.gather(*[memory.search("px441 是什么？", filters=SCOPE) for _ in range(50)])

    run(config, steps)
    assert begun_before_work == [50] * 50


@pytest.mark.parametrize("failing", ["embedder", "server"])
def test_searches_that_fail_leave_the_turn_to_others(config, monkeypatch, failing):
    async def steps(memory):
        await memory.add("專案代號是ＰＸ－４４１", **SCOPE, infer=False)
        assert (await memory.search("px441", filters=SCOPE))["results"]
        with monkeypatch.context() as broken:
            if failing == "embedder":
                broken.setattr(memory.embedding_model, "embed", lambda text, memory_action=None: [0.5])
            else:
                broken.setattr(memory.vector_store.client.transport, "send", refuse)
            searches = [memory.search("px441", filters=SCOPE) for _ in range(50)]
            failed = await asyncio.gather(*searches, return_exceptions=True)
            assert {type(error) for error in failed} == {VectorError if failing == "embedder" else BackendUnavailable}
        assert (await memory.search("px441", filters=SCOPE))["results"]

    def refuse(*args, **options):
        raise NoAnswer("no connection", "refused", passing=False)

    run(config, steps)
