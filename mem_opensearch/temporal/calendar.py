"""Turn parts of a date into a window of time, relative to an anchor."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from mem_opensearch.errors import InvalidInputError

MONTHS_A_YEAR = 12
DAYS_A_WEEK = 7
SATURDAY = 5
FIRST_YEAR, LAST_YEAR = 1900, 2199  # four digits outside are numbers, not years

Unit = Literal["day", "week", "month", "year"]

SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}
"""First month of each season of three months; winter is named after the year of its December."""


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time that a text names.

    Attributes:
        start: first instant, with a time zone.
        end: first instant after it.
        where: offsets of the words in the text, end exclusive; ``(0, 0)`` where no words name it.
    """

    start: datetime
    end: datetime
    where: tuple[int, int] = (0, 0)

    def holds(self, moment: datetime) -> bool:
        """Whether `moment`, which needs a time zone, lies in it."""
        return self.start <= moment < self.end

    def overlaps(self, other: Window) -> bool:
        """Whether the two share an instant."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Anchor:
    """What a date that is not complete is relative to.

    Attributes:
        now: when the words were said, with a time zone; days begin at midnight there.
        span: first and last instant of the memories that are searched, for the year of a date without one; None where
            it is not known.
        ahead: whether a date without a year may lie after `now`: so for a memory ("the 20th is my exam"), while a
            question looks back.

    Raises:
        InvalidInputError: a time without a zone.
    """

    now: datetime
    span: tuple[datetime, datetime] | None = None
    ahead: bool = False

    def __post_init__(self) -> None:
        for name, moment in (("now", self.now), *(("span", moment) for moment in self.span or ())):
            if moment.tzinfo is None:
                raise InvalidInputError(f"'{name}' has no time zone; give one, such as datetime.now(UTC)")

    @property
    def today(self) -> datetime:
        """Midnight before `now`."""
        return self.now.replace(hour=0, minute=0, second=0, microsecond=0)

    def date(self, year: int, month: int, day: int = 1) -> datetime | None:
        """Return that midnight, or None where the calendar has no such day."""
        try:
            return self.today.replace(year=year, month=month, day=day)
        except ValueError:
            return None

    # -- windows

    def days(self, first: datetime, count: int = 1) -> Window:
        """Return `count` days from the midnight `first`."""
        return Window(first, first + timedelta(days=count))

    def around(self, middle: datetime, margin: int) -> Window:
        """Return the day of `middle` with `margin` days on either side."""
        return self.days(middle - timedelta(days=margin), 2 * margin + 1)

    def year(self, year: int) -> Window | None:
        """Return a calendar year."""
        return self.months(year, 1, MONTHS_A_YEAR)

    def months(self, year: int, month: int, count: int = 1) -> Window | None:
        """Return `count` months from one of them; months beyond 1 to 12 count on into the years beside."""
        first, last = (self.date(*_shifted(year, month, by)) for by in (0, count))
        return Window(first, last) if first and last else None

    def season(self, year: int, name: str) -> Window | None:
        """Return a season of `SEASONS`."""
        return self.months(year, SEASONS[name], 3)

    def week(self, offset: int) -> Window:
        """Return a week that begins on Monday; 0 is the one of `now`, -1 the one before."""
        return self.days(self.monday(offset), DAYS_A_WEEK)

    def monday(self, offset: int) -> datetime:
        """Return the Monday of a week; 0 is the one of `now`."""
        return self.today - timedelta(days=self.today.weekday() - DAYS_A_WEEK * offset)

    def weekday(self, offset: int, day: int) -> Window:
        """Return a day (0 is Monday) of a week; 0 is the one of `now`."""
        return self.days(self.monday(offset) + timedelta(days=day))

    def weekend(self, offset: int) -> Window:
        """Return Saturday and Sunday of a week."""
        return self.days(self.monday(offset) + timedelta(days=SATURDAY), 2)

    def ago(self, count: int, unit: Unit) -> Window | None:
        """Return what "three weeks ago" means: as exact as the unit is.

        A day is that day. A week or a month is taken with as much on either side as one can be off, a year is the
        calendar year.
        """
        if count > 10_000:  # noqa: PLR2004 - beyond any calendar; the words mean something else
            return None
        if unit == "day":
            return self.days(self.today - timedelta(days=count))
        if unit == "week":
            return self.around(self.today - timedelta(weeks=count), 3)
        if unit == "month":
            year, month = _shifted(self.today.year, self.today.month, -count)
            middle = self.date(year, month, min(self.today.day, 28)) if year > FIRST_YEAR else None
            return self.around(middle, 15) if middle else None
        return self.year(self.today.year - count) if self.today.year - count > FIRST_YEAR else None

    def last(self, count: int, unit: Unit) -> Window | None:
        """Return the stretch of `count` units that ends now, today included."""
        lengths = {"day": 1, "week": 7, "month": 31, "year": 366}
        if not 0 < count * lengths[unit] < 40_000:  # noqa: PLR2004 - a century; the words mean something else
            return None
        first = self.today - timedelta(days=count * lengths[unit])
        return Window(first, self.today + timedelta(days=1))

    def month_day(self, month: int, day: int, year: int | None = None) -> Window | None:
        """Return a day; without a year, the one that is most likely meant."""
        if year is not None:
            first = self.date(year, month, day)
            return self.days(first) if first else None
        found = [self.days(first) for y in self._years() if (first := self.date(y, month, day))]
        return self._likely(found)

    def month_of(self, month: int, year: int | None = None) -> Window | None:
        """Return a month; without a year, the one that is most likely meant."""
        if year is not None:
            return self.months(year, month)
        return self._likely([window for y in self._years() if (window := self.months(y, month))])

    def _years(self) -> range:
        first = min([self.now.year - 1, *(moment.year for moment in self.span or ())])
        return range(max(first, FIRST_YEAR), self.now.year + 2)

    def _likely(self, windows: list[Window]) -> Window | None:
        """Choose the year: looking back, the last one with memories, else the last; looking ahead, the nearest."""
        if not windows:
            return None
        if self.ahead:
            return min(windows, key=lambda window: abs(window.start - self.today))
        past = [window for window in windows if window.start <= self.now]
        if self.span:
            first, last = self.span
            within = [window for window in past if window.start <= last and first < window.end]
            past = within or past
        return max(past or windows, key=lambda window: window.start)


def _shifted(year: int, month: int, by: int) -> tuple[int, int]:
    """Return year and month, `by` months later.

    >>> _shifted(2026, 1, -1), _shifted(2026, 12, 3)
    ((2025, 12), (2027, 3))
    """
    years, rest = divmod(month - 1 + by, MONTHS_A_YEAR)
    return year + years, rest + 1
