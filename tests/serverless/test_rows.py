"""Rows without ids of their own: nothing is lost, doubled or brought back, seen or not yet seen, whoever fails when."""

from __future__ import annotations

import json
import logging
import threading
import uuid
from contextlib import suppress

import pytest
import requests

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.client.detect import detect_dialect
from mem_opensearch.errors import (
    BackendUnavailable,
    ConfigError,
    IndexStateError,
    MemoryNotFoundError,
    PartialWriteError,
    Throttled,
)
from mem_opensearch.store import copies, recent, rows_by_field
from mem_opensearch.store.recent import Recent, Version
from mem_opensearch.text import fold

EAST, NORTH, UP, NORTH_EAST = [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1, 1, 0, 0]
HOUR = 3600.0


@pytest.fixture
def make_store(serverless, collection):
    """Make stores through the server; each with a memory of its own is another process, as far as rows go."""
    made = []

    def make(*, own_memory=False, **options):
        defaults = {"url": serverless.url, "collection_name": collection, "embedding_model_dims": 4}
        store = OpenSearchVectorStore(**(defaults | options))
        if own_memory:
            store._key = uuid.uuid4()
        made.append(store)
        return store

    yield make
    for store in made:
        store.close()


@pytest.fixture
def hidden(serverless):
    """Nothing that is written is shown before the test calls `serverless.show`."""
    serverless.knobs.delay = HOUR


@pytest.fixture
def documents(serverless, collection):
    """Return what is stored, told by the node itself: (id, payload) of every document, shown or not."""

    def read():
        serverless.show(collection)
        url = f"{serverless.upstream}/{collection}/_search"
        hits = requests.post(url, json={"size": 1000}, timeout=60).json()
        return [(hit["_source"]["id"], hit["_source"]["payload"]) for hit in hits["hits"]["hits"]]

    return read


def ids(hits):
    return [hit.id for hit in hits]


def plant(serverless, collection, row_id, text, *, written_at, vector=EAST, **payload):
    """Store one more document of a row behind the store's back, as a process that stopped half-way leaves it."""
    payload = {"data": text, **payload}
    row = {"id": row_id, "payload": payload, "text": text, "vector": vector, "written_at": written_at, "facts": []}
    url = f"{serverless.upstream}/{collection}/_doc?refresh=true"
    return requests.post(url, json=row | payload, timeout=60).json()["_id"]


# -- seen at once by id, though searches show nothing yet


def test_get_update_delete_do_not_wait_for_searches(make_store, hidden, serverless, documents):
    store, other = make_store(refresh="false"), make_store(refresh="false")
    store.insert([NORTH_EAST], [{"data": "旧", "k": 1, "gone": 1}], ["m"])
    assert other.get("m").payload == {"data": "旧", "k": 1, "gone": 1}
    store.update("m", payload={"data": "新"})
    assert store.get("m").payload == {"data": "新"}
    other.update("m", vector=NORTH)
    assert store.get("m").payload == {"data": "新"}
    assert documents() == [("m", {"data": "新"})]
    (hit,) = store.search("q", NORTH)
    assert (hit.id, hit.score) == ("m", pytest.approx(1.0))
    assert store.delete("m") is True
    assert store.delete("m") is False
    assert store.get("m") is None
    with pytest.raises(MemoryNotFoundError):
        store.update("m", payload={"data": "x"})
    assert documents() == []


def test_an_update_of_the_payload_keeps_a_vector_that_no_search_shows_yet(make_store, hidden, serverless, collection):
    store = make_store(refresh="false")
    store.insert([NORTH_EAST, EAST], [{"data": "a"}, {"data": "b"}], ["m", "n"])
    store.update("m", payload={"data": "c"})
    serverless.show(collection)
    scores = {hit.id: hit.score for hit in store.search("q", NORTH)}
    assert scores == {"m": pytest.approx(0.7071068), "n": pytest.approx(0.0, abs=1e-6)}


