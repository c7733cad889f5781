"""What a memory is about in time, and results by topic."""

from datetime import UTC, datetime, timedelta

import pytest

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.temporal import Anchor, closeness, event_window, find_windows, format_context, latest_per_topic

pytestmark = pytest.mark.unit
NOW = datetime(2026, 8, 14, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("8月20號要考試", "2026-08-20"),
        ("上周三去看了牙医", "2026-08-05"),
        ("後天飛東京", "2026-08-16"),
        ("The exam is on August 20th", "2026-08-20"),
        ("从2026年8月起在柏林工作", "2026-08-01"),
    ],
)
def test_the_time_that_a_memory_states(text, day):
    assert f"{event_window(text, NOW).start:%Y-%m-%d}" == day


@pytest.mark.parametrize("text", ["我住在台北", "I like tea", "过去二十年我一直在教书"])
def test_a_memory_that_states_no_time(text):
    assert event_window(text, NOW) is None


def test_being_from_a_time_counts_more_than_being_about_it():
    windows = find_windows("8月20日", Anchor(datetime(2026, 9, 1, tzinfo=UTC)))
    event = event_window("8月20日考试", NOW)
    assert closeness(windows, created_at=NOW + timedelta(days=6)) == 1.0
    assert closeness(windows, created_at=NOW, event=event) == 0.5
    assert closeness(windows, created_at=NOW) == 0.0
    assert closeness(windows, created_at=None, event=event) == 0.5
    assert closeness((), created_at=NOW, event=event) is None


def result(memory, day=None, topic=None, **more):
    return {"id": memory, "memory": memory, "created_at": day, "metadata": {"topic": topic} if topic else None, **more}


RESULTS = [
    result("里斯本", "2025-03-01T00:00:00Z", "home"),
    result("茶", "2026-01-01T00:00:00Z"),
    result("柏林", "2026-08-01T00:00:00Z", "home"),
    result("gym", None, "sport"),
    result("swim", "2024-01-01T00:00:00Z", "sport"),
]


def test_the_latest_of_each_topic_stays_in_its_place():
    assert [one["memory"] for one in latest_per_topic(RESULTS)] == ["茶", "柏林", "swim"]


def test_another_key_may_name_the_topic():
    dated = {"memory": "b", "created_at": "2026-01-01", "metadata": {"slot": 1}}
    results = [{"memory": "a", "metadata": {"slot": 1}}, dated]
    assert [one["memory"] for one in latest_per_topic(results, key="slot")] == ["b"]


def test_a_topic_that_is_no_text_is_refused():
    with pytest.raises(InvalidInputError, match="'topic' of memory 'x' is a list"):
        latest_per_topic([{"id": "x", "memory": "x", "metadata": {"topic": []}}])


def test_lines_for_a_prompt_are_dated_and_the_newest_of_a_topic_comes_first():
    replaced = result("里斯本\n旧城", "2025-03-01T00:00:00Z", "home", score_details={"superseded_by": "柏林"})
    assert format_context([replaced, *RESULTS[1:3]]).splitlines() == [
        "- [2026-08-01] 柏林",
        "- [2025-03-01] 里斯本 旧城 (no longer holds)",
        "- [2026-01-01] 茶",
    ]


def test_no_results_are_no_lines():
    assert format_context([]) == ""
