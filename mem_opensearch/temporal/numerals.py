"""Read the numbers of dates: Arabic, Chinese, English words."""

from __future__ import annotations

import re

CHINESE_NUMBER = "(?:[0-9]+|[零〇一二两三四五六七八九十百廿卅]+)"
"""Pattern of a number in folded text."""

_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_TENS = {"十": 1, "廿": 2, "卅": 3}
_ENGLISH = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
ENGLISH_NUMBER = "(?:[0-9]+|an?|" + "|".join(_ENGLISH) + ")"
_COMPOUND = re.compile(
    "(?:(?P<hundreds>[一二两三四五六七八九])百零?)?(?:(?P<tens>[一二三四五六七八九])?(?P<ten>[十廿卅]))?(?P<ones>[一二两三四五六七八九])?"
)


def chinese_number(text: str) -> int | None:
    """Return the value of a number up to 999, or of a string of digits; None where it is none.

    >>> [chinese_number(text) for text in ("三", "十", "二十七", "廿三", "一百零五", "二〇二三", "27", "十十")]
    [3, 10, 27, 23, 105, 2023, 27, None]
    """
    if text.isascii():
        return int(text) if text.isdigit() and len(text) <= 4 else None  # noqa: PLR2004 - no date has a longer number
    if len(text) > 1 and all(character in _DIGITS for character in text):
        return int("".join(str(_DIGITS[character]) for character in text[:4]))
    parts = _COMPOUND.fullmatch(text)
    if parts is None:
        return None
    ten = parts["ten"]
    tens = _TENS[ten] * _DIGITS[parts["tens"] or "一"] if ten else 0
    return 100 * _DIGITS[parts["hundreds"] or "零"] + 10 * tens + _DIGITS[parts["ones"] or "零"]


def english_number(text: str) -> int:
    """Return the value of a match of `ENGLISH_NUMBER`.

    >>> english_number("a"), english_number("three"), english_number("14")
    (1, 3, 14)
    """
    lower = text.lower()
    if lower in {"a", "an"}:
        return 1
    return _ENGLISH.index(lower) + 1 if lower in _ENGLISH else int(lower[:6])
