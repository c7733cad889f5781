"""Find the times that a text names."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from mem_opensearch.temporal import chinese, english
from mem_opensearch.temporal.calendar import Window
from mem_opensearch.text import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mem_opensearch.temporal.calendar import Anchor

_RULES = (*chinese.RULES, *english.RULES)
_JOINERS = re.compile(r"\s*(?:到|至|~|—|-|–|to|until)\s*")
_FIRST_TALK = re.compile(
    "(?:第一次|最早一次|最初一次|最开始)(?:的?时候)?(?:[^,。?!;]{0,4})(?:聊|谈|对话|说话|交流|见面|认识)"
    r"|\bfirst\s+(?:conversation|chat|talk|time\s+we\s+(?:talked|spoke|chatted|met))\b|\bwhen\s+we\s+first\s+(?:talked|met|spoke)\b",
    re.IGNORECASE,
)


def find_windows(text: str, anchor: Anchor) -> tuple[Window, ...]:
    """Return the times that `text` names, in the order of their words; the longest reading of each place wins.

    Understood are, in both scripts and in English: dates with or without a year, in digits or in words
    (2023-04-27, 5/3, 4月27日, 五月三号, May 3rd), relative days (昨天, 三天前, two weeks ago), weeks and their days
    (上周三, last Friday), months, seasons, years (上个月, 去年夏天, in 2023), stretches (过去三个月, 5月1日到3日),
    feasts with a fixed date, and the first talk (我们第一次聊天), where the anchor has a span. Days of the week alone
    and 最近 are no times: they are mostly habits and moods.

    Args:
        text: a question or a memory.
        anchor: what incomplete dates are relative to.

    >>> from datetime import UTC, datetime
    >>> from mem_opensearch.temporal import Anchor
    >>> (window,) = find_windows("上週三聊了什麼？", Anchor(datetime(2026, 8, 14, tzinfo=UTC)))
    >>> window.start.date(), window.end.date(), window.where
    (datetime.date(2026, 8, 5), datetime.date(2026, 8, 6), (0, 3))
    """
    folded = fold(text)
    found = []
    for pattern, rule in _RULES:
        for match in pattern.finditer(folded):
            window = rule(match, anchor)
            if window is not None:
                found.append(replace(window, where=match.span()))
    kept: list[Window] = []
    for window in sorted(found, key=lambda window: (window.where[0], -window.where[1])):
        if not kept or window.where[0] >= kept[-1].where[1]:
            kept.append(window)
    if anchor.span and (first := _FIRST_TALK.search(folded)):
        day = anchor.span[0].astimezone(anchor.now.tzinfo).replace(hour=0, minute=0, second=0, microsecond=0)
        kept.append(replace(anchor.days(day), where=first.span()))
    return _joined(folded, kept)


def _joined(text: str, windows: Sequence[Window]) -> tuple[Window, ...]:
    """Make one window of two that a "to" joins."""
    out = list(windows[:1])
    for before, after in pairwise(windows):
        between = text[before.where[1] : after.where[0]]
        if between and _JOINERS.fullmatch(between) and out[-1].start < after.start:
            out[-1] = Window(out[-1].start, after.end, (out[-1].where[0], after.where[1]))
        else:
            out.append(after)
    return tuple(out)