def test_a_search_never_shows_what_this_process_has_deleted_or_replaced(make_store, hidden, serverless, collection):
    store = make_store(refresh="false")
    rows = [f"m{i}" for i in range(6)]
    store.insert([[1, 0.01 * i, 0, 0] for i in range(6)], [{"data": "旧词", "user_id": "u1"} for _ in rows], rows)
    serverless.show(collection)
    assert ids(store.search("q", EAST, top_k=3)) == ["m0", "m1", "m2"]
    store.delete("m0")
    store.update("m1", payload={"data": "新词", "user_id": "u2"})
    # Neither is shown by searches yet; the places that they had go to others.
    assert ids(store.search("q", EAST, top_k=3)) == ["m2", "m3", "m4"]
    assert ids(store.list(top_k=3)[0]) == ["m2", "m3", "m4"]
    assert sorted(ids(store.list()[0])) == ["m2", "m3", "m4", "m5"]
    assert sorted(ids(store.keyword_search("旧词", top_k=10))) == ["m2", "m3", "m4", "m5"]
    assert store.search_batch(["a", "b"], [EAST, NORTH], top_k=1, filters={"user_id": "u1"})[0][0].id == "m2"
    serverless.show(collection)
    assert ids(store.search("q", EAST, top_k=3)) == ["m1", "m2", "m3"]


def test_the_default_policy_waits_until_searches_show_what_was_written(make_store, serverless):
    serverless.knobs.delay = 1.0
    store = make_store()
    store.insert([EAST], [{"data": "x"}], ["m"])
    assert ids(store.search("q", EAST)) == ["m"]
    store.update("m", payload={"data": "y"})
    assert [hit.payload for hit in store.search("q", EAST)] == [{"data": "y"}]
    store.delete("m")
    assert store.list() == [[]]
    assert not any(path.endswith("_refresh") for _, path in serverless.seen)


@pytest.mark.parametrize("policy", ["wait_for", "true"])
def test_a_write_can_wait_until_everyone_sees_it(make_store, serverless, policy):
    serverless.knobs.delay = 1.0
    store, stranger = make_store(refresh=policy), make_store(own_memory=True, refresh="false")
    store.insert([EAST], [{"data": "x"}], ["m"])
    assert ids(stranger.search("q", EAST)) == ["m"]
    store.delete("m")
    assert stranger.search("q", EAST) == []


def test_nobody_waits_for_what_another_thread_has_replaced(make_store, serverless, collection, hidden):
    store = make_store()
    store.insert([EAST], [{"data": "x"}], ["m"])
    waiting = threading.Thread(target=store.list)
    waiting.start()
    make_store(refresh="false").update("m", payload={"data": "y"})
    serverless.show(collection)  # the first document is gone by now
    waiting.join(60)
    assert not waiting.is_alive()


def test_waiting_has_an_end_that_is_said(make_store, hidden, caplog, monkeypatch):
    monkeypatch.setattr(copies, "SHOWN_SECONDS", 0.5)
    store = make_store()
    store.insert([EAST], [{"data": "绝密"}], ["m"])
    assert store.search("q", EAST) == []
    assert "do not show all that this process wrote" in caplog.text
    assert "绝密" not in caplog.text


# -- two documents of one row


def test_the_newest_document_counts_and_the_others_go(make_store, serverless, collection, documents):
    store = make_store()
    store.insert([EAST, EAST], [{"data": "甲"}, {"data": "乙"}], ["a", "b"])
    plant(serverless, collection, "a", "旧甲", written_at=5)
    plant(serverless, collection, "b", "新乙", written_at=2**62)
    reader = make_store(own_memory=True, refresh="false")
    expected = {"a": {"data": "甲"}, "b": {"data": "新乙"}}
    assert {hit.id: hit.payload for hit in reader.list()[0]} == expected
    assert dict(documents()) == expected
    assert len(documents()) == 2


@pytest.mark.parametrize("read", ["search", "keyword_search", "list", "get", "search_batch"])
def test_no_read_shows_an_older_document(make_store, serverless, collection, read):
    store = make_store()
    store.insert([NORTH], [{"data": "他搬到了柏林", "user_id": "u2"}], ["m"])
    store.list()
    # It is nearer, has the word, and passes the filter; and the newer one does not.
    plant(serverless, collection, "m", "他住在台北", written_at=5, user_id="u1")
    reader = make_store(own_memory=True, refresh="false")
    found = {
        "search": lambda: reader.search("q", EAST, filters={"user_id": "u1"}),
        "search_batch": lambda: reader.search_batch(["q"], [EAST], filters={"user_id": "u1"})[0],
        "keyword_search": lambda: reader.keyword_search("台北", filters={"user_id": "u1"}),
        "list": lambda: reader.list(filters={"user_id": "u1"})[0],
        "get": lambda: [hit for hit in [reader.get("m")] if hit.payload["user_id"] == "u1"],
    }[read]
    assert found() == []


