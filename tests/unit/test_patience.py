"""How long a call goes on trying: tries, time, Retry-After and write blocks, with a clock of the test's own."""

from __future__ import annotations

import pytest

from mem_opensearch.client import failures, patience, shards
from mem_opensearch.client.patience import Patience


class Clock:
    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(patience, "time", clock)
    monkeypatch.setattr(patience.random, "uniform", lambda _least, most: most)
    return clock


def pauses(given, clock, **options):
    found = []
    while (seconds := given.pause(**options)) is not None:
        found.append(seconds)
        clock.now += seconds
    return found


def test_pauses_double_up_to_a_limit(clock):
    assert pauses(Patience(max_tries=8, max_seconds=1000), clock) == [0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 5.0]


def test_one_try_has_no_pause(clock):
    assert pauses(Patience(max_tries=1, max_seconds=1000), clock) == []


def test_time_ends_them_before_the_tries_do(clock):
    given = Patience(max_tries=10, max_seconds=3)
    assert pauses(given, clock) == [0.25, 0.5, 1.0]
    assert clock.now < 1003


def test_the_server_s_wait_is_the_least(clock):
    assert pauses(Patience(max_tries=3, max_seconds=1000), clock, retry_after=7) == [7.25, 7.5]
    assert pauses(Patience(max_tries=3, max_seconds=10), clock, retry_after=3600) == []


def test_a_later_try_has_the_time_that_is_left(clock):
    given = Patience(max_tries=10, max_seconds=20)
    assert given.timeout(30) == 30
    clock.now += 12
    given.pause()
    assert given.timeout(30) == 8
    assert given.timeout(3) == 3
    clock.now += 9
    assert given.timeout(30) == patience.SHORTEST_TRY


def test_a_write_block_has_time_of_its_own(clock):
    given = Patience(max_tries=2, max_seconds=5)
    while (seconds := given.pause_for_block()) is not None:
        clock.now += seconds
    assert clock.now - 1000 == pytest.approx(failures.BLOCK_SECONDS, abs=1)
    assert given.pause() is not None, "the time for everything else begins when the block is off"
    assert given.pause() is None


@pytest.mark.parametrize(
    ("path", "answer", "why"),
    [
        ("/c/_search", {"_shards": {"total": 3, "successful": 3, "failed": 0}}, ""),
        ("/c/_refresh", {"_shards": {"total": 6, "successful": 3, "failed": 0}}, ""),  # copies may be nowhere
        (
            "/c/_search",
            {"_shards": {"total": 3, "successful": 2, "failed": 0}},
            "1 of 3 shards failed: none is there at the moment",
        ),
        (
            "/c/_count",
            {
                "_shards": {
                    "total": 3,
                    "successful": 1,
                    "failed": 2,
                    "failures": [{"reason": {"type": "a", "reason": "b"}}],
                }
            },
            "2 of 3 shards failed: a: b",
        ),
        # a row may have any id
        ("/c/_update/_search", {"_shards": {"total": 2, "successful": 1, "failed": 0}}, ""),
        ("/c/_create/_count", {"_shards": {"total": 2, "successful": 1, "failed": 0}}, ""),
        ("/c/_doc/point_in_time", {"_shards": {"total": 2, "successful": 1, "failed": 0}}, ""),
        ("/c/_bulk", {"_shards": {"total": 3, "failed": 1}}, ""),  # a copy that was not written is the server's matter
        ("/_msearch", {"responses": [{"error": {"type": "busy", "reason": "x"}, "status": 429}]}, "busy: x"),
        ("/_msearch", {"responses": [{"error": {"type": "parsing", "reason": "x"}, "status": 400}]}, ""),
        (
            "/c/_mget",
            {"docs": [{"error": {"type": "no_shard_available_action_exception", "reason": "x"}}]},
            "no_shard_available_action_exception: x",
        ),
        ("/c/_mget", {"docs": [{"error": {"type": "index_not_found_exception", "reason": "x"}}]}, ""),
    ],
)
def test_an_answer_of_some_shards_is_none(path, answer, why):
    assert shards.missing(path, answer) == why
