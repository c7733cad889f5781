"""Reads of many rows: by id, counted, and listed past the server's page while others write."""

from __future__ import annotations

import threading

import pytest

from mem_opensearch.errors import InvalidInputError

EAST = [1, 0, 0, 0]


def test_get_many_is_real_time_and_keeps_the_order(make_store):
    store = make_store(refresh="false")
    assert store.get_many(["a"]) == [None]
    store.insert([EAST] * 3, [{"data": "甲"}, {"data": "乙"}, {"data": "丙"}], ["a", "b", "c"])
    found = store.get_many(["c", "没有", "a", "c"])
    assert [hit and (hit.id, hit.payload) for hit in found] == [
        ("c", {"data": "丙"}),
        None,
        ("a", {"data": "甲"}),
        ("c", {"data": "丙"}),
    ]
    store.delete("c")
    assert store.get_many(["c"]) == [None]
    assert store.get_many([]) == []


def test_get_many_of_thousands(store):
    count = 2500
    store.insert([EAST] * count, [{"data": "x", "n": n} for n in range(count)], [f"m{n}" for n in range(count)])
    before = store.client.requests
    found = store.get_many([f"m{n}" for n in reversed(range(count))])
    assert [hit.payload["n"] for hit in found] == list(reversed(range(count)))
    assert store.client.requests == before + 3


def test_no_answer_holds_a_vector(store, monkeypatch):
    """A vector is most of a row's bytes, and no caller reads it."""
    store.insert([EAST] * 3, [{"data": "打印机 PX-441"}] * 3, ["a", "b", "c"])
    answers, send = [], store.client.transport.send

    def record(*args, **options):
        answers.append(send(*args, **options))
        return answers[-1]

    monkeypatch.setattr(store.client.transport, "send", record)
    found = [store.search("", EAST), store.keyword_search("PX-441"), *store.list(), store.get_many(["a", "b", "c"])]
    assert [len(hits) for hits in found] == [3, 3, 3, 3]
    assert store.get("a") is not None
    assert len(answers) >= 5
    for answer in answers:
        assert '"vector"' not in (answer.body if isinstance(answer.body, str) else answer.body.decode())


@pytest.mark.parametrize("wanted", ["abc", None, {"a": 1}, 5, ["a", 5], [""], [None]])
def test_get_many_wants_a_list_of_ids(store, wanted):
    with pytest.raises(InvalidInputError):
        store.get_many(wanted)


@pytest.mark.parametrize("policy", ["on_read", "wait_for", "true"])
def test_count(make_store, policy):
    store = make_store(refresh=policy)
    assert store.count() == 0
    store.insert([EAST] * 12, [{"data": "x", "user_id": "甲" if n < 5 else "乙", "n": n} for n in range(12)])
    assert store.count() == 12
    assert store.count({"user_id": "甲"}) == 5
    assert store.count({"n": {"gte": 4, "lt": 8}}) == 4
    assert store.count({"user_id": "nobody"}) == 0


def test_list_is_stable_past_ten_thousand_while_others_write_and_delete(store, make_store, monkeypatch):
    """Every row that is there all the time is listed once; equal times are in the order of the ids."""
    from mem_opensearch.store import paging

    monkeypatch.setattr(paging, "PAGE", 500)  # more pages, so more chances for the writers
    count, batch = 11_000, 2000
    for start in range(0, count, batch):
        rows = range(start, min(start + batch, count))
        store.insert(
            [EAST] * len(rows),
            # A hundred rows share each moment.
            [{"data": "x", "created_at": f"2026-01-{1 + n // 1000:02}T{n // 100 % 10:02}:00:00Z"} for n in rows],
            [f"m{n:05}" for n in rows],
        )
    expected = sorted(range(count), key=lambda n: (-(n // 100), n))
    done, writer = threading.Event(), make_store()

    def disturb():
        number = 0
        while not done.is_set():
            names = [f"z{number + i}" for i in range(20)]
            writer.insert([EAST] * 20, [{"data": "y", "created_at": "2026-01-05T03:30:00Z"}] * 20, names)
            for name in names[:5]:
                writer.delete(name)
            number += 20

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for top_k in (None, 10_500):
            listed = [hit.id for hit in store.list(top_k=top_k)[0]]
            assert len(listed) == len(set(listed))
            ours = [row_id for row_id in listed if row_id.startswith("m")]
            assert ours == [f"m{n:05}" for n in expected][: len(ours)]
            assert len(listed) == 10_500 if top_k else len(ours) == count
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("top_k", [0, -1, True, 2.5, "5", 10_000.0])
def test_list_refuses_a_bad_top_k(store, top_k):
    with pytest.raises(InvalidInputError, match="top_k"):
        store.list(top_k=top_k)


def test_list_takes_any_number_of_rows(store):
    store.insert([EAST] * 3, [{"data": "x"}] * 3)
    for top_k in (10_000, 10_001, 2**63, 10**100):
        assert len(store.list(top_k=top_k)[0]) == 3
