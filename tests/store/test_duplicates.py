"""What insert does with a text that is already stored: on_duplicate = keep, skip or update."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mem_opensearch.errors import ConfigError

EAST, NORTH = [1, 0, 0, 0], [0, 1, 0, 0]


def add(store, *texts, ids=None, user="甲", **more):
    return store.insert([EAST] * len(texts), [{"data": text, "user_id": user, **more} for text in texts], ids)


def outcomes(hits):
    return [hit.outcome for hit in hits]


def test_keep_is_the_default(store):
    assert outcomes(add(store, "台北", "台北")) == ["stored", "stored"]
    assert store.count() == 2


def test_the_option_is_checked(make_store):
    with pytest.raises(ConfigError, match="on_duplicate"):
        make_store(on_duplicate="merge")


@pytest.mark.parametrize("ids", [None, ["b"]])
def test_skip_keeps_the_first_and_says_so(make_store, ids):
    store = make_store(on_duplicate="skip")
    (first,) = add(store, "我住在臺北，代號ＰＸ－４４１", ids=ids and ["a"], source="first")
    assert first.outcome == "stored"
    (second,) = add(store, "我住在台北，代号PX-441 ", ids=ids, source="second")
    assert (second.id, second.outcome, second.payload["source"]) == (first.id, "skipped", "first")
    assert store.count() == 1
    assert store.get(first.id).payload == first.payload


@pytest.mark.parametrize("ids", [None, ["b"]])
def test_update_replaces_the_first_under_its_id(make_store, ids):
    store = make_store(on_duplicate="update")
    (first,) = add(store, "臺北", ids=ids and ["a"], source="first", gone=1)
    (second,) = store.insert([NORTH], [{"data": "台北", "user_id": "甲", "source": "second"}], ids)
    assert (second.id, second.outcome) == (first.id, "updated")
    assert store.get(first.id).payload == {"data": "台北", "user_id": "甲", "source": "second"}
    assert store.search("q", NORTH)[0].score == pytest.approx(1.0)
    assert store.count() == 1


def test_scope_decides_and_other_texts_are_no_duplicates(make_store):
    store = make_store(on_duplicate="skip")
    add(store, "台北")
    assert outcomes(add(store, "台北", user="乙")) == ["stored"]
    assert outcomes(add(store, "台北", agent_id="x")) == ["stored"]
    assert outcomes(add(store, "台北", run_id="x")) == ["stored"]
    assert outcomes(add(store, "台北。", "台 北", "px-441", "PX-441")) == ["stored"] * 4
    assert outcomes(add(store, "", "", " ")) == ["stored"] * 3  # no text is no content to compare
    assert outcomes(add(store, "台北", "台北。", color="red")) == ["skipped", "skipped"]


def test_within_one_batch(make_store):
    store = make_store(on_duplicate="skip")
    hits = add(store, "台北", "柏林", "臺北", ids=["a", "b", "c"])
    assert [(hit.id, hit.outcome) for hit in hits] == [("a", "stored"), ("b", "stored"), ("a", "skipped")]
    store = make_store(on_duplicate="update")
    hits = store.insert([EAST] * 2, [{"data": "东京", "n": 1}, {"data": "東京", "n": 2}], ["d", "e"])
    assert [(hit.id, hit.outcome) for hit in hits] == [("d", "stored"), ("d", "updated")]
    assert store.get("d").payload == {"data": "東京", "n": 2}
    assert store.count() == 3


def test_a_batch_is_as_its_rows_one_by_one(make_store):
    """What a row of the batch replaces is no longer there for the rows after it."""
    store = make_store(on_duplicate="skip")
    add(store, "柏林", ids=["a"])
    hits = add(store, "台北", "柏林", "台北", "东京", "台北", ids=["a", "b", "c", "a", "d"])
    # Berlin leaves a, so b stores it; c is a duplicate of a, till a becomes Tokyo; then d stores Taipei.
    assert [(hit.id, hit.outcome) for hit in hits] == [
        ("a", "stored"),
        ("b", "stored"),
        ("a", "skipped"),
        ("a", "stored"),
        ("d", "stored"),
    ]
    assert {hit.id: hit.payload["data"] for hit in store.list()[0]} == {"a": "东京", "b": "柏林", "d": "台北"}


def test_a_row_is_no_duplicate_of_itself(make_store):
    store = make_store(on_duplicate="skip")
    add(store, "台北", ids=["a"], n=1)
    assert outcomes(add(store, "台北", ids=["a"], n=2)) == ["stored"]
    assert store.get("a").payload["n"] == 2


@pytest.mark.parametrize("ids", [None, ["a"]])
def test_a_text_that_was_changed_or_deleted_is_not_there(make_store, ids):
    store = make_store(on_duplicate="skip")
    (first,) = add(store, "台北", ids=ids)
    store.update(first.id, payload={"data": "柏林", "user_id": "甲"})
    (again,) = add(store, "台北", ids=ids and ["b"])
    assert again.outcome == "stored"
    assert again.id != first.id
    assert outcomes(add(store, "柏林")) == ["skipped"]
    store.delete(first.id)
    assert outcomes(add(store, "柏林")) == ["stored"]
    assert {hit.payload["data"] for hit in store.list()[0]} == {"台北", "柏林"}


def test_metadata_of_the_users_own_can_not_pass_for_it(make_store):
    from mem_opensearch.store.duplicates import content_key

    store = make_store(on_duplicate="skip")
    key = content_key({"data": "台北", "user_id": "甲"})
    store.insert([EAST], [{"data": "别的", "user_id": "甲", "$content": key}], ["a"])
    assert outcomes(add(store, "台北")) == ["stored"]
    assert store.count() == 2


def test_without_ids_the_same_text_has_the_same_id_in_every_process(make_store):
    one, other = make_store(on_duplicate="skip"), make_store(on_duplicate="update")
    (first,) = add(one, "台北")
    one.delete(first.id)
    assert add(other, "臺北")[0].id == first.id
    assert add(one, "台北", user="乙")[0].id != first.id


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("option", ["skip", "update"])
def test_eight_threads_that_store_the_same_text_give_one_row(make_store, option, given):
    stores = [make_store(on_duplicate=option) for _ in range(8)]
    stores[0].create_col()
    barrier = threading.Barrier(8)

    def work(number):
        barrier.wait()
        text = "我住在臺北" if number % 2 else "我住在台北"
        return add(stores[number], text, ids=[f"m{number}"] if given else None)[0]

    with ThreadPoolExecutor(8) as pool:
        hits = list(pool.map(work, range(8)))
    assert stores[0].count() == 1
    assert len({hit.id for hit in hits}) == 1
    assert sorted(outcomes(hits)) == sorted(["stored"] + [{"skip": "skipped", "update": "updated"}[option]] * 7)


def test_entities_have_rules_of_their_own(make_store, collection):
    store = make_store(on_duplicate="skip", collection_name=f"{collection}_entities")
    store.insert([EAST], [{"data": "小米", "entity_type": "cat", "user_id": "甲"}], ["a"])
    store.insert([EAST], [{"data": "小米", "entity_type": "company", "user_id": "甲"}], ["b"])
    assert store.count() == 2