def test_of_two_documents_of_one_instant_every_process_takes_the_same(make_store, serverless, collection):
    make_store().create_col()
    docs = {plant(serverless, collection, "m", text, written_at=7): text for text in ("一", "二", "三")}
    for _ in range(3):
        reader = make_store(own_memory=True, refresh="false")
        assert [hit.payload["data"] for hit in reader.list()[0]] == [docs[max(docs)]]


def test_a_write_replaces_all_documents_of_its_row(make_store, serverless, collection, documents):
    store = make_store(own_memory=True, refresh="false")
    store.create_col()
    for text in ("一", "二", "三"):
        plant(serverless, collection, "m", text, written_at=2**62)
    store.insert([EAST], [{"data": "四"}], ["m"])
    assert documents() == [("m", {"data": "四"})]
    for text in ("五", "六"):
        plant(serverless, collection, "m", text, written_at=3)
    assert store.delete("m") is True
    assert documents() == []


def test_a_process_that_stops_between_storing_and_deleting_leaves_two_and_never_none(
    make_store, serverless, collection, documents, monkeypatch
):
    store = make_store()
    store.insert([EAST], [{"data": "旧"}], ["m"])
    store.list()

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(rows_by_field.RowsByField, "_delete", stop)
    with pytest.raises(KeyboardInterrupt):
        store.update("m", payload={"data": "新"})
    monkeypatch.undo()
    assert sorted(payload["data"] for _, payload in documents()) == ["新", "旧"]
    reader = make_store(own_memory=True, refresh="false")
    assert reader.get("m").payload == {"data": "新"}
    assert [hit.payload for hit in reader.list()[0]] == [{"data": "新"}]
    assert documents() == [("m", {"data": "新"})]


def test_a_reader_that_may_not_delete_still_reads_right(make_store, serverless, collection, monkeypatch, caplog):
    store = make_store()
    store.insert([EAST], [{"data": "新"}], ["m"])
    store.list()
    plant(serverless, collection, "m", "旧", written_at=5)
    reader = make_store(own_memory=True, refresh="false", max_tries=1)
    reader.get("m")
    serverless.knobs.throttle = 100
    caplog.set_level(logging.WARNING)
    assert [hit.payload for hit in reader.list()[0]] == [{"data": "新"}]
    assert "could not be deleted" in caplog.text
    assert [hit.payload for hit in reader.list()[0]] == [{"data": "新"}]


# -- lost answers, pushed back writes


def test_a_write_whose_answer_is_lost_is_one_row(make_store, serverless, collection, documents):
    store = make_store(timeout=60)
    store.create_col()
    serverless.knobs.lose_answers = 1
    store.insert([EAST], [{"data": "x"}], ["m"])
    assert len(documents()) == 2  # the server did it twice, since it can't tell
    assert [(hit.id, hit.payload) for hit in store.list()[0]] == [("m", {"data": "x"})]
    assert store.get("m").payload == {"data": "x"}
    assert len(documents()) == 1


def test_a_deleted_row_does_not_come_back_by_a_copy_that_nobody_knew_of(
    make_store, serverless, collection, hidden, documents
):
    store = make_store(timeout=60, refresh="false")
    store.create_col()
    serverless.knobs.lose_answers = 1
    store.insert([EAST], [{"data": "x"}], ["m"])
    assert store.delete("m") is True  # of two copies it knows one, and searches show neither
    serverless.show(collection)
    assert store.list() == [[]]
    assert store.get("m") is None
    assert documents() == []


def test_an_update_whose_answer_is_lost_is_one_row(make_store, serverless, documents):
    store = make_store(timeout=60)
    store.insert([EAST], [{"data": "旧"}], ["m"])
    store.list()
    serverless.knobs.lose_answers = 1
    store.update("m", payload={"data": "新"})
    assert [(hit.id, hit.payload) for hit in store.list()[0]] == [("m", {"data": "新"})]
    assert documents() == [("m", {"data": "新"})]


