"""What is noted with memories when they are written: talks, names, times, and what they replace."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from mem_opensearch.errors import BackendError
from mem_opensearch.store import annotating
from mem_opensearch.store.annotations import MOST_READ, own_annotations, text_hash

USER = {"user_id": "u1"}
EAST, NORTH = [1, 0, 0, 0], [0, 1, 0, 0]
NOTED = ("conversation", "seq", "context", "event_date", "entities", "superseded_by")


@pytest.fixture
def noted():
    """Return what an index holds of a memory beside its payload."""

    def read(store, memory_id):
        path = f"/{store.collection_name}/_doc/{memory_id}"
        source = store.client.request("GET", path)["_source"]
        return {name: source[name] for name in NOTED if name in source}

    return read


def said(text, at, **more):
    return {"data": text, **USER, "created_at": at, **more}


def add(store, *rows, vector=EAST):
    store.insert([vector] * len(rows), [payload for _, payload in rows], [row_id for row_id, _ in rows])


# -- talks


@pytest.mark.parametrize("together", [True, False])
def test_turns_within_the_gap_are_one_talk(make_store, noted, together):
    store = make_store()
    rows = [
        ("t0", said("推荐一家咖啡店吧", "2026-08-01T10:00:00+08:00")),
        ("t1", said("北门那家很安静", "2026-08-01T10:02:00+08:00")),
        ("t2", said("好，就去那里", "2026-08-01T10:04:00+08:00")),
        ("t3", said("到了", "2026-08-01T10:50:00+08:00")),
        ("later", said("今天下雨", "2026-08-03T10:00:00+08:00")),
    ]
    for part in [rows] if together else [[row] for row in rows]:
        add(store, *part)
    talk = [noted(store, f"t{n}") for n in range(4)]
    assert [each["seq"] for each in talk] == [0, 1, 2, 3]
    assert len({each["conversation"] for each in talk}) == 1
    assert "context" not in talk[0]
    assert talk[3]["context"] == "北门那家很安静\n好，就去那里"
    assert noted(store, "later")["seq"] == 0
    assert noted(store, "later")["conversation"] != talk[0]["conversation"]


def test_sessions_go_on_side_by_side(make_store, noted):
    store = make_store()
    for n, session in enumerate(("a", "b", "a", "b")):
        add(store, (f"m{n}", said(f"第{n}句", f"2026-08-01T10:0{n}:00Z", session_id=session)))
    notes = [noted(store, f"m{n}") for n in range(4)]
    assert notes[0]["conversation"] == notes[2]["conversation"] != notes[1]["conversation"]
    assert notes[1]["conversation"] == notes[3]["conversation"]
    assert [each["seq"] for each in notes] == [0, 0, 1, 1]


def test_a_session_goes_on_after_days(make_store, noted):
    store = make_store()
    add(store, ("m0", said("一", "2026-08-01T10:00:00Z", thread_id="a")))
    add(store, ("m1", said("二", "2026-08-09T10:00:00Z", thread_id="a")))
    assert noted(store, "m1")["seq"] == 1


def test_facts_of_one_call_with_one_time_keep_their_order(make_store, noted):
    store = make_store()
    add(store, *((f"m{n}", said(f"事实{n}", "2026-08-01T10:00:00Z")) for n in range(4)))
    assert [noted(store, f"m{n}")["seq"] for n in range(4)] == [0, 1, 2, 3]


def test_talks_never_cross_a_scope(make_store, noted):
    store = make_store()
    add(store, ("mine", said("你好", "2026-08-01T10:00:00Z")))
    theirs = {"data": "你好", "created_at": "2026-08-01T10:01:00Z"}
    add(store, ("other", theirs | {"user_id": "u2"}), ("run", theirs | USER | {"run_id": "r1"}))
    conversations = {noted(store, each)["conversation"] for each in ("mine", "other", "run")}
    assert len(conversations) == 3


def test_without_a_date_or_a_scope_there_is_no_talk(make_store, noted):
    store = make_store()
    add(store, ("undated", {"data": "你好", **USER}), ("nobodys", {"data": "你好", "created_at": "2026-08-01"}))
    assert "conversation" not in noted(store, "undated")
    assert "conversation" not in noted(store, "nobodys")


# -- names and times


def test_given_names_and_the_time_that_a_text_states(make_store, noted):
    store = make_store()
    add(store, ("m1", said("8月20號要跟《圍城》讀書會見面", "2026-08-14T10:00:00+08:00", entities=["讀書會"])))
    notes = noted(store, "m1")
    assert notes["entities"] == ["读书会"]
    assert notes["event_date"].startswith("2026-08-19T16:00:00")  # midnight there


def test_a_payload_that_names_the_time_has_the_last_word(make_store, noted):
    store = make_store()
    add(store, ("m1", said("8月20號考試", "2026-08-14T10:00:00Z", event_date="2026-09-01")))
    assert noted(store, "m1")["event_date"].startswith("2026-09-01")


# -- what replaces what

OLD, NEW = "2025-03-01T10:00:00Z", "2026-08-01T10:00:00Z"
HOMES = [
    ("使用者住在里斯本", "使用者住在柏林"),
    ("使用者住在里斯本", "使用者搬到柏林了"),
    ("我住在里斯本", "我搬到了柏林"),
    ("I live in Lisbon", "I moved to Berlin"),
]


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(("old", "new"), HOMES)
def test_an_older_fact_says_what_replaces_it(make_store, noted, old, new, together):
    store = make_store()
    rows = [("old", said(old, OLD)), ("new", said(new, NEW))]
    for part in [rows] if together else [[row] for row in rows]:
        add(store, *part)
    (link,) = noted(store, "old")["superseded_by"]
    assert (link["id"], link["text"], link["slots"]) == ("new", text_hash(new), ["residence"])
    assert "superseded_by" not in noted(store, "new")
    assert noted(store, "new")["context"] == old, "by which a question that only the old one matches finds the new one"


def test_the_payload_stays_as_it_was_given(make_store):
    store = make_store()
    payload = said("使用者住在里斯本", OLD, tags=["家"])
    add(store, ("old", payload), ("new", said("使用者搬到柏林了", NEW)))
    assert store.get("old").payload == payload


def test_nobody_elses_memory_is_replaced(make_store, noted):
    store = make_store()
    add(store, ("old", said("我住在里斯本", OLD) | {"user_id": "u2"}), ("new", said("我搬到了柏林", NEW)))
    assert "superseded_by" not in noted(store, "old")


def test_a_written_again_memory_is_linked_once(make_store, noted):
    store = make_store()
    add(store, ("old", said("我住在里斯本", OLD)))
    for _ in range(3):
        add(store, ("new", said("我搬到了柏林", NEW)))
    assert len(noted(store, "old")["superseded_by"]) == 1


def test_the_three_surest_are_kept(make_store, noted):
    store = make_store()
    add(store, ("old", said("使用者住在里斯本", OLD)))
    for n, city in enumerate(("柏林", "巴黎", "羅馬", "東京", "首爾")):
        add(store, (f"new{n}", said(f"使用者住在{city}", f"2026-0{n + 1}-01T10:00:00Z")))
    links = noted(store, "old")["superseded_by"]
    assert len(links) == 3
    assert [link["score"] for link in links] == sorted((link["score"] for link in links), reverse=True)


def test_many_writers_lose_no_link(make_store, noted):
    stores = [make_store() for _ in range(8)]
    add(stores[0], ("old", said("使用者住在里斯本", OLD)))
    cities = ("柏林", "巴黎", "羅馬", "東京", "首爾", "河內", "曼谷", "雪梨")

    def write(n):
        add(stores[n], (f"new{n}", said(f"使用者住在{cities[n]}", f"2026-0{n + 1}-01T10:00:00Z")))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert len(noted(stores[0], "old")["superseded_by"]) == 3


# -- updates


def test_an_update_of_the_metadata_keeps_the_notes(make_store, noted):
    store = make_store()
    add(store, ("first", said("你好", "2025-03-01T09:58:00Z")))
    add(store, ("old", said("使用者住在里斯本", OLD)))
    add(store, ("new", said("使用者住在柏林", NEW)))
    before = noted(store, "old")
    assert before.keys() >= {"conversation", "seq", "context", "superseded_by"}
    store.update("old", payload=said("使用者住在里斯本", OLD, topic="家"))
    assert noted(store, "old") == before


def test_another_text_keeps_the_place_and_is_noted_anew(make_store, noted):
    store = make_store()
    add(store, ("old", said("使用者住在里斯本", OLD)), ("new", said("使用者住在柏林", NEW)))
    before = noted(store, "old")
    store.update("old", payload=said("使用者喜歡喝茶", OLD))
    after = noted(store, "old")
    assert (after["conversation"], after["seq"]) == (before["conversation"], before["seq"])
    assert "superseded_by" not in after


def test_an_update_may_replace_something(make_store, noted):
    store = make_store()
    add(store, ("old", said("使用者住在里斯本", OLD)), ("new", said("使用者喜歡喝茶", NEW)))
    store.update("new", payload=said("使用者搬到柏林了", NEW))
    assert [link["id"] for link in noted(store, "old")["superseded_by"]] == ["new"]


def test_another_text_loses_what_the_old_one_replaced(make_store, noted):
    store = make_store()
    add(store, ("old", said("使用者住在里斯本", OLD)), ("new", said("使用者搬到柏林了", NEW)))
    assert noted(store, "new")["context"] == "使用者住在里斯本"
    store.update("new", payload=said("使用者喜歡喝茶", NEW))
    assert "context" not in noted(store, "new")


def test_a_later_turn_keeps_the_turns_before_it(make_store, noted):
    store = make_store()
    add(store, ("t0", said("你好", OLD)), ("t1", said("天空很藍", "2025-03-01T10:01:00Z")))
    store.update("t1", payload=said("天空很灰", "2025-03-01T10:01:00Z"))
    assert noted(store, "t1")["context"] == "你好"


# -- texts and times of any kind


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
@pytest.mark.parametrize("text", ["昨天去年我搬到了柏林", "yesterday", "明天明年見", "tomorrow, next year"])
def test_the_ends_of_the_calendar(text, at):
    assert isinstance(own_annotations({"id": "m", "text": text, "created_at": at, "payload": {"created_at": at}}), dict)


def test_of_a_page_the_beginning_is_looked_through(make_store, noted):
    store = make_store()
    page = "天" * 1_000_000 + "8月20號考試"
    add(store, ("page", said(page, OLD)), ("next", said("好", "2025-03-01T10:01:00Z")))
    assert "event_date" not in noted(store, "page")
    assert noted(store, "next")["context"] == page[:MOST_READ]
    assert store.get("page").payload["data"] == page


# -- afterwards


def test_bulk_loads_are_annotated_afterwards(make_store, noted):
    """The same comes out as when they are annotated as they are written, and again when it is done twice."""
    rows = [
        ("m0", said("我住在里斯本", OLD)),
        ("m1", said("《圍城》很好看", "2025-03-01T10:01:00Z")),
        ("m2", said("我搬到了柏林", NEW)),
    ]
    store = make_store(annotate=False)
    add(store, *rows)
    assert [noted(store, row_id) for row_id, _ in rows] == [{}, {}, {}]
    steps = []
    assert store.annotate(progress=lambda done, total: steps.append((done, total))) == 3
    assert steps == [(3, 3)]
    afterwards = [noted(store, row_id) for row_id, _ in rows]
    assert store.annotate() == 3
    assert [noted(store, row_id) for row_id, _ in rows] == afterwards
    store.reset()
    at_once = make_store()
    add(at_once, *rows)
    assert [noted(at_once, row_id) for row_id, _ in rows] == afterwards


def test_an_entity_collection_has_nothing_to_annotate(entities):
    assert entities.annotate() == 0


def test_requests_of_a_write(make_store):
    """A look-up of the talk, the rows; where something may be replaced, its neighbours and the links."""
    store = make_store(refresh="true")
    add(store, ("m0", said("你好", OLD)))

    def requests_of(*rows):
        before = store.client.requests
        add(store, *rows)
        return store.client.requests - before

    assert requests_of(*((f"a{n}", said("天空很藍", f"2026-05-01T10:0{n}:00Z")) for n in range(9))) == 2
    assert requests_of(("h1", said("使用者住在里斯本", OLD))) == 3
    assert requests_of(*((f"b{n}", said("使用者住在柏林", f"2026-08-0{n + 1}T10:00:00Z")) for n in range(9))) == 4


def test_what_can_not_be_noted_does_not_lose_the_memory(make_store, noted, monkeypatch, caplog):
    store = make_store()
    add(store, ("old", said("使用者住在里斯本", OLD)))

    def fail(*_, **__):
        raise BackendError("the server is tired")

    monkeypatch.setattr(type(store), "_note_replaced", fail)
    add(store, ("new", said("使用者住在柏林", NEW)))
    monkeypatch.undo()
    assert store.get("new").payload["data"] == "使用者住在柏林"
    assert "'new'" in caplog.text
    assert "柏林" not in caplog.text
    store.annotate()
    assert [link["id"] for link in noted(store, "old")["superseded_by"]] == ["new"]


def test_a_talk_that_can_not_be_looked_up_does_not_lose_the_memory(make_store, noted, monkeypatch, caplog):
    store = make_store()
    add(store, ("t0", said("推荐一家咖啡店吧", OLD)))

    def fail(*_, **__):
        return {"query": {"no such query": {}}}

    monkeypatch.setattr(annotating, "last_turns", fail)
    add(store, ("t1", said("北门那家很安静", "2025-03-01T10:01:00Z")))
    monkeypatch.undo()
    assert noted(store, "t1").keys() <= {"entities"}
    assert "the talks of 't1'" in caplog.text
    assert "北门" not in caplog.text
    store.annotate()
    assert noted(store, "t1")["seq"] == 1


def test_a_memory_that_is_deleted_meanwhile_stays_gone(make_store, monkeypatch):
    store = make_store()
    add(store, *((f"m{n}", said(f"第{n}句", f"2025-03-01T10:0{n}:00Z")) for n in range(3)))
    note = store._write_notes

    def delete_first(*args, **more):
        store.delete("m1")
        note(*args, **more)

    monkeypatch.setattr(store, "_write_notes", delete_first)
    store.annotate()
    assert store.get("m1") is None
    assert {hit.id for hit in store.list()[0]} == {"m0", "m2"}
