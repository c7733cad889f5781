"""Dates in questions, in both scripts and in English."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.temporal import Anchor, find_windows

pytestmark = pytest.mark.unit
CHINA = timezone(timedelta(hours=8))
NOW = datetime(2026, 8, 14, 15, tzinfo=CHINA)  # a Friday
ANCHOR = Anchor(NOW, (datetime(2025, 4, 1, 9, tzinfo=CHINA), NOW))


def days(text, anchor=ANCHOR):
    return [(f"{window.start:%Y-%m-%d}", (window.end - window.start).days) for window in find_windows(text, anchor)]


@pytest.mark.parametrize(
    ("text", "first", "length"),
    [
        ("4月27日我们聊了什么", "2026-04-27", 1),
        ("在4月27號這天", "2026-04-27", 1),
        ("五月三号", "2026-05-03", 1),
        ("５月３號", "2026-05-03", 1),
        ("二〇二五年五月", "2025-05-01", 31),
        ("2025年12月24日", "2025-12-24", 1),
        ("5/3 我買了什麼", "2026-05-03", 1),
        ("2025-04-27 那天", "2025-04-27", 1),
        ("昨天", "2026-08-13", 1),
        ("大前天", "2026-08-11", 1),
        ("寻日", "2026-08-13", 1),
        ("三天前", "2026-08-11", 1),
        ("兩週前", "2026-07-28", 7),
        ("三个月前", "2026-04-29", 31),
        ("半年前", "2026-01-30", 31),
        ("一年前", "2025-01-01", 365),
        ("上週三", "2026-08-05", 1),
        ("上个星期天", "2026-08-09", 1),
        ("上上周", "2026-07-27", 7),
        ("這週末", "2026-08-15", 2),
        ("星期三那天", "2026-08-12", 1),
        ("上個月五號", "2026-07-05", 1),
        ("上个月底", "2026-07-21", 11),
        ("十一月底", "2025-11-21", 11),
        ("12号那天", "2026-08-12", 1),
        ("20号那天", "2026-07-20", 1),
        ("去年夏天", "2025-06-01", 92),
        ("去年十二月", "2025-12-01", 31),
        ("今年初", "2026-01-01", 90),
        ("去年下半年", "2025-07-01", 184),
        ("过去三个月", "2026-05-13", 94),
        ("5月1日到5日", "2026-05-01", 5),
        ("5月1日到6月3日", "2026-05-01", 34),
        ("去年聖誕節", "2025-12-25", 1),
        ("国庆", "2025-10-01", 1),
        ("我们第一次聊天", "2025-04-01", 1),
        ("May 3rd", "2026-05-03", 1),
        ("on the 3rd of May", "2026-05-03", 1),
        ("April 27th, 2025", "2025-04-27", 1),
        ("in May", "2026-05-01", 31),
        ("March 2025", "2025-03-01", 31),
        ("yesterday", "2026-08-13", 1),
        ("the day before yesterday", "2026-08-12", 1),
        ("three days ago", "2026-08-11", 1),
        ("last week", "2026-08-03", 7),
        ("last Wednesday", "2026-08-12", 1),
        ("last Friday", "2026-08-07", 1),
        ("last month", "2026-07-01", 31),
        ("last summer", "2025-06-01", 92),
        ("the last two weeks", "2026-07-31", 15),
        ("in 2025", "2025-01-01", 365),
        ("our first conversation", "2025-04-01", 1),
    ],
)
def test_the_window_of_an_expression(text, first, length):
    assert days(text) == [(first, length)]


@pytest.mark.parametrize(
    "text",
    [
        "12号线怎么走",
        "5月3号线开通",
        "每周三那天都打球",
        "24/7",
        "13月",
        "每周三固定打球",
        "may I ask",
        "v2.0",
        "2月30号楼",
        "1/2杯糖",
        "最近怎么样",
        "三个月的孩子",
        "农历八月初三生日",
        "PX-441",
        "010-6738-9898",
        "現在住哪裡",
        "1/13/2",
        "march on",
        "第3号",
    ],
)
def test_what_is_no_date(text):
    assert [window for window in days(text) if window[1] == 1] == []


def test_of_a_date_that_the_calendar_lacks_only_the_year_is_left():
    assert days("2025年2月30日") == [("2025-01-01", 365)]
    assert days("2月30日") == []


def test_a_year_that_is_not_said_is_one_with_memories():
    old = Anchor(NOW, (datetime(2023, 4, 1, tzinfo=CHINA), datetime(2023, 5, 7, tzinfo=CHINA)))
    assert days("4月27日", old) == [("2023-04-27", 1)]
    assert days("12月1日", old) == [("2025-12-01", 1)]  # no memory of any December: the last one


def test_a_memory_looks_ahead():
    assert days("8月20日我要考试", Anchor(NOW, ahead=True)) == [("2026-08-20", 1)]
    assert days("8月20日我要考试", Anchor(NOW)) == [("2025-08-20", 1)]
    assert days("1月5日考试", Anchor(datetime(2026, 12, 20, tzinfo=CHINA), ahead=True)) == [("2027-01-05", 1)]


def test_days_begin_at_midnight_where_it_was_asked():
    (window,) = find_windows("昨天", Anchor(datetime(2026, 8, 14, 1, tzinfo=CHINA)))
    assert window.holds(datetime(2026, 8, 12, 16, 0, tzinfo=UTC))
    assert not window.holds(datetime(2026, 8, 13, 16, 0, tzinfo=UTC))


def test_two_dates_are_two_windows():
    assert days("4月27日和5月3号") == [("2026-04-27", 1), ("2026-05-03", 1)]


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(InvalidInputError, match="time zone"):
        Anchor(datetime(2026, 8, 14))  # noqa: DTZ001 - the fault that is tested


@given(
    st.text(alphabet="0123456789一二三十百年月日号上下个周星期前天昨去今春夏到第/-. maylstgowekd", max_size=30),
    st.datetimes(min_value=datetime(1950, 1, 1), max_value=datetime(2150, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_any_text_gives_windows_in_order(text, now):
    windows = find_windows(text, Anchor(now))
    assert all(window.start < window.end for window in windows)
    assert all(0 <= window.where[0] < window.where[1] <= len(text) for window in windows)