def test_back_pressure_is_waited_out(make_store, serverless):
    store = make_store(max_tries=6)  # four requests are pushed back, and one call has so many tries in all
    store.create_col()
    serverless.knobs.throttle, serverless.knobs.throttle_items = 2, 2
    store.insert([EAST] * 9, [{"data": "x", "n": n} for n in range(9)], [f"m{n}" for n in range(9)])
    assert sorted(ids(store.list()[0])) == [f"m{n}" for n in range(9)]
    serverless.knobs.throttle = 2
    store.update("m3", payload={"data": "y"})
    serverless.knobs.throttle = 2
    store.delete("m4")
    assert {hit.id: hit.payload["data"] for hit in store.list()[0]} == {
        f"m{n}": "y" if n == 3 else "x" for n in range(9) if n != 4
    }


def test_what_is_pushed_back_for_good_is_said_and_the_old_row_stays(make_store, serverless):
    store = make_store(max_tries=1)
    store.insert([EAST] * 2, [{"data": "旧"}] * 2, ["a", "b"])
    store.list()
    serverless.knobs.throttle_items = 100
    with pytest.raises(PartialWriteError) as caught:
        store.insert([NORTH] * 2, [{"data": "新"}] * 2, ["a", "b"])
    assert (caught.value.stored, list(caught.value.failed)) == (["a"], ["b"])
    serverless.knobs.throttle_items = 0
    assert {hit.id: hit.payload["data"] for hit in store.list()[0]} == {"a": "新", "b": "旧"}


def test_a_cold_start_is_waited_for(make_store, serverless):
    store = make_store(timeout=20)
    serverless.knobs.cold = 3.0
    store.insert([EAST], [{"data": "x"}], ["m"])
    assert store.get("m") is not None
    impatient = make_store(timeout=0.5, max_tries=1)
    serverless.knobs.cold = 3.0
    with pytest.raises(BackendUnavailable, match="time-out"):
        impatient.get("m")


# -- many rows, many threads


def test_a_long_list_has_every_row_once_while_others_write(make_store, serverless, monkeypatch):
    monkeypatch.setattr(rows_by_field, "_PAGE", 50)
    store = make_store(own_memory=True)
    store.insert(
        [EAST] * 500,
        [{"data": "x", "created_at": f"2026-01-01T00:00:{n // 25:02}Z"} for n in range(500)],
        [f"m{n:03}" for n in range(500)],
    )
    writer = make_store(own_memory=True, refresh="false")
    done = threading.Event()

    def disturb():
        number = 0
        while not done.is_set():
            n = number % 500
            created = f"2026-01-01T00:00:{n // 25:02}Z"
            with suppress(MemoryNotFoundError):  # a moment's view of two processes, see docs/serverless.md
                writer.update(f"m{n:03}", payload={"data": f"y{number}", "created_at": created})
            number += 7

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for _ in range(3):
            listed = ids(store.list()[0])
            assert len(listed) == len(set(listed))
            # A row that is replaced in this moment may be between its two documents for this reader.
            assert len(listed) >= 480
    finally:
        done.set()
        thread.join()
    assert sorted(ids(make_store(own_memory=True, refresh="wait_for").list()[0])) == [f"m{n:03}" for n in range(500)]


def test_rows_of_a_filter_are_deleted_whole_and_no_others(make_store, serverless, collection, documents, monkeypatch):
    monkeypatch.setattr(rows_by_field, "_PAGE", 20)
    store = make_store()
    owners = ["u1" if n % 3 else "u2" for n in range(100)]
    store.insert([EAST] * 100, [{"data": "x", "user_id": each} for each in owners], [f"m{n}" for n in range(100)])
    store.list()
    plant(serverless, collection, "m1", "旧", written_at=5, user_id="u1")
    plant(serverless, collection, "m3", "旧", written_at=5, user_id="u1")
    filters = [{"term": {"user_id": "u1"}}]
    assert store._rows.count(filters) == owners.count("u1")
    gone = [row_id for ids in store._rows.remove_where(filters) for row_id in ids]
    assert sorted(gone) == sorted(f"m{n}" for n in range(100) if n % 3)
    assert store._rows.count(filters) == 0
    assert store._rows.count([]) == owners.count("u2")
    assert sorted(row_id for row_id, _ in documents()) == sorted(f"m{n}" for n in range(100) if n % 3 == 0)


