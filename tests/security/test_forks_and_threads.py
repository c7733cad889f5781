"""One store in many threads, and in processes that were forked after it was used: nobody gets another's answer."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor

import opensearchpy
import pytest
from certificates import server_context, valid
from gateway import PASSWORD, USER

from mem_opensearch import forks
from mem_opensearch.errors import ConfigError

DIMS = 8
CONNECTIONS = ["Urllib3HttpConnection", "RequestsHttpConnection"]
SEARCHES = 200
CHILD_SECONDS = 300


def vector_of(number):
    return [1.0 if position == number % DIMS else 0.01 for position in range(DIMS)]


@pytest.fixture
def fill(store_at):
    """Make a store of 8 rows, each nearest to its own question, that has been used."""

    def make(url, **options):
        store = store_at(url, embedding_model_dims=DIMS, refresh="true", **options)
        rows = range(DIMS)
        store.insert([vector_of(n) for n in rows], [{"data": f"row {n}"} for n in rows], [str(n) for n in rows])
        assert store.search("x", vector_of(3), top_k=1)[0].id == "3"
        return store

    return make


def ask(store, offset, searches=SEARCHES):
    """Return the wrong answers among many searches and gets."""
    wrong = []
    for number in range(offset, offset + searches):
        found = store.search("x", vector_of(number), top_k=1)[0]
        got = store.get(str(number % DIMS))
        if found.id != str(number % DIMS) or got.payload != {"data": f"row {number % DIMS}"}:
            wrong.append((number, found.id, got.payload))
    return wrong


def in_child(work):
    """Run `work` in a forked child; return a function that waits for what it returned."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # no pytest in here: whatever happens, the child ends with this block
        try:
            os.close(reading)
            signal.alarm(CHILD_SECONDS)  # a child that waits for an answer that its parent got would wait for ever
            said = json.dumps({"result": work()})
        except BaseException:  # noqa: BLE001 - said in the parent
            said = json.dumps({"error": traceback.format_exc()})
        os.write(writing, said.encode())
        os.close(writing)
        os._exit(0)
    os.close(writing)

    def wait():
        with os.fdopen(reading) as pipe:
            said = json.loads(pipe.read())
        os.waitpid(child, 0)
        assert "error" not in said, said["error"]
        return said["result"]

    return wait


@pytest.mark.parametrize("connection_class", CONNECTIONS)
@pytest.mark.parametrize("tls", [False, True])
def test_parent_and_child_search_at_the_same_time(
    tls, connection_class, opensearch_url, authority, users, open_gateway, fill
):
    options = {"connection_class": connection_class}
    context = server_context(*valid(authority)) if tls else None
    gateway = open_gateway(opensearch_url, context=context, check=users if tls else None)
    if tls:
        options |= {"ca_certs": authority.file, "user": USER, "password": PASSWORD}
    store = fill(gateway.url, **options)
    before = {request.connection for request in gateway.requests}
    children = [in_child(lambda offset=offset: ask(store, offset)) for offset in (1, 2)]
    assert ask(store, 0) == []
    for wait in children:
        assert wait() == []
    assert ask(store, 5, searches=10) == []  # the parent's connections are whole
    assert gateway.connections == len(before) + 2  # one more for each child, and none for the parent


def test_a_process_of_multiprocessing(opensearch_url, fill):
    store = fill(opensearch_url)
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    children = [context.Process(target=lambda: answers.put(ask(store, os.getpid(), searches=50))) for _ in range(2)]
    for child in children:
        child.start()
    assert ask(store, 0, searches=50) == []
    assert [answers.get() for _ in children] == [[], []]
    for child in children:
        child.join()


def test_a_child_of_a_child_and_writes_in_it(opensearch_url, fill):
    store = fill(opensearch_url)

    def grandchild():
        store.update("2", payload={"data": "from below"})
        return store.get("2").payload["data"]

    def child():
        return in_child(grandchild)()

    assert in_child(child)() == "from below"
    assert store.get("2").payload["data"] == "from below"


def test_a_fork_while_threads_hold_every_lock(opensearch_url, fill):
    """The locks that other threads hold at that moment stay closed in a child, unless it makes new ones."""
    store = fill(opensearch_url)
    held = [lock for lock in list(forks._watched) if isinstance(lock, forks.Lock)]  # 64 are those of duplicates
    assert len(held) > 64
    taken, over = threading.Event(), threading.Event()

    def hold():
        for lock in held:
            lock._lock.acquire()
        taken.set()
        over.wait(120)
        for lock in held:
            lock._lock.release()

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait()
    try:
        wait = in_child(lambda: ask(store, 0, searches=5))
    finally:
        over.set()
        holder.join()
    assert wait() == []
    assert ask(store, 0, searches=5) == []


def test_a_given_client_is_refused_in_a_child(opensearch_url, fill):
    store = fill(None, client=opensearchpy.OpenSearch([opensearch_url]))

    def attempt():
        try:
            store.search("x", vector_of(1))
        except ConfigError as error:
            return str(error)
        return "no error"

    assert "make client and store in the child" in in_child(attempt)()
    assert ask(store, 0, searches=5) == []


def test_a_child_that_closes_and_ends_leaves_the_parents_connections(opensearch_url, open_gateway, authority, fill):
    gateway = open_gateway(opensearch_url, context=server_context(*valid(authority)))
    store = fill(gateway.url, ca_certs=authority.file)
    count = gateway.connections
    in_child(store.close)()
    in_child(lambda: [ask(store, 0, searches=2), store.close()])()
    assert ask(store, 0, searches=5) == []
    assert gateway.connections == count + 1


@pytest.mark.parametrize("connection_class", CONNECTIONS)
def test_sixteen_threads_share_one_client(connection_class, opensearch_url, open_gateway, fill):
    gateway = open_gateway(opensearch_url)
    store = fill(gateway.url, connection_class=connection_class, pool_maxsize=4)
    start = threading.Barrier(16)

    def work(offset):
        start.wait()
        return ask(store, offset, searches=20)

    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(work, range(16))) == [[]] * 16
    assert gateway.connections <= 4
