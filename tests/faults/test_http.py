"""Every fault that a network or a proxy can add to a request: success after a pause, or one typed error."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.client import patience
from mem_opensearch.errors import BackendError, BackendUnavailable, PartialWriteError, Throttled

from .proxy import FaultProxy, after, before, broken, cut, in_turn, refuse_items

EAST = [1.0, 0.0, 0.0, 0.0]
HTML = b"<html><body><h1>Bad Gateway</h1></body></html>"
NODE_GONE = b'{"error": {"type": "node_disconnected_exception", "reason": "[n2] disconnected"}, "status": 500}'
TRIES = 4


def soon(seconds):
    return lambda: format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@dataclass(frozen=True)
class Fault:
    """A fault and how it ends when it stays: `error` after `tries` requests; `passes` when it does not stay."""

    name: str
    strike: Any
    error: type[Exception]
    tries: int = TRIES

    @property
    def passes(self):
        return self.tries > 1


FAULTS = [
    Fault("429", before(429), Throttled),
    Fault("503", before(503), BackendUnavailable),
    Fault("504", before(504), BackendUnavailable),
    Fault("502 with HTML of a proxy", before(502, HTML, content_type="text/html"), BackendUnavailable),
    Fault("429 with Retry-After, seconds", before(429, retry_after="0"), Throttled),
    Fault("503 with Retry-After, date", before(503, retry_after=soon(0)), BackendUnavailable),
    Fault("503 with a Retry-After of an hour", before(503, retry_after="3600"), BackendUnavailable, tries=1),
    Fault("500", before(500), BackendError, tries=1),
    Fault("500 that names a node that has gone", before(500, NODE_GONE), BackendUnavailable),
    Fault("200 with HTML of a proxy", before(200, HTML, content_type="text/html"), BackendError, tries=1),
    Fault("200 with HTML, after the work", after(200, HTML, "text/html"), BackendError, tries=1),
    Fault("200 with another service's JSON", before(200, b'{"ok": true}'), BackendError, tries=1),
    Fault("200 with broken JSON, after the work", after(200, b'{"took": 3, "er'), BackendError),
    Fault("answer cut off, length announced", cut(length="true"), BackendUnavailable),
    Fault("answer cut off, no length", cut(length="none"), BackendError),
    Fault("reset before the work", broken("reset", worked=False), BackendUnavailable),
    Fault("reset after the work", broken("reset", worked=True), BackendUnavailable),
    Fault("hung up before the work", broken("hang_up", worked=False), BackendUnavailable),
    Fault("hung up after the work", broken("hang_up", worked=True), BackendUnavailable),
]
SLOW = [
    Fault("no answer in time, before the work", broken("hang", worked=False), BackendUnavailable, tries=2),
    Fault("no answer in time, after the work", broken("hang", worked=True), BackendUnavailable, tries=2),
]


@pytest.fixture(scope="module")
def bench(opensearch_url):
    """A proxy, a store behind it, one on the server itself; a collection for all tests of the module."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    with FaultProxy(opensearch_url) as proxy:
        yield Bench(proxy, name, opensearch_url)
        OpenSearchVectorStore(url=opensearch_url, collection_name=name).delete_col()


class Bench:
    def __init__(self, proxy, name, url):
        self.proxy = proxy
        self.options = {"collection_name": name, "embedding_model_dims": 4}
        self.truth = OpenSearchVectorStore(url=url, **self.options)
        self.truth.create_col()
        self.store = self.behind()
        self._numbers = itertools.count()

    def behind(self, **options):
        store = OpenSearchVectorStore(url=self.proxy.url, **(self.options | {"max_tries": TRIES} | options))
        store.get("nothing")  # the index has been looked at
        return store

    def fill(self, count=2):
        """Store rows directly; return their ids."""
        ids = [f"r{next(self._numbers)}" for _ in range(count)]
        self.truth.insert([EAST] * count, [payload_of(each, 0) for each in ids], ids)
        return ids

    def compare(self, expected, *, gone=()):
        """Return (lost, duplicated, back): what an acknowledged write has promised, against the server's rows."""
        self.truth.client.request("POST", f"/{self.truth.collection_name}/_refresh")
        rows = [hit for key in (*expected, *gone) for hit in self.truth.list(filters={"row": key})[0]]
        found = [(hit.payload["row"], hit.payload["version"]) for hit in rows]
        lost = [key for key, version in expected.items() if (key, version) not in found]
        keys = [key for key, _ in found]
        return lost, [key for key in set(keys) if keys.count(key) > 1], [key for key in gone if key in keys]