def test_delete_all_takes_what_searches_do_not_show_yet(make_store, serverless, documents):
    serverless.knobs.delay = 1.0
    store = make_store(refresh="false")
    rows = [{"data": "x", "user_id": "u1" if n % 2 else "u2"} for n in range(40)]
    store.insert([EAST] * 40, rows, [f"m{n}" for n in range(40)])
    assert store.delete_all(user_id="u1") == 20
    assert {payload["user_id"] for _, payload in documents()} == {"u2"}
    assert store.count({"user_id": "u1"}) == 0
    assert store.get("m1") is None


def test_a_text_that_is_there_is_skipped(make_store, serverless, documents):
    serverless.knobs.delay = 1.0
    store = make_store(on_duplicate="skip", refresh="false")
    first = store.insert([EAST], [{"data": "臺北 ＰＸ－４４１", "user_id": "u1"}])
    second = store.insert([EAST], [{"data": "台北 PX-441", "user_id": "u1"}])
    assert ids(second) == ids(first)
    assert [payload["data"] for _, payload in documents()] == ["臺北 ＰＸ－４４１"]


@pytest.mark.parametrize("analyzer", ["jieba", "bigram"])
def test_words_need_nothing_of_the_server(make_store, serverless, analyzer):
    store = make_store(analyzer=analyzer)
    store.insert([EAST] * 2, [{"data": "我住在臺北"}, {"data": "订单 ＰＸ－４４１ 已寄出"}], ["a", "b"])
    assert ids(store.keyword_search("台北")) == ["a"]
    assert ids(store.keyword_search("px441"))[0] == "b"
    store.update("a", payload={"data": "我搬到高雄了"})
    assert ids(store.keyword_search("高雄")) == ["a"]
    assert store.keyword_search("台北") == []
    assert serverless.refusals() == []


def test_processes_that_change_one_row_at_a_time_leave_one(make_store, documents):
    processes = [make_store(own_memory=True, refresh="false") for _ in range(4)]
    processes[0].insert([EAST], [{"data": "0"}], ["m"])
    processes[0].create_col()
    make_store(refresh="wait_for").insert([NORTH], [{"data": "other"}], ["n"])
    errors = []

    def work(number):
        try:
            for turn in range(5):
                processes[number].insert([EAST], [{"data": f"{number}-{turn}"}], ["m"])
        except BaseException as error:  # noqa: BLE001 - reported below, from the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    documents()  # searches show all from here on
    readers = [make_store(own_memory=True, refresh="false") for _ in range(3)]
    found = [sorted((hit.id, hit.payload["data"]) for hit in reader.list()[0]) for reader in readers]
    assert found[0] == found[1] == found[2]
    assert [row_id for row_id, _ in found[0]] == ["m", "n"]
    assert found[0][0][1].endswith("-4")
    assert len(documents()) == 2


def test_threads_that_change_one_row_lose_nothing_of_it(make_store, documents):
    store = make_store(refresh="false")
    store.insert([EAST], [{"data": "0"}], ["m"])
    errors = []

    def work(number):
        try:
            for turn in range(5):
                if number % 2:
                    store.update("m", payload={"data": f"{number}-{turn}"})
                else:
                    store.update("m", vector=[number + 1, turn + 1, 0, 0])
        except BaseException as error:  # noqa: BLE001 - reported below, from the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    ((row_id, payload),) = documents()
    assert row_id == "m"
    assert payload["data"].endswith("-4")


def test_more_rows_than_are_remembered_are_not_lost(make_store, serverless, monkeypatch):
    monkeypatch.setattr(recent, "MAX_ROWS", 10)
    serverless.knobs.delay = 1.0
    store = make_store(refresh="false")
    store.insert([EAST] * 30, [{"data": str(n)} for n in range(30)], [f"m{n}" for n in range(30)])
    assert store.get("m0").payload == {"data": "0"}
    store.update("m1", payload={"data": "neu"})
    assert store.get("m1").payload == {"data": "neu"}


