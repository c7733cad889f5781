"""Servers of a cluster are killed while eight threads write: nothing acknowledged is lost, doubled or back."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter

import pytest

from mem_opensearch.errors import MemOpenSearchError
from mem_opensearch.store.entities import EntityStore

from .workload import ENTITIES, SCOPE, Writers

pytestmark = pytest.mark.slow


def rows_of(store):
    """Every row that the server has, id and payload."""
    store.client.request("POST", f"/{store.collection_name}/_refresh")
    return [(hit.id, hit.payload) for hit in store.list()[0]]


def links_of(entities, name):
    """The memories that an entity is linked to."""
    entity = entities.read(name, SCOPE)
    return set(entity.memory_ids) if entity else set()


def settle(writers, beside, ledger, fault, tried):
    """Compare what was acknowledged with what is there."""
    rows = [(row_id, payload) for row_id, payload in rows_of(writers.store) if "fixed" not in payload]
    found = writers.compare(rows, {name: links_of(writers.entities, name) for name in ENTITIES})
    assert len(rows_of(beside)) <= len(ENTITIES), "an entity has two rows"
    refused = sum((account.refused for account in writers.accounts), Counter())
    ledger.note(
        fault,
        ends="success",
        tried=tried,
        acknowledged=found["acknowledged"],
        lost=len(found["lost"]),
        duplicated=len(found["duplicated"]),
        back=len(found["back"]),
    )
    for error in refused:
        ledger.note(fault, ends=error, tried=0)
    assert (found["lost"], found["duplicated"], found["back"]) == ([], [], [])
    assert not writers.unexpected
    kinds = sum((account.acknowledged for account in writers.accounts), Counter())
    assert all(kinds[kind] for kind in ("insert", "update", "delete", "link")), kinds
    return refused


def wait_for_copies(store):
    """Return when every shard has its copy: those of a new index are made after it."""
    end = time.monotonic() + 400
    wanted = {"wait_for_status": "green", "timeout": "10s"}
    while store.client.request("GET", "/_cluster/health", params=wanted, accept=(408,))["timed_out"]:
        assert time.monotonic() < end, "the cluster does not get green"


class Reader:
    """A thread that searches all the time: a search sees all rows of a fixed set, or is an error."""

    def __init__(self, store, count):
        self.store = store
        self.answers = Counter()
        self._count = count
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        while not self._stop.wait(0.05):
            try:
                hits = self.store.keyword_search("锚", top_k=100, filters={"fixed": True})
            except MemOpenSearchError as error:
                self.answers[type(error).__name__] += 1
            else:
                self.answers["whole" if len(hits) == self._count else f"{len(hits)} hits"] += 1

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join(180)


def test_each_server_in_turn_is_killed_and_started_again(cluster, make_clustered, ledger):
    options = {"shards": 3, "replicas": 1, "max_tries": 8}
    store, beside = make_clustered(**options), make_clustered(collection_name="faults_entities", **options)
    store.insert([[1, 1, 1, 1]] * 30, [{"data": "锚", "fixed": True}] * 30, [f"f{number}" for number in range(30)])
    with (
        Writers(store, EntityStore.beside(store)) as writers,
        Reader(store, 30) as reader,
    ):
        writers.wait_for(10)
        wait_for_copies(store)
        for index in range(3):
            cluster.kill(index)
            writers.wait_for(10)  # on the two that are left
            with writers.slowly():
                cluster.restart(index)  # returns when every shard has its copy again
    settle(writers, beside, ledger, "kill -9 of each of three servers in turn, 8 writers", 3)
    assert reader.answers["whole"] > 0
    assert set(reader.answers) <= {"whole", "BackendUnavailable"}, "a search that misses rows is an error"


def test_all_servers_are_killed_at_once_and_started_again(cluster, make_clustered, ledger):
    options = {"shards": 3, "replicas": 1, "max_tries": 3}
    store, beside = make_clustered(**options), make_clustered(collection_name="faults_entities", **options)
    with Writers(store, EntityStore.beside(store)) as writers:
        writers.wait_for(15)
        wait_for_copies(store)
        cluster.kill()
        time.sleep(1)  # let them all meet it
    cluster.restart()
    with contextlib.suppress(MemOpenSearchError):  # the hosts may still be left out
        store.get("nothing")
    refused = settle(writers, beside, ledger, "kill -9 of all three servers at once, 8 writers", 1)
    assert refused, "nobody was refused, so nobody wrote when they were killed"
    store.insert([[1, 0, 0, 0]], [{"data": "x"}], ["after"])
    assert store.get("after").payload == {"data": "x"}