def payload_of(row, version):
    return {"data": f"{row} 住在臺北", "row": row, "version": version}


class Insert:
    """Three rows without ids: a second row of one of them would show."""

    acknowledged = 3

    def __init__(self, bench):
        self.bench = bench
        self.rows = [f"i{uuid.uuid4().hex}" for _ in range(3)]
        self.promise, self.gone = dict.fromkeys(self.rows, 0), ()

    @staticmethod
    def hit(_method, path):
        return "/_bulk" in path

    def do(self, store):
        store.insert([EAST] * 3, [payload_of(row, 0) for row in self.rows])


class Update:
    acknowledged = 1

    def __init__(self, bench):
        self.row = bench.fill(1)[0]
        self.promise, self.gone = {self.row: 1}, ()

    @staticmethod
    def hit(_method, path):
        return "/_update/" in path

    def do(self, store):
        store.update(self.row, payload=payload_of(self.row, 1))


class Delete:
    acknowledged = 1

    def __init__(self, bench):
        self.row = bench.fill(1)[0]
        self.promise, self.gone = {}, (self.row,)

    @staticmethod
    def hit(method, _path):
        return method == "DELETE"

    def do(self, store):
        store.delete(self.row)


class Search:
    acknowledged = 0
    promise, gone = {}, ()

    def __init__(self, bench):
        self.rows = bench.fill(2)
        bench.truth.list()  # refreshes

    @staticmethod
    def hit(_method, path):
        return "/_search" in path

    def do(self, store):
        filters = {"row": {"in": self.rows}}
        assert {hit.id for hit in store.search("", EAST, filters=filters)} == set(self.rows)


OPERATIONS = [Insert, Update, Delete, Search]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.__name__.lower())
@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: each.name)
def test_a_fault_passes_or_is_one_typed_error(bench, ledger, monkeypatch, fault, operation):
    monkeypatch.setattr(patience, "BACKOFF_SECONDS", 0.01)
    check(bench, bench.store, ledger, fault, operation)


@pytest.mark.parametrize("operation", [Insert, Update], ids=lambda each: each.__name__.lower())
@pytest.mark.parametrize("fault", SLOW, ids=lambda each: each.name)
def test_no_answer_in_time(bench, ledger, fault, operation):
    store = bench.behind(timeout=2, max_tries=2)
    check(bench, store, ledger, fault, operation)
    store.close()


def check(bench, store, ledger, fault, operation):
    if fault.passes:
        act = operation(bench)
        since = len(bench.proxy.seen)
        bench.proxy.strike(fault.strike, on=act.hit, times=1)
        act.do(store)
        assert bench.proxy.count(act.hit, since=since) == 2
        note(ledger, fault.name, "success", act.acknowledged, bench.compare(act.promise, gone=act.gone))

    act = operation(bench)
    since = len(bench.proxy.seen)
    bench.proxy.strike(fault.strike, on=act.hit)
    try:
        with pytest.raises(fault.error) as caught:
            act.do(store)
    finally:
        bench.proxy.calm()
    assert type(caught.value) is fault.error
    assert bench.proxy.count(act.hit, since=since) == fault.tries, "no more requests than were allowed"
    assert "臺北" not in str(caught.value)
    _, duplicated, _ = bench.compare(act.promise, gone=act.gone)
    note(ledger, fault.name, fault.error.__name__, 0, ([], duplicated, []))

    act.do(store)  # the same store works again
    lost, duplicated, back = bench.compare(act.promise, gone=act.gone)
    if operation is Insert:
        duplicated = []  # called again without ids, it is another insert, and the first one may have been done
    note(ledger, fault.name, fault.error.__name__, act.acknowledged, (lost, duplicated, back), tried=0)


def note(ledger, name, ends, acknowledged, found, *, tried=1):
    """Note what `Bench.compare` has found, and demand that it is nothing."""
    lost, duplicated, back = map(len, found)
    ledger.note(name, ends=ends, tried=tried, acknowledged=acknowledged, lost=lost, duplicated=duplicated, back=back)
    assert found == ([], [], [])


