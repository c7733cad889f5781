"""Ask a judge about one question after the other, by single keys."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

from mem_opensearch.label.judgements import Judgement, Mark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mem_opensearch.label.questions import Question

PAGE: Final = 9
"""Memories on a page: one for each digit."""
NEXT: Final[dict[Mark, Mark]] = {"not": "relevant", "relevant": "unsure", "unsure": "outdated", "outdated": "not"}
KEYS: Final = "1-9 mark: ✓ right, ? unsure, ⌛ outdated   Enter next   m more   s later   u back   q end"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that may answer a question.

    Attributes:
        id: its id.
        text: its text; it goes to the screen and nowhere else.
        created_at: ISO 8601, or "".
    """

    id: str
    text: str
    created_at: str = ""


@dataclass(slots=True)
class Page:
    """What the judge looks at.

    Attributes:
        question: the question.
        place: its place among those of this round, from 1.
        of: how many those are.
        candidates: the memories that are shown, at most `PAGE`.
        marks: of all that were shown for this question, by id.
        said: what became of the last key, or "".
    """

    question: Question
    place: int
    of: int
    candidates: Sequence[Candidate] = ()
    marks: dict[str, Mark] = field(default_factory=dict)
    said: str = ""


class Screen(Protocol):
    """Where a page is shown."""

    def show(self, page: Page) -> None:
        """Show it in place of the last one."""


@dataclass(slots=True)
class Judging:
    """One round of questions.

    Attributes:
        find: gives the candidates of a question, best first.
        screen: shows the pages.
        record: keeps a judgement; it is kept for good when this returns.
        judge: who judges.
    """

    find: Callable[[Question], Sequence[Candidate]]
    screen: Screen
    record: Callable[[Judgement], None]
    judge: str

    def run(self, questions: Sequence[Question], keys: Iterable[str]) -> int:
        r"""Ask until the questions or the keys are at an end, or the judge ends it; return how many were judged.

        What was left for later comes once more, after the others. Back goes to the question that was judged last, and
        what is said of it then replaces what was said before.

        Args:
            questions: in the order in which they are asked.
            keys: one character each; "\n" and "\r" are Enter.
        """
        waiting = deque(questions)
        judged: list[Question] = []
        later: set[str] = set()
        pressed = iter(keys)
        while waiting:
            question = waiting[0]
            end = self._ask(question, len(judged) + 1, len(judged) + len(waiting), pressed)
            if end == "q":
                break
            waiting.popleft()
            if end == "u":
                waiting.appendleft(question)
                if judged:
                    waiting.appendleft(judged.pop())
            elif end == "s":
                if question.id not in later:
                    later.add(question.id)
                    waiting.append(question)
            else:
                judged.append(question)
        return len(judged)

    def _ask(self, question: Question, place: int, of: int, pressed: Iterable[str]) -> str:
        """Ask about one question; return the key that ended it, after keeping what was said if it was Enter."""
        pages = _pages(question, self.find(question))
        shown = 0
        page = Page(question, place, of, pages[0])
        page.marks.update(dict.fromkeys((each.id for each in pages[0]), "not"))
        self.screen.show(page)
        for key in pressed:
            page.said = ""
            if key in "\r\n":
                self.record(Judgement(question, dict(page.marks), self.judge, datetime.now(UTC).isoformat()))
                return "\n"
            if key in {"q", "u", "s"}:
                return key
            if key == "m":
                shown = (shown + 1) % len(pages)
                page.candidates = pages[shown]
                page.said = "" if shown else "these are all; the first ones again"
                for each in page.candidates:
                    page.marks.setdefault(each.id, "not")
            elif key.isascii() and key.isdigit() and 1 <= int(key) <= len(page.candidates):
                marked = page.candidates[int(key) - 1].id
                page.marks[marked] = NEXT[page.marks[marked]]
            else:
                page.said = f"no key: {key!r}"
            self.screen.show(page)
        return "q"


def _pages(question: Question, found: Sequence[Candidate]) -> list[list[Candidate]]:
    """Return the candidates in pages, best pages first, and mixed within each.

    A judge who sees the ranking follows it, and what he says then favours the ranking that was shown. The mixture is
    the same each time and for every judge.
    """
    pages = [list(found[start : start + PAGE]) for start in range(0, len(found), PAGE)] or [[]]
    chance = random.Random(question.id)  # noqa: S311 - an order, no secret
    for page in pages:
        chance.shuffle(page)
    return pages