def test_a_collection_that_is_made_anew_has_no_ghosts(make_store, hidden):
    store = make_store(refresh="false")
    store.insert([EAST], [{"data": "x"}], ["m"])
    store.reset()
    assert store.get("m") is None
    assert store.list() == [[]]


def test_memory_text_reaches_no_log(make_store, serverless, collection, caplog):
    caplog.set_level(logging.DEBUG)
    store = make_store(max_tries=1)
    store.insert([EAST], [{"data": "绝密文字"}], ["m"])
    plant(serverless, collection, "m", "绝密旧文字", written_at=5)
    store.list()
    serverless.knobs.throttle = 1
    with pytest.raises(Throttled):
        store.update("m", payload={"data": "绝密文字二"})
    plant(serverless, collection, "m", "绝密旧文字", written_at=6)
    serverless.knobs.throttle = 1
    store.list()
    assert "绝密" not in caplog.text
    assert json.dumps("绝密")[1:-1] not in caplog.text


# -- the dialect


def test_the_server_is_known_by_what_it_lacks(make_store, serverless):
    assert make_store().client.dialect.name == "aoss"
    assert make_store(engine="aoss").client.dialect.name == "aoss"


def test_a_real_cluster_is_not_taken_for_it(opensearch_url, collection):
    with OpenSearchVectorStore(url=opensearch_url, collection_name=collection).client as client:
        assert client.dialect.name == "opensearch"


def test_a_proxy_that_hides_one_path_of_a_cluster_is_not_taken_for_it():
    class Proxied:
        hosts = ("http://search.example:9200",)

        def request(self, _, path, **__):
            return {"status": 404, "error": ""} if path == "/" else {"status": "green"}

    assert detect_dialect(Proxied(), None).name == "opensearch"


def test_what_was_written_before_the_collection_was_deleted_by_others_is_no_ghost(make_store, hidden):
    store, other = make_store(refresh="false"), make_store(own_memory=True)
    store.insert([EAST], [{"data": "x"}], ["m"])
    other.delete_col()
    with pytest.raises(IndexStateError):
        store.list()
    other.create_col()
    assert store.get("m") is None


@pytest.mark.parametrize("host", ["x1.eu-west-1.aoss.amazonaws.com", "x1.aoss.eu-west-1.on.aws"])
def test_the_service_is_known_by_its_name_whatever_it_answers(host):
    class Named:
        hosts = (f"https://{host}:443",)

        def request(self, *_, **__):
            return {"version": {"distribution": "opensearch", "number": "3.5.0"}}

    assert detect_dialect(Named(), None).name == "aoss"
    assert detect_dialect(Named(), None).version == (3, 5, 0)


def test_vectors_of_any_length_are_compared_by_direction(make_store):
    store = make_store()
    store.insert([[3e-9, 4e-9, 0, 0], [3e15, -4e15, 0, 0], [-5, 0, 0, 0]], ids=["a", "b", "c"])
    scores = {hit.id: hit.score for hit in store.search("q", [200, 0, 0, 0], top_k=3)}
    assert scores == {"a": pytest.approx(0.6, abs=1e-6), "b": pytest.approx(0.6, abs=1e-6), "c": 0.0}


def test_a_roll_is_refused_in_words(make_store):
    from mem_opensearch.index import WantedIndex, roll_index

    store = make_store()
    store.create_col()
    with pytest.raises(ConfigError, match="copies no index.*export"):
        roll_index(store.client, WantedIndex.of(store.config))


# -- the memory of recent writes by itself


def test_each_instant_is_later_than_the_last_and_than_what_it_replaces():
    memory = Recent()
    instants = [memory.instant() for _ in range(1000)]
    assert instants == sorted(set(instants))
    assert memory.instant(after=2**62) == 2**62 + 1
    assert memory.instant() > 2**62 + 1


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(recent, "MAX_BYTES", 1000)
    memory = Recent()
    for n in range(100):
        memory.remember(f"m{n}", Version(n, f"d{n}"), b"x" * 100)
    assert memory.written("m0") is None
    assert memory.written("m99") == (Version(99, "d99"), b"x" * 100)
    assert memory.has_lost_sight
    serial, appear, vanish = memory.watch()
    assert (len(appear), vanish) == (10, set())
    memory.settle(serial)
    assert (memory.written("m99"), memory.has_lost_sight, memory.watch()[1]) == (None, False, set())