@pytest.mark.parametrize(("wait", "least"), [("2", 2.0), (soon(3), 1.0)], ids=["seconds", "date"])
@pytest.mark.parametrize("status", [429, 503])
def test_a_server_is_not_asked_before_it_says(bench, status, wait, least):
    """A date has whole seconds, so three of them may be little more than two."""
    row = bench.fill(1)[0]
    since = len(bench.proxy.seen)
    bench.proxy.strike(before(status, retry_after=wait), on=Update.hit, times=1)
    bench.store.update(row, payload=payload_of(row, 1))
    first, second = bench.proxy.seen[since:]
    assert second.moment - first.moment >= least


@pytest.mark.parametrize(("status", "error"), [(429, Throttled), (503, BackendUnavailable)])
def test_a_wait_longer_than_the_call_may_take_is_not_begun(bench, status, error):
    row = bench.fill(1)[0]
    since = len(bench.proxy.seen)
    bench.proxy.strike(before(status, retry_after="3600"), on=Update.hit)
    with pytest.raises(error, match="asks to wait 3600 s") as caught:
        bench.store.update(row, payload=payload_of(row, 1))
    bench.proxy.calm()
    assert caught.value.retry_after == 3600
    assert bench.proxy.count(since=since) == 1


class TestItems:
    """Rows of one bulk request that the server pushes back."""

    @pytest.mark.parametrize("status", [429, 503])
    def test_those_that_were_pushed_back_are_sent_again(self, bench, ledger, monkeypatch, status):
        monkeypatch.setattr(patience, "BACKOFF_SECONDS", 0.01)
        act, since = Insert(bench), len(bench.proxy.seen)
        bench.proxy.strike(refuse_items(status, "rejected", (0, 2)), on=act.hit, times=1)
        act.do(bench.store)
        assert bench.proxy.count(act.hit, since=since) == 2
        note(ledger, f"{status} for single rows of a bulk request", "success", 3, bench.compare(act.promise))

    @pytest.mark.parametrize("status", [429, 503])
    def test_those_that_stay_so_are_named(self, bench, ledger, monkeypatch, status):
        monkeypatch.setattr(patience, "BACKOFF_SECONDS", 0.01)
        ids = [f"p{uuid.uuid4().hex}" for _ in range(3)]
        since = len(bench.proxy.seen)
        bench.proxy.strike(refuse_items(status, "rejected", (0,)), on=Insert.hit)
        with pytest.raises(PartialWriteError, match=f"status {status}: rejected") as caught:
            bench.store.insert([EAST] * 3, [payload_of(each, 0) for each in ids], ids)
        bench.proxy.calm()
        assert bench.proxy.count(Insert.hit, since=since) == TRIES
        assert (caught.value.stored, list(caught.value.failed)) == (ids[1:], ids[:1])
        found = bench.compare(dict.fromkeys(ids[1:], 0), gone=ids[:1])
        note(ledger, f"{status} for single rows of a bulk request", "PartialWriteError", 2, found)

    def test_what_a_first_try_stored_is_said_though_the_second_fails_whole(self, bench, monkeypatch):
        monkeypatch.setattr(patience, "BACKOFF_SECONDS", 0.01)
        ids = [f"p{uuid.uuid4().hex}" for _ in range(3)]
        bench.proxy.strike(in_turn(refuse_items(429, "rejected", (1,)), before(500)), on=Insert.hit, times=2)
        with pytest.raises(PartialWriteError, match="status 500") as caught:
            bench.store.insert([EAST] * 3, [payload_of(each, 0) for each in ids], ids)
        assert (caught.value.stored, list(caught.value.failed)) == ([ids[0], ids[2]], [ids[1]])


