"""A roll: no read fails, no write is lost, no delete comes back, whatever interrupts it."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest
from load import DIMS, Load, everything, fill, payload_of, vector_of

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.errors import (
    BackendUnavailable,
    IndexBlocked,
    IndexStateError,
    MemOpenSearchError,
    PartialWriteError,
)
from mem_opensearch.index import WantedIndex, drop_old_generations, lease, list_generations, roll_index

ODD = {
    "data": "全型ＰＸ－４４１，臺北 𠮷😂",
    "big": 2**63 - 1,
    "float": 1.0,
    "none": None,
    "nested": {"键": [1, [2, [3]], {"a.b": {"": "空"}}], "空": {}},
    "created_at": "2026-08-01T10:00:00.123456+08:00",
    "event_date": "2026-07-01",
    "user_id": "u1",
}


def sources(store):
    """Every row with all its fields, as the server holds it."""
    name = store.collection_name
    store.client.request("POST", f"/{name}/_refresh")
    hits = store.client.request("POST", f"/{name}/_search", body={"size": 1000})["hits"]["hits"]
    return {hit["_id"]: hit["_source"] for hit in hits}


def is_blocked(store):
    return [each.write_blocked for each in list_generations(store.client, store.collection_name).every if each.live]


def test_under_load_nothing_is_lost(make_store, wanted):
    store = make_store()
    fill(store, 5000)
    with Load(make_store(), make_store(), 5000) as load:
        time.sleep(0.5)
        report = roll_index(store.client, wanted)
        time.sleep(0.5)
    print(f"\n{report}\n{load.writes} writes, longest {load.longest_write:.2f} s; {load.reads} rounds of reads")
    load.check(make_store())
    assert load.writes > 20
    assert load.reads > 10
    assert report.conflicts == 0
    assert report.sampled >= 100
    generations = list_generations(store.client, store.collection_name)
    assert generations.live.name == report.new_index == f"{store.collection_name}-v1-000002"
    assert [each.name for each in generations.old] == list(report.kept) == [report.old_index]


@pytest.mark.parametrize("shards", [1, 3])
def test_every_field_survives(make_store, shards):
    store = make_store(shards=shards)
    store.insert([vector_of(n) for n in range(50)], [ODD | {"n": n} for n in range(50)], [f"m{n}/ü" for n in range(50)])
    store.update("m7/ü", payload={"data": "新"})
    before = sources(store)
    report = roll_index(store.client, WantedIndex.of(store.config))
    assert sources(store) == before
    assert len(before["m7/ü"]["vector"]) == DIMS
    assert before["m1/ü"]["facts"]
    assert (report.rows, report.deleted) == (50, 0)
    assert report.copied == 50 or shards > 1  # sequence numbers are counted by shard: some rows are copied twice
    assert store.search("", vector_of(7), top_k=1)[0].id == "m7/ü"
    assert store.get("m1/ü").payload == ODD | {"n": 1}


def test_another_analysis_is_what_a_roll_is_for(make_store):
    store = make_store(analyzer="bigram")
    fill(store, 20)
    store.insert([vector_of(1)], [{"data": "南京市長江大橋"}], ["bridge"])
    report = roll_index(store.client, replace(WantedIndex.of(store.config), profile="ik"))
    assert report.rows == 21
    after = make_store(analyzer="ik")
    assert after.col_info()["analyzer"] == "ik"
    assert after.keyword_search("长江大桥")[0].id == "bridge"
    tokens = after.client.request(
        "POST", f"/{after.collection_name}/_analyze", body={"field": "text", "text": "長江大橋"}
    )["tokens"]
    assert "长江大桥" in [token["token"] for token in tokens]
    unchanged = roll_index(store.client, replace(WantedIndex.of(store.config), profile=None))
    assert unchanged.rows == 21
    assert after.col_info()["analyzer"] == "ik"  # what is not asked for stays


def test_rows_can_be_rewritten_on_their_way(store, wanted):
    fill(store, 1200)
    store.update("m5", payload={"data": "新"})
    before = {row_id: store.client.request("GET", f"/{wanted.collection}/_doc/{row_id}") for row_id in ("m5", "m6")}
    seen = []

    def with_context(row):
        seen.append(row["id"])
        return row | {"context": row["text"]}

    def meanwhile(name, done, total):
        if name == "copying" and done:
            store.insert([vector_of(7)], [payload_of(7)], ["during"])

    report = roll_index(store.client, wanted, rewrite=with_context, progress=meanwhile)
    assert report.rows == 1201
    assert {"m5", "m6", "during"} <= set(seen)
    after = {row_id: store.client.request("GET", f"/{wanted.collection}/_doc/{row_id}") for row_id in before}
    for row_id, row in before.items():
        assert after[row_id]["_source"] == row["_source"] | {"context": row["_source"]["text"]}


def test_an_empty_collection_and_the_entities(make_store, collection):
    store = make_store(collection_name=f"{collection}_entities")
    store.create_col()
    assert roll_index(store.client, WantedIndex.of(store.config)).rows == 0
    store.insert([vector_of(1)], [{"data": "李建光", "entity_type": "person", "linked_memory_ids": ["m1"]}], ["e1"])
    before = sources(store)
    assert roll_index(store.client, WantedIndex.of(store.config)).rows == 1
    assert sources(store) == before
    assert before["e1"]["memory_ids"] == ["m1"]


def test_what_a_roll_cannot_do_is_refused(store, wanted):
    with pytest.raises(IndexStateError, match="there is no collection '.*' to roll; make it with"):
        roll_index(store.client, wanted)
    fill(store, 5)
    with pytest.raises(IndexStateError, match="8 dimensions, and a roll keeps the vectors: 9 can't be made of them"):
        roll_index(store.client, replace(wanted, dims=9))
    assert len(list_generations(store.client, store.collection_name).every) == 1


STAGES = ["copying", "comparing ids", "last rows", "verifying", "moving the alias"]


@pytest.mark.parametrize("stage", STAGES)
def test_interrupted_at_any_stage_it_can_go_on(make_store, wanted, monkeypatch, stage):
    monkeypatch.setattr("mem_opensearch.index.lease.PATIENCE_SECONDS", 1.0)
    store = make_store()
    fill(store, 300)

    def interrupt(name, done, total):
        if name == stage and (done > 0 or stage == "moving the alias"):
            raise KeyboardInterrupt
        if name == "copying" and done:
            store.insert([vector_of(1)], [payload_of(1)], ["during"])
            store.delete("m2")

    with pytest.raises(KeyboardInterrupt):
        roll_index(store.client, wanted, progress=interrupt)
    assert is_blocked(store) == [False]
    store.update("m3", payload=payload_of(3, version=9))
    store.delete("m4")
    store.insert([vector_of(2)], [payload_of(2)], ["after"])
    expected = everything(store)
    assert list_generations(store.client, store.collection_name).unfinished is not None
    report = roll_index(store.client, wanted)
    assert report.resumed
    assert everything(store) == expected
    assert report.rows == len(expected)
    assert store.get("m3").payload["version"] == 9
    generations = list_generations(store.client, store.collection_name)
    assert generations.unfinished is None
    assert generations.live.mark is None
    assert generations.live.aliases == (store.collection_name,)


def test_an_unfinished_roll_to_something_else_is_removed(store, wanted):
    fill(store, 50)

    def interrupt(name, done, total):
        if name == "comparing ids":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        roll_index(store.client, replace(wanted, profile="bigram"), progress=interrupt)
    report = roll_index(store.client, replace(wanted, profile="ik"))
    assert not report.resumed
    assert store.col_info()["analyzer"] == "ik"
    assert len(list_generations(store.client, store.collection_name).every) == 2


def test_the_end_of_a_roll_that_was_cut_off_leaves_nothing_wrong(store, wanted):
    """The alias has moved, and the process dies before it erases its mark: the next rolls are not misled."""
    fill(store, 50)

    def interrupt(name, done, total):
        if name == "moving the alias" and done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        roll_index(store.client, wanted, progress=interrupt)
    assert list_generations(store.client, store.collection_name).unfinished is None
    store.insert([vector_of(1)], [payload_of(1)], ["after"])
    for _ in range(2):
        report = roll_index(store.client, wanted)
        assert not report.resumed
        assert report.rows == 51
    assert drop_old_generations(store.client, store.collection_name) == report.kept
    assert len(report.kept) == 3


ROLL_IN_A_PROCESS = f"""
import sys
from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.index import WantedIndex, copying, lease, roll_index
copying.STEP_FIRST = copying.STEP_MOST = 200
lease.BEAT_SECONDS, lease.PATIENCE_SECONDS = 0.4, 3.0
store = OpenSearchVectorStore(url=sys.argv[1], collection_name=sys.argv[2], embedding_model_dims={DIMS})
print("begins", flush=True)
roll_index(store.client, WantedIndex.of(store.config), progress=lambda *what: print(*what, flush=True))
print("done", flush=True)
"""


def test_killed_at_random_moments_it_loses_nothing(make_store, wanted, opensearch_url):
    """While a writer and a reader work; a writer that meets the block of a killed roll waits for the next one."""
    store = make_store()
    fill(store, 2000)
    seed = random.randrange(10**6)
    rng = random.Random(seed)
    print(f"\nseed {seed}")
    command = [sys.executable, "-c", ROLL_IN_A_PROCESS, opensearch_url, store.collection_name]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with Load(make_store(), make_store(), 2000) as load:
        for _ in range(3):
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
            said = [process.stdout.readline().strip() for _ in range(rng.randrange(1, 18))]
            time.sleep(rng.uniform(0, 0.2))
            process.kill()
            process.wait()
            process.stdout.close()
            print(f"killed after: {said[-1]}; writes blocked: {is_blocked(store)[0]}")
        try:
            report = roll_index(store.client, wanted)
        except IndexStateError as error:
            # The killed one had already sent the switch, and the server has just carried it out: that roll is done.
            # Only that excuses the refusal: with an unfinished generation left, a dead process was taken for alive.
            assert list_generations(store.client, store.collection_name).unfinished is None, error  # noqa: PT017
            report = roll_index(store.client, wanted)
        assert is_blocked(store) == [False]
        time.sleep(0.3)
    print(f"{load.writes} writes, longest {load.longest_write:.1f} s; {load.reads} rounds of reads; {report}")
    load.check(make_store())
    assert list_generations(store.client, store.collection_name).unfinished is None


@pytest.mark.parametrize(
    ("beats", "alive"),
    [
        (["a"], False),
        (["a", "b"], False),  # sent before the owner was killed, carried out after it
        (["a", "b", "c"], True),
    ],
)
@pytest.mark.unit
def test_one_beat_is_no_sign_of_life(monkeypatch, beats, alive):
    """What the server shows is scripted: when a killed process's last request is carried out can't be arranged."""
    monkeypatch.setattr(lease, "PATIENCE_SECONDS", 0.05)
    shown = [[lease.lease_prefix("c") + beat] for beat in beats]
    monkeypatch.setattr(lease, "_leases_of", lambda *_: shown.pop(0) if len(shown) > 1 else shown[0])
    if alive:
        with pytest.raises(IndexStateError, match="another process is rolling"):
            lease.wait_until_dead(None, "c", "c-v1-000002")
    else:
        assert lease.wait_until_dead(None, "c", "c-v1-000002") == [lease.lease_prefix("c") + beats[-1]]


def test_of_two_at_once_the_second_is_refused(make_store, wanted):
    store, other = make_store(), make_store()
    fill(store, 500)
    second = []

    def meanwhile(name, done, total):
        if name == "comparing ids" and not done:
            with pytest.raises(IndexStateError, match="another process is rolling into '.*-000002' now") as caught:
                roll_index(other.client, wanted)
            second.append(caught.value)
            assert [name for name in other.list_cols() if store.collection_name in name] == [store.collection_name]

    assert roll_index(store.client, wanted, progress=meanwhile).rows == 500
    assert len(second) == 1


def test_many_at_the_same_moment_make_one_generation(make_store, wanted):
    stores = [make_store() for _ in range(4)]
    fill(stores[0], 200)
    gate = threading.Barrier(4)
    reports, errors = [], []

    def work(store):
        gate.wait()
        try:
            reports.append(roll_index(store.client, wanted))
        except IndexStateError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reports
    assert len(reports) + len(errors) == 4
    assert len(list_generations(stores[0].client, wanted.collection).every) == 1 + len(reports)
    assert len(everything(stores[0])) == 200


def test_one_that_was_taken_over_does_no_harm(make_store, wanted):
    """A process that stood still wakes while another one holds the block: it neither moves the alias nor unblocks."""
    store, other = make_store(), make_store()
    fill(store, 200)
    asleep, wake = threading.Event(), threading.Event()
    ended = []

    def sleeper():
        def stand_still(name, done, total):
            if name == "verifying" and not done:
                (thread,) = [each for each in threading.enumerate() if each.name == "mem-opensearch-roll-lease"]
                thread._target.__self__._stop.set()
                thread.join()
                asleep.set()
                wake.wait()

        try:
            ended.append(roll_index(store.client, wanted, progress=stand_still))
        except MemOpenSearchError as error:
            ended.append(error)

    thread = threading.Thread(target=sleeper)
    thread.start()
    asleep.wait()

    def wake_it(name, done, total):
        if name == "verifying" and not done:
            wake.set()
            thread.join()
            assert is_blocked(other) == [True]
            assert list_generations(other.client, wanted.collection).live.name.endswith("-000001")

    report = roll_index(other.client, wanted, progress=wake_it)
    assert "missing" in str(ended[0])
    assert report.resumed
    assert is_blocked(store) == [False]
    assert len(everything(store)) == 200


def test_old_generations_are_kept_until_they_are_dropped(store, wanted):
    fill(store, 30)
    first = roll_index(store.client, wanted)
    assert first.kept == (f"{store.collection_name}-v1-000001",)
    second = roll_index(store.client, wanted, drop_old=True)
    assert second.dropped == (*first.kept, first.new_index)
    assert second.kept == ()
    assert [each.name for each in list_generations(store.client, store.collection_name).every] == [second.new_index]
    assert len(everything(store)) == 30
    store.delete_col()
    assert list_generations(store.client, store.collection_name).every == ()


def test_a_listing_that_began_before_is_read_to_its_end(make_store, wanted):
    from mem_opensearch.store.paging import scan

    store = make_store()
    fill(store, 1500)
    everything(store)
    rows = scan(store.client, store.collection_name, [])
    ids = [next(rows)["_id"]]
    dropped = []
    roll_index(store.client, wanted)
    thread = threading.Thread(target=lambda: dropped.append(drop_old_generations(store.client, wanted.collection)))
    thread.start()
    time.sleep(2)
    assert dropped == []
    ids += [row["_id"] for row in rows]
    thread.join()
    assert len(dropped[0]) == 1
    assert len(set(ids)) == 1500


class TestWriteBlock:
    """What writers see of the block."""

    @pytest.fixture
    def blocked(self, store):
        fill(store, 3)
        index = f"/{store.collection_name}-v1-000001"
        store.client.request("PUT", f"{index}/_block/write")
        release = threading.Timer(
            1.0, lambda: store.client.request("PUT", f"{index}/_settings", body={"index.blocks.write": None})
        )
        yield store, release
        release.join()

    def test_they_wait_and_go_on(self, blocked):
        store, release = blocked
        release.start()
        done = []
        threads = [
            threading.Thread(target=lambda work=work: done.append(work()))
            for work in (
                lambda: store.insert([vector_of(9)] * 3, [payload_of(9)] * 3, ["a", "b", "c"]),
                lambda: store.update("m1", payload=payload_of(1, version=5)),
                lambda: store.delete("m2"),
            )
        ]
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        assert done == []
        for thread in threads:
            thread.join()
        assert everything(store).keys() == {"m0", "m1", "a", "b", "c"}
        assert store.get("m1").payload["version"] == 5

    def test_not_for_ever(self, blocked, monkeypatch):
        store, release = blocked
        monkeypatch.setattr("mem_opensearch.client.failures.BLOCK_SECONDS", 0.3)
        with pytest.raises(BackendUnavailable, match="A roll that was interrupted leaves such a block: run it again"):
            store.delete("m1")
        with pytest.raises(PartialWriteError, match="FORBIDDEN/8/index write"):
            store.insert([vector_of(9)], [payload_of(9)], ["a"])
        release.start()

    @pytest.mark.parametrize("block", ["read_only", "read_only_allow_delete"])
    def test_other_blocks_are_errors(self, make_store, block):
        store = make_store(max_tries=2)
        fill(store, 3)
        settings = f"/{store.collection_name}-v1-000001/_settings"
        store.client.request("PUT", settings, body={f"index.blocks.{block}": True})
        started = time.monotonic()
        try:
            with pytest.raises(IndexBlocked, match="cluster_block_exception"):
                store.update("m1", payload=payload_of(1))
            with pytest.raises(IndexBlocked, match="cluster_block_exception"):
                store.insert([vector_of(9)], [payload_of(9)], ["a"])
        finally:
            store.client.request("PUT", settings, body={f"index.blocks.{block}": None})
        assert time.monotonic() - started < 20


def test_on_opensearch_2(old_server):
    def make():
        return OpenSearchVectorStore(url=old_server, collection_name="roll", embedding_model_dims=DIMS)

    store = make()
    fill(store, 2000)
    store.insert([vector_of(1)], [ODD], ["odd"])
    before = store.client.request("GET", "/roll/_doc/odd")["_source"]
    with Load(make(), make(), 2000) as load:
        load.ledger["odd"] = ODD
        report = roll_index(store.client, WantedIndex.of(store.config), drop_old=True)
    load.check(make())
    assert report.dropped == ("roll-v1-000001",)
    assert store.client.request("GET", "/roll/_doc/odd")["_source"] == before
    assert len(before["vector"]) == DIMS
    assert store.search("", vector_of(1), top_k=2)[0].score == pytest.approx(1.0)


def test_a_roll_to_words_that_the_client_makes_makes_them(make_store, wanted):
    """From words that the server makes to jieba's: every row gets its words on the way."""
    store = make_store()
    fill(store, 300)
    report = roll_index(store.client, replace(wanted, profile="jieba"))
    assert report.rows == 300
    assert report.sampled > 0
    moved = make_store(analyzer="jieba")
    moved.insert([[1.0] * DIMS], [{"data": "她毕业于北京大学中文系"}], ["after"])
    assert moved.keyword_search("北京大学")[0].id == "after"
    answer = moved.client.request("GET", f"/{moved.collection_name}/_doc/after")
    made = next(
        value
        for key, value in answer["_source"].items()
        if key not in {"text", "id"} and "北京大学" in str(value) and isinstance(value, str)
    )
    assert "北京大学" in made.split()
    rows = moved.client.request("POST", f"/{moved.collection_name}/_search", body={"size": 5})["hits"]["hits"]
    fields = {key for key, value in answer["_source"].items() if value == made}
    assert fields
    for row in rows:
        assert fields <= set(row["_source"])