def test_what_is_old_is_forgotten(monkeypatch):
    memory = Recent()
    memory.remember("m", Version(1, "d"), b"{}")
    memory.bury(["e"])
    assert memory.is_buried("e")
    monkeypatch.setattr(recent, "SHOWN_SECONDS", 0.0)
    assert (memory.written("m"), memory.buried(), memory.is_buried("e")) == (None, [], False)


# -- what is noted with memories


def plain(context):
    """A context without what the collection's analysis makes of it: jieba's words have blanks between them."""
    return fold(context).replace(" ", "")


def test_talks_and_replacements_are_noted(serverless, collection, make_store):
    """By whole new documents, since there are no scripts: nothing else of the old rows changes."""
    store = make_store()
    said = [
        ("old", "使用者住在里斯本", "2025-03-01T10:00:00Z"),
        ("t0", "推薦一家店吧", "2025-05-01T10:00:00Z"),
        ("t1", "北門那家", "2025-05-01T10:01:00Z"),
        ("new0", "使用者住在柏林", "2026-01-01T10:00:00Z"),
        ("new1", "使用者住在巴黎", "2026-02-01T10:00:00Z"),
    ]
    payloads = {row_id: {"data": text, "user_id": "u1", "created_at": at} for row_id, text, at in said}
    for part in (["old", "t0"], ["t1"], ["new0", "new1"]):
        store.insert([EAST] * len(part), [payloads[row_id] for row_id in part], part)

    def rows():
        serverless.show(collection)
        url = f"{serverless.upstream}/{collection}/_search"
        hits = requests.post(url, json={"size": 1000}, timeout=60).json()["hits"]["hits"]
        assert len(hits) == len(said)
        return {hit["_source"]["id"]: hit["_source"] for hit in hits}

    found = rows()
    assert {row_id: row["payload"] for row_id, row in found.items()} == payloads
    assert found["t0"]["conversation"] == found["t1"]["conversation"]
    assert (found["t1"]["seq"], plain(found["t1"]["context"])) == (1, "推荐一家店吧")
    assert [link["id"] for link in found["old"]["superseded_by"]] == ["new0", "new1"]
    assert [link["id"] for link in found["new0"]["superseded_by"]] == ["new1"]
    assert plain(found["new0"]["context"]) == "使用者住在里斯本"
    assert store.annotate() == len(said)
    again = rows()
    for row_id, row in found.items():
        assert {**again[row_id], "written_at": 0} == {**row, "written_at": 0}
    store.update("old", payload=payloads["old"] | {"topic": "家"})
    assert rows()["old"]["superseded_by"] == found["old"]["superseded_by"]
    store.update("old", payload=payloads["old"] | {"data": "使用者喜歡喝茶"})
    assert "superseded_by" not in rows()["old"]
    assert serverless.refusals() == []


def test_of_a_talk_too_the_words_of_the_turns_stay(make_store, serverless, collection):
    """A statement that replaces something and is a turn keeps the turns before it as its context."""
    store = make_store()
    store.insert([EAST], [{"data": "使用者住在里斯本", "user_id": "u1", "created_at": "2025-03-01T10:00:00Z"}], ["old"])
    turns = [("t0", "近況如何", "2026-03-01T10:00:00Z"), ("t1", "使用者住在柏林", "2026-03-01T10:01:00Z")]
    for row_id, text, at in turns:
        store.insert([EAST], [{"data": text, "user_id": "u1", "created_at": at}], [row_id])
    serverless.show(collection)
    url = f"{serverless.upstream}/{collection}/_search"
    hits = requests.post(url, json={"size": 10}, timeout=60).json()["hits"]["hits"]
    found = {hit["_source"]["id"]: hit["_source"] for hit in hits}
    assert plain(found["t1"]["context"]) == "近况如何"
    assert [link["id"] for link in found["old"]["superseded_by"]] == ["t1"]