class TestNoStorm:
    """Tries and time are bounded, of one call and of all its requests together."""

    def test_rows_and_requests_share_their_tries(self, bench, monkeypatch):
        """Items pushed back, then requests refused, in turns: not tries times tries."""
        monkeypatch.setattr(patience, "BACKOFF_SECONDS", 0.01)
        since = len(bench.proxy.seen)
        bench.proxy.strike(in_turn(refuse_items(429, "rejected", (0,)), before(503)), on=Insert.hit)
        with pytest.raises(PartialWriteError):
            Insert(bench).do(bench.store)
        bench.proxy.calm()
        assert bench.proxy.count(Insert.hit, since=since) == TRIES

    def test_a_server_that_takes_nothing_is_not_sent_the_rest(self, bench, monkeypatch):
        monkeypatch.setattr(patience, "BACKOFF_SECONDS", 0.01)
        store = bench.behind(bulk_max_items=1)
        ids = [f"p{uuid.uuid4().hex}" for _ in range(50)]
        since = len(bench.proxy.seen)
        answered = itertools.count()
        bench.proxy.strike(
            lambda exchange: exchange.relay(*exchange.forward()) if next(answered) < 3 else before(503)(exchange),
            on=Insert.hit,
        )
        with pytest.raises(PartialWriteError, match="47 of 50 rows") as caught:
            store.insert([EAST] * 50, [payload_of(each, 0) for each in ids], ids)
        bench.proxy.calm()
        assert len(caught.value.stored) == 3
        assert set(caught.value.stored) <= set(ids[:4])
        # Two groups were on their way when it was told that no more are taken.
        assert bench.proxy.count(Insert.hit, since=since) <= 3 + 2 * TRIES
        assert "not sent" in caught.value.failed[ids[-1]]
        store.close()

    def test_time_is_bounded_too(self, bench, monkeypatch):
        """With pauses of 0.25, 0.5, 1 ... seconds, one second holds the first two, however many tries are allowed."""
        monkeypatch.setattr(patience.random, "uniform", lambda _least, most: most)
        store = bench.behind(max_tries=10, max_retry_seconds=1)
        since = len(bench.proxy.seen)
        bench.proxy.strike(before(503), on=Update.hit)
        with pytest.raises(BackendUnavailable) as caught:
            store.update(bench.fill(1)[0], payload=payload_of("x", 1))
        bench.proxy.calm()
        assert 2 <= bench.proxy.count(Update.hit, since=since) <= 3
        assert len(caught.value.tries) == bench.proxy.count(Update.hit, since=since)
        store.close()

    def test_a_second_try_has_only_the_time_that_is_left(self, bench):
        """A first try that took all the time is the last, however long a time-out and however many tries there are."""
        store = bench.behind(timeout=2, max_tries=10, max_retry_seconds=1)
        since = len(bench.proxy.seen)
        bench.proxy.strike(broken("hang", worked=False), on=Update.hit)
        with pytest.raises(BackendUnavailable, match="in 1 tries"):
            store.update(bench.fill(1)[0], payload=payload_of("x", 1))
        bench.proxy.calm()
        assert bench.proxy.count(Update.hit, since=since) == 1
        store.close()

    def test_none_at_all_when_told_so(self, bench):
        store = bench.behind(max_retry_seconds=0)
        since = len(bench.proxy.seen)
        bench.proxy.strike(before(503), on=Update.hit)
        with pytest.raises(BackendUnavailable):
            store.update(bench.fill(1)[0], payload=payload_of("x", 1))
        bench.proxy.calm()
        assert bench.proxy.count(Update.hit, since=since) == 1
        store.close()


class TestNoServer:
    @pytest.mark.parametrize(
        ("name", "url"),
        [("connection refused", "http://127.0.0.1:9"), ("no such host (DNS)", "http://no-such-host.invalid:9200")],
    )
    def test_it_is_said(self, ledger, monkeypatch, name, url):
        monkeypatch.setattr(patience, "BACKOFF_SECONDS", 0.01)
        store = OpenSearchVectorStore(url=url, embedding_model_dims=4)
        for ask in (lambda: store.insert([EAST], [{"data": "臺北"}]), lambda: store.search("", EAST)):
            with pytest.raises(BackendUnavailable, match=f"got no answer from {url} in 4 tries") as caught:
                ask()
            assert type(caught.value) is BackendUnavailable
            ledger.note(name, ends="BackendUnavailable")

    def test_it_is_used_when_it_comes(self, opensearch_url, collection, ledger):
        """The port is closed at the first tries and open at a later one."""
        with FaultProxy(opensearch_url) as proxy:
            url = proxy.url
        store = OpenSearchVectorStore(
            url=url, collection_name=collection, embedding_model_dims=4, max_tries=10, max_retry_seconds=120
        )
        opened = []

        def open_later():
            time.sleep(1)
            opened.append(FaultProxy(opensearch_url, port=int(url.rpartition(":")[2])))

        thread = threading.Thread(target=open_later)
        thread.start()
        store.insert([EAST], [{"data": "臺北"}], ["m1"])
        assert store.get("m1").payload == {"data": "臺北"}
        thread.join()
        store.close()
        with opened[0]:
            ledger.note("connection refused", ends="success", acknowledged=1)
