"""Delete by id, by filter, by scope and by expiry, on a real node."""

from __future__ import annotations

import threading
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from mem_opensearch.errors import FilterError, InvalidInputError, ScopeError
from mem_opensearch.store import by_query

EAST = [1, 0, 0, 0]
POLICIES = ["on_read", "wait_for", "true", "false"]


def fill(store, count, prefix="m", **payload):
    store.insert(
        [EAST] * count,
        [{"data": f"第{i}条", "n": i, **payload} for i in range(count)],
        [f"{prefix}{i}" for i in range(count)],
    )


def ids(store, **options):
    return {hit.id for hit in store.list(**options)[0]}


def test_delete_says_whether_the_row_was_there(store):
    fill(store, 1)
    assert store.delete("m0") is True
    assert store.delete("m0") is False
    assert store.delete("never") is False


@pytest.mark.parametrize("policy", POLICIES)
def test_delete_by_filter_sees_own_writes_and_returns_the_count(make_store, policy):
    store = make_store(refresh=policy)
    fill(store, 30, user_id="甲")
    fill(store, 5, "o", user_id="乙")
    assert store.delete_by_filter({"user_id": "甲", "n": {"gte": 10}}) == 20
    assert store.count({"user_id": "甲"}) == 10
    assert store.delete_by_filter({"user_id": "甲", "n": {"gte": 10}}) == 0
    assert ids(store) == {f"m{i}" for i in range(10)} | {f"o{i}" for i in range(5)}


@pytest.mark.parametrize("policy", POLICIES)
def test_delete_all_takes_one_scope_and_no_other(make_store, policy):
    store = make_store(refresh=policy)
    fill(store, 12, user_id="甲", agent_id="x")
    fill(store, 7, "y", user_id="甲", agent_id="y")
    fill(store, 5, "o", user_id="乙", agent_id="x")
    assert store.delete_all(user_id="甲", agent_id="x") == 12
    assert store.delete_all(user_id="甲") == 7
    assert ids(store) == {f"o{i}" for i in range(5)}
    assert store.delete_all(run_id="none") == 0


def test_a_filter_that_passes_everything_is_refused(store):
    fill(store, 3)
    ever = {"user_id": {"nin": []}}  # what code makes of a list that happens to be empty
    nothing = {"n": {"in": []}}
    for filters in (
        {},
        None,
        ever,
        {"NOT": nothing},
        {"OR": [{"n": 1}, {}]},
        {"AND": [ever, {}]},
        {"NOT": [{"NOT": ever}]},
    ):
        with pytest.raises(ScopeError, match=r"say which rows, or empty the collection with reset\(\)"):
            store.delete_by_filter(filters)
    with pytest.raises(ScopeError, match="names no user_id, agent_id, run_id"):
        store.delete_all()
    for scope in ("", "*"):
        with pytest.raises(ScopeError):
            store.delete_all(user_id=scope)
    with pytest.raises(FilterError):
        store.delete_by_filter({"n": {"near": 5}})
    for filters in (nothing, {"NOT": ever}, {"AND": [ever, {"n": 7}]}, {"OR": [nothing, {"n": 7}]}):
        assert store.delete_by_filter(filters) == 0
    assert store.count() == 3


def test_deleting_in_a_missing_collection_deletes_nothing_and_makes_nothing(store):
    assert store.delete_by_filter({"user_id": "甲"}) == 0
    assert store.delete_all(user_id="甲") == 0
    assert store.purge() == 0
    assert store.col_info()["exists"] is False


def test_progress_is_told_page_by_page(store, monkeypatch):
    monkeypatch.setattr(by_query, "PAGE", 40)
    fill(store, 100, user_id="甲")
    told = []
    assert store.delete_all(user_id="甲", progress=lambda done, total: told.append((done, total))) == 100
    assert told == [(40, 100), (80, 100), (100, 100)]


@pytest.fixture
def before_delete(store, monkeypatch):
    """Do something after a page was listed and before the server deletes it, the first time."""

    def before_delete(act):
        send, todo = store.client.request, [act]

        def request(method, path, **options):
            if path.endswith("_delete_by_query") and todo:
                todo.pop()()
            return send(method, path, **options)

        monkeypatch.setattr(store.client, "request", request)

    return before_delete


def test_a_row_that_is_rewritten_before_its_page_is_deleted_goes_if_it_still_passes(store, make_store, before_delete):
    fill(store, 20, user_id="甲")
    other = make_store(refresh="false")  # the delete-by-query still finds the old rows, and meets a conflict

    def rewrite():
        other.update("m0", payload={"data": "改", "user_id": "甲"})
        other.update("m1", payload={"data": "改", "user_id": "乙"})
        other.delete("m2")
        other.insert([EAST], [{"data": "新", "user_id": "甲"}], ["new"])

    before_delete(rewrite)
    assert store.delete_all(user_id="甲") == 19
    assert ids(store) == {"m1", "new"}


def test_a_write_block_of_a_roll_is_waited_out(store, before_delete):
    fill(store, 20, user_id="甲")
    client, index = store.client, f"{store.collection_name}-v1-000001"

    def block(on):
        client.request("PUT", f"/{index}/_settings", body={"index.blocks.write": on})

    timer = threading.Timer(1.5, block, [False])
    before_delete(lambda: (block(True), timer.start()))
    assert store.delete_all(user_id="甲") == 20
    timer.join()
    assert store.count() == 0


