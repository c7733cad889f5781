"""Many threads on one row, and many threads on one store."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

EAST = [1, 0, 0, 0]
THREADS = 16


def together(work):
    """Call `work` with 0 .. 15 from as many threads at once; raise what any of them raised."""
    barrier = threading.Barrier(THREADS)

    def start(number):
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(start, range(THREADS)))


def vector_of(number):
    return [1, number / 10, 0, 0]


def stored_vector(store, row_id):
    path = f"/{store.collection_name}/_doc/{row_id}"
    return store.client.request("GET", path, params={"_source_includes": "*"})["_source"]["vector"]


def test_updates_of_payload_and_vector_are_never_mixed(store):
    """Each update writes a vector and a payload that belong together; whichever is last, they do."""
    store.insert([EAST], [{"data": "first"}], ["m"])

    def write(number):
        for turn in range(5):
            mark = number * 5 + turn
            store.update("m", vector=vector_of(mark), payload={"data": f"第{mark}次", "mark": mark, f"k{mark}": 1})

    together(write)
    payload = store.get("m").payload
    mark = payload["mark"]
    assert payload == {"data": f"第{mark}次", "mark": mark, f"k{mark}": 1}
    assert mark % 5 == 4  # somebody's last one: none of a thread's own updates comes after a later one of it
    assert stored_vector(store, "m") == pytest.approx(vector_of(mark))
    assert [hit.id for hit in store.keyword_search(f"第{mark}次")] == ["m"]


def test_of_a_payload_and_a_vector_that_are_written_at_once_none_is_lost(store):
    store.insert([EAST], [{"data": "first"}], ["m"])

    def write(number):
        for turn in range(5):
            mark = number * 5 + turn
            if number % 2:
                store.update("m", vector=vector_of(mark))
            else:
                store.update("m", payload={"data": "新", "mark": mark})

    together(write)
    assert store.get("m").payload["mark"] % 10 == 4  # the last of a thread of even number
    assert (round(stored_vector(store, "m")[1] * 10) - 9) % 10 == 0  # the last of one of odd number


def test_rows_of_one_batch_under_one_id_are_the_last_of_them(store):
    hits = store.insert([EAST, EAST, EAST], [{"data": "1"}, {"data": "2"}, {"data": "3"}], ["m", "o", "m"])
    assert [hit.id for hit in hits] == ["m", "o", "m"]
    assert store.get("m").payload == {"data": "3"}
    assert store.count() == 2


def test_sixteen_threads_share_one_store(store):
    """Inserts, updates, deletes, reads, searches and listings at once: every answer is the thread's own."""

    def work(number):
        user, rows = f"u{number}", 20
        names = [f"{user}-{n}" for n in range(rows)]
        store.insert(
            [vector_of(number)] * rows,
            [{"data": f"{user} 的第{n}条", "user_id": user, "n": n} for n in range(rows)],
            names,
        )
        assert {hit.id for hit in store.list(filters={"user_id": user})[0]} == set(names)
        for n in range(0, rows, 4):
            store.update(names[n], payload={"data": "改了", "user_id": user, "n": -1})
        assert [hit.payload["n"] for hit in store.get_many(names[:5])] == [-1, 1, 2, 3, -1]
        assert len(store.search("q", vector_of(number), top_k=50, filters={"user_id": user})) == rows
        assert {hit.id for hit in store.keyword_search("改了", top_k=50, filters={"user_id": user})} == set(names[::4])
        assert store.delete(names[1])
        assert store.delete_by_filter({"user_id": user, "n": {"gte": 10}}) == len([n for n in range(10, 20) if n % 4])
        return store.count({"user_id": user})

    assert together(work) == [20 - 1 - 8] * THREADS
    assert store.count() == THREADS * 11


def test_threads_that_meet_a_missing_collection_make_it_once(store):
    together(lambda number: store.insert([EAST], [{"data": "x"}], [f"m{number}"]))
    assert store.count() == THREADS
