"""Rules for dates in English, and for dates in digits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mem_opensearch.temporal.calendar import FIRST_YEAR, LAST_YEAR
from mem_opensearch.temporal.numerals import ENGLISH_NUMBER, english_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from mem_opensearch.temporal.calendar import Anchor, Unit, Window

    Match = re.Match[str]
    Rule = tuple[re.Pattern[str], Callable[[Match, Anchor], Window | None]]

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH = r"(?P<month>" + "|".join(rf"{m[:3]}(?:{m[3:]})?" if m != "may" else m for m in _MONTHS) + r"|sept)\b\.?"
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?\b"
_YEAR = r"(?:,?\s+(?:of\s+)?(?P<year>[0-9]{4})\b)"
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_WHICH = r"(?P<which>last|previous|this|next)"
_OFFSETS = {"last": -1, "previous": -1, "this": 0, "next": 1}
_UNIT = r"(?P<unit>day|week|month|year)s?"
_SEASONS = {"spring": "spring", "summer": "summer", "autumn": "autumn", "fall": "autumn", "winter": "winter"}
_FEASTS = {
    "new year's day": (1, 1),
    "valentine's day": (2, 14),
    "halloween": (10, 31),
    "christmas eve": (12, 24),
    "christmas": (12, 25),
}


def _month_number(match: Match) -> int:
    return [month[:3] for month in _MONTHS].index(match["month"][:3].lower()) + 1


def _year_of(match: Match) -> int | None:
    value = match.groupdict().get("year")
    return int(value) if value and FIRST_YEAR <= int(value) <= LAST_YEAR else None


def _day(match: Match, anchor: Anchor) -> Window | None:
    return anchor.month_day(_month_number(match), int(match["day"]), _year_of(match))


def _month(match: Match, anchor: Anchor) -> Window | None:
    return anchor.month_of(_month_number(match), _year_of(match))


def _digits(match: Match, anchor: Anchor) -> Window | None:
    year = _year_of(match)
    if match.groupdict().get("year") and year is None:
        return None
    return anchor.month_day(int(match["m"]), int(match["d"]), year) if 1 <= int(match["m"]) <= 12 else None  # noqa: PLR2004


def _calendar(match: Match, anchor: Anchor) -> Window | None:
    offset, unit = _OFFSETS[match["which"].lower()], match["unit"].lower()
    if unit == "week":
        return anchor.week(offset)
    if unit == "month":
        return anchor.months(anchor.now.year, anchor.now.month + offset)
    return anchor.year(anchor.now.year + offset)


def _weekday(match: Match, anchor: Anchor) -> Window:
    """Take "last Wednesday" as the latest one before today, "next Wednesday" as the first one after it."""
    day, which = _WEEKDAYS.index(match["weekday"].lower()), match["which"].lower()
    today = anchor.now.weekday()
    if which == "this":
        return anchor.weekday(0, day)
    if which == "next":
        return anchor.weekday(0 if day > today else 1, day)
    return anchor.weekday(0 if day < today else -1, day)


def _season(match: Match, anchor: Anchor) -> Window | None:
    name = _SEASONS[match["season"].lower()]
    if year := _year_of(match):
        return anchor.season(year, name)
    which = match["which"]
    if which is None:
        return None
    found = anchor.season(anchor.now.year, name)
    if which.lower() in {"last", "previous"} and found and found.end > anchor.now:
        return anchor.season(anchor.now.year - 1, name)
    return anchor.season(anchor.now.year + 1, name) if which.lower() == "next" else found


def _plain_year(match: Match, anchor: Anchor) -> Window | None:
    year = _year_of(match)
    return anchor.year(year) if year else None


def _count(match: Match) -> tuple[int, Unit]:
    units: dict[str, Unit] = {"day": "day", "week": "week", "month": "month", "year": "year"}
    return english_number(match["count"]), units[match["unit"].lower()]


_DAYS = {"the day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0, "tonight": 0, "tomorrow": 1}

RULES: tuple[Rule, ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.ASCII), rule)
    for pattern, rule in (
        (rf"\b{_MONTH}\s*(?:the\s+)?{_DAY}{_YEAR}?", _day),
        (rf"\b(?:the\s+)?{_DAY}\s+(?:of\s+)?{_MONTH}{_YEAR}?", _day),
        (rf"\b{_MONTH}{_YEAR}", _month),
        (rf"\b(?:in|during|since|of|last|this)\s+{_MONTH}(?!\s*[0-9])", _month),
        (r"(?<![\w.\-/])(?P<year>[0-9]{4})([-/.])(?P<m>[0-9]{1,2})\2(?P<d>[0-9]{1,2})(?![\w\-/])", _digits),
        (r"(?<![\w.\-/])(?P<m>[0-9]{1,2})/(?P<d>[0-9]{1,2})(?![A-Za-z0-9_./-]|[杯份勺匙碗斤个块])", _digits),
        ("|".join(rf"\b{words}\b" for words in _DAYS), lambda m, a: a.ago(-_DAYS[m[0].lower()], "day")),
        (rf"\b(?P<count>{ENGLISH_NUMBER})\s+{_UNIT}\s+ago\b", lambda m, a: a.ago(*_count(m))),
        (rf"\b(?:the\s+)?(?:last|past)\s+(?P<count>{ENGLISH_NUMBER})\s+{_UNIT}\b", lambda m, a: a.last(*_count(m))),
        (rf"\b{_WHICH}\s+(?P<unit>week|month|year)\b", _calendar),
        (r"\b(?:over\s+)?(?P<which>last|this)\s+weekend\b", lambda m, a: a.weekend(_OFFSETS[m["which"].lower()])),
        (rf"\b{_WHICH}\s+(?P<weekday>{'|'.join(_WEEKDAYS)})\b", _weekday),
        (
            rf"\b(?:{_WHICH}\s+|(?:the\s+)?)(?P<season>{'|'.join(_SEASONS)})\b(?:\s+of)?(?:\s+(?P<year>[0-9]{{4}})\b)?",
            _season,
        ),
        (r"\b(?:in|during|since)\s+(?P<year>(?:19|20)[0-9]{2})\b", _plain_year),
        (
            rf"\b(?P<feast>{'|'.join(_FEASTS)})\b{_YEAR}?",
            lambda m, a: a.month_day(*_FEASTS[m["feast"].lower()], _year_of(m)),
        ),
    )
)