def test_rows_that_others_rewrite_meanwhile_are_deleted_too(store, make_store, monkeypatch):
    """A row in its new form still passes the filter; one that no longer does is spared."""
    monkeypatch.setattr(by_query, "PAGE", 50)
    fill(store, 200, user_id="甲")
    writer, done, spared = make_store(), threading.Event(), set()

    def rewrite():
        number = 0
        while not done.is_set():
            row_id = f"m{number % 200}"
            number += 7
            user = "乙" if number % 3 == 0 else "甲"
            try:
                writer.update(row_id, payload={"data": "改", "user_id": user})
            except Exception:  # noqa: BLE001 - it is deleted by now
                continue

    threads = [threading.Thread(target=rewrite) for _ in range(4)]
    for thread in threads:
        thread.start()
    gone = store.delete_all(user_id="甲")
    spared = ids(store, filters={"user_id": "乙"})
    done.set()
    for thread in threads:
        thread.join()
    assert gone <= 200
    # What the writers turned into 乙's, and back into 甲's after its page was done, is still there; nothing else.
    assert 200 - gone == store.count()
    assert spared <= ids(store)


def test_rows_that_are_stored_meanwhile_do_not_keep_the_call_going(store, make_store):
    fill(store, 300, user_id="甲")
    writer, done, written = make_store(), threading.Event(), []

    def write():
        while not done.is_set():
            row_id = f"new{len(written)}"
            writer.insert([EAST], [{"data": "新", "user_id": "甲"}], [row_id])
            written.append(row_id)

    thread = threading.Thread(target=write)
    thread.start()
    while len(written) < 3:
        done.wait(0.01)
    gone = store.delete_all(user_id="甲")
    done.set()
    thread.join()
    left = ids(store)
    assert not {f"m{i}" for i in range(300)} & left  # all that were there when the call began are gone
    assert gone >= 300
    assert gone + len(left) == 300 + len(written)


def test_two_callers_delete_the_same_rows(store, make_store, monkeypatch):
    monkeypatch.setattr(by_query, "PAGE", 100)
    fill(store, 1000, user_id="甲")
    fill(store, 10, "o", user_id="乙")
    failed = []

    def delete(one):
        try:
            one.delete_all(user_id="甲")
        except Exception as error:  # noqa: BLE001 - shown below
            failed.append(error)

    threads = [threading.Thread(target=delete, args=(make_store(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert ids(store) == {f"o{i}" for i in range(10)}


def test_links_are_told_of_just_the_rows_that_are_gone(store, monkeypatch):
    told = []
    monkeypatch.setattr(store, "_forget_links", told.extend)
    fill(store, 5, user_id="甲")
    fill(store, 2, "o", user_id="乙")
    store.delete("m0")
    store.delete_all(user_id="甲")
    assert sorted(told) == [f"m{i}" for i in range(5)]


DAYS = ["2026-11-28", "2026-11-29", "2026-11-30", "2026-12-01", None, "not a date"]


@pytest.mark.parametrize(
    ("now", "left"),
    [
        (date(2026, 11, 28), DAYS),
        (date(2026, 11, 29), DAYS[1:]),
        (datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC), DAYS[2:]),
        (datetime(2026, 11, 30), DAYS[2:]),  # noqa: DTZ001 - no zone is UTC
        # 07:00 on 1 December in Shanghai is still 30 November in UTC.
        (datetime(2026, 12, 1, 7, tzinfo=timezone(timedelta(hours=8))), DAYS[2:]),
        (datetime(2026, 12, 1, 9, tzinfo=timezone(timedelta(hours=8))), DAYS[3:]),
    ],
)
def test_purge_deletes_what_is_past_its_day(store, now, left):
    payloads = [{"data": "x", **({"expiration_date": day} if day else {})} for day in DAYS]
    store.insert([EAST] * len(DAYS), payloads, [str(day) for day in DAYS])
    assert store.purge(now) == len(DAYS) - len(left)
    assert ids(store) == {str(day) for day in left}


def test_of_several_days_the_last_one_holds(store):
    payloads = [{"data": "x", "expiration_date": days} for days in (["2020-01-01", "2999-01-01"], ["2020-01-01"])]
    store.insert([EAST] * 2, payloads, ["still", "past"])
    assert store.purge() == 1
    assert ids(store) == {"still"}


def test_purge_agrees_with_mem0(store):
    from mem0.memory.main import _payload_is_expired

    today = datetime.now(UTC).date()
    payloads = [{"data": "x", "expiration_date": str(today + timedelta(days=days))} for days in (-400, -1, 0, 1, 400)]
    store.insert([EAST] * 5, payloads)
    store.purge()
    left = [hit.payload["expiration_date"] for hit in store.list()[0]]
    assert sorted(left) == [each["expiration_date"] for each in payloads if not _payload_is_expired(each)]


@pytest.mark.parametrize("now", ["2026-01-01", 5, object()])
def test_purge_takes_a_date(store, now):
    with pytest.raises(InvalidInputError, match="expected a date or a datetime"):
        store.purge(now)
