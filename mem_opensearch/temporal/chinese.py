"""Rules for dates in Chinese, over text that the fold made simplified and half-width."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mem_opensearch.temporal.calendar import FIRST_YEAR, LAST_YEAR
from mem_opensearch.temporal.numerals import CHINESE_NUMBER as NUMBER
from mem_opensearch.temporal.numerals import chinese_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from mem_opensearch.temporal.calendar import Anchor, Unit, Window

    Match = re.Match[str]
    Rule = tuple[re.Pattern[str], Callable[[Match, Anchor], Window | None]]

_YEAR = r"(?:(?P<year>[0-9]{4}|[零〇一二三四五六七八九]{4})年|(?P<that_year>大前年|前年|去年|今年|明年|后年))的?"
_YEARS = {"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2}
_MONTH = rf"(?:(?P<month>{NUMBER})月份?|(?P<that_month>上上个?月|上个?月|这个?月|本月|下个?月))的?"
_MONTHS = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1}
_PART = "(?P<part>上旬|中旬|下旬|初(?![一二三四五六七八九十])|底|末)"  # 八月初三 is a day of the lunar calendar
_PARTS = {"上旬": (1, 10), "初": (1, 10), "中旬": (11, 10), "下旬": (21, 11), "底": (21, 11), "末": (21, 11)}
_DAY = rf"(?P<day>{NUMBER})[日号](?![线楼院馆店机房桌])(?:[到至~-](?P<last>{NUMBER})[日号])?"
_SEASONS = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
_HALVES = {"上半年": (1, 6), "下半年": (7, 6), "年初": (1, 3), "年中": (5, 4), "年底": (10, 3), "年末": (10, 3)}
_DAYS = {
    -3: "大前天|大前日",
    -2: "前天|前日|前晚",
    -1: "昨天|昨日|昨晚|昨夜|昨早|寻日|琴日|噚日",
    0: "今天|今日|今早|今晚|今晨",
    1: "明天|明日|明晚|明早|听日",
    2: "后天|后日",
    3: "大后天",
}
_OFFSETS = {word: offset for offset, words in _DAYS.items() for word in words.split("|")}
_WEEK = "(?P<week>上上|上|这|本|下下|下)个?(?:周|星期|礼拜)"
_WEEKS = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_UNITS: dict[str, Unit] = {
    "天": "day",
    "日": "day",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "年": "year",
}
_COUNTED = rf"(?P<count>{NUMBER}|半)个?(?P<unit>天|日|周|星期|礼拜|月|年)"
_FEASTS = {
    "元旦": (1, 1),
    "情人节": (2, 14),
    "妇女节": (3, 8),
    "五一": (5, 1),
    "劳动节": (5, 1),
    "儿童节": (6, 1),
    "国庆": (10, 1),
    "双十一": (11, 11),
    "平安夜": (12, 24),
    "圣诞": (12, 25),
}
"""Feasts with a fixed date; those of the lunar calendar need a table and are left out."""


def _year_of(match: Match, anchor: Anchor) -> int | None:
    groups = match.groupdict()
    if groups.get("that_year"):
        return anchor.now.year + _YEARS[groups["that_year"]]
    value = chinese_number(groups["year"]) if groups.get("year") else None
    return value if value and FIRST_YEAR <= value <= LAST_YEAR else None


def _month_of(match: Match, anchor: Anchor) -> tuple[int, int | None] | None:
    """Return month and year of a match; the year is None where it was not said."""
    if said := match["that_month"]:
        offset = _MONTHS[said.removesuffix("月").removesuffix("个")]
        years, month = divmod(anchor.now.month - 1 + offset, 12)
        return month + 1, anchor.now.year + years
    month = chinese_number(match["month"]) or 0
    return (month, _year_of(match, anchor)) if 1 <= month <= 12 else None  # noqa: PLR2004 - the months of a year


def _day(match: Match, anchor: Anchor) -> Window | None:
    month = _month_of(match, anchor)
    first = chinese_number(match["day"])
    if month is None or not first:
        return None
    window = anchor.month_day(month[0], first, month[1])
    last = chinese_number(match["last"]) if match["last"] else None
    if window is None or not last or last <= first:
        return window
    return anchor.days(window.start, min(last - first + 1, 31))


def _lone_day(match: Match, anchor: Anchor) -> Window | None:
    """A day without a month is of this month, or of the one before if it is still to come."""
    day = chinese_number(match["day"]) or 0
    first = anchor.date(anchor.now.year, anchor.now.month, day)
    if first is not None and (first <= anchor.now or anchor.ahead):
        return anchor.days(first)
    before = anchor.months(anchor.now.year, anchor.now.month - 1)
    if before is None:
        return None
    first = anchor.date(before.start.year, before.start.month, day)
    return anchor.days(first) if first else None


def _month(match: Match, anchor: Anchor) -> Window | None:
    found = _month_of(match, anchor)
    window = found and anchor.month_of(found[0], found[1])
    if not window or not match.groupdict().get("part"):
        return window or None
    first, count = _PARTS[match["part"]]
    return anchor.days(window.start.replace(day=first), count)


def _year(match: Match, anchor: Anchor) -> Window | None:
    year = _year_of(match, anchor)
    if year is None:
        return None
    if match["season"]:
        return anchor.season(year, _SEASONS[match["season"][0]])
    if match["half"]:
        return anchor.months(year, *_HALVES[match["half"]])
    return anchor.year(year)


def _ago(match: Match, anchor: Anchor) -> Window | None:
    unit = _UNITS[match["unit"]]
    if match["count"] == "半":
        if unit == "year":
            return anchor.ago(6, "month")
        return anchor.around(anchor.days(anchor.today, -15).end, 3) if unit == "month" else None
    count = chinese_number(match["count"])
    return anchor.ago(count, unit) if count else None


def _last(match: Match, anchor: Anchor) -> Window | None:
    unit = _UNITS[match["unit"]]
    if match["count"] == "半":
        return anchor.last(*((6, "month") if unit == "year" else (15, "day"))) if unit != "day" else None
    count = chinese_number(match["count"])
    return anchor.last(count, unit) if count else None


def _week(match: Match, anchor: Anchor) -> Window:
    offset, day = _WEEKS[match["week"]], match["weekday"]
    if day is None:
        return anchor.week(offset)
    return (
        anchor.weekend(offset)
        if day == "末"
        else anchor.weekday(offset, "一二三四五六日".index(day.replace("天", "日")))
    )


def _weekday(match: Match, anchor: Anchor) -> Window:
    day = "一二三四五六日".index(match["weekday"].replace("天", "日"))
    return anchor.weekday(0 if day <= anchor.now.weekday() else -1, day)


def _feast(match: Match, anchor: Anchor) -> Window | None:
    return anchor.month_day(*_FEASTS[match["feast"]], _year_of(match, anchor))


def _year_part(match: Match, anchor: Anchor) -> Window | None:
    part = match["part"]
    year = anchor.now.year + _YEARS[match["that_year"]]
    return anchor.months(year, *_HALVES[part if part.startswith("年") else f"年{part}"])


_THAT_DAY = "(?=那天|那日|这天|当天|那晚|上午|下午|早上|晚上)"

RULES: tuple[Rule, ...] = tuple(
    (re.compile(pattern), rule)
    for pattern, rule in (
        (rf"(?:{_YEAR})?{_MONTH}{_DAY}", _day),
        (rf"(?:{_YEAR})?{_MONTH}{_PART}?(?!{NUMBER}[日号])", _month),
        (rf"(?<![0-9第])(?P<day>{NUMBER})[日号]{_THAT_DAY}", _lone_day),
        (rf"{_YEAR}(?:(?P<season>[春夏秋冬][天季]?)|(?P<half>上半年|下半年))?", _year),
        (r"(?P<that_year>去年|今年|明年)(?P<part>年?[初中底末])", _year_part),
        ("|".join(sorted(_OFFSETS, key=len, reverse=True)), lambda m, a: a.ago(-_OFFSETS[m[0]], "day")),
        (rf"{_COUNTED}(?:之前|以前|前)(?!后)", _ago),
        (rf"(?:最近|过去|近)的?这?{_COUNTED}", _last),
        (rf"{_WEEK}(?P<weekday>[一二三四五六日天末])?", _week),
        (rf"(?<![每逢])(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天]){_THAT_DAY}(?!上午|下午|早上|晚上)", _weekday),
        (rf"(?:{_YEAR})?(?P<feast>{'|'.join(_FEASTS)})节?", _feast),
    )
)
