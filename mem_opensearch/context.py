"""Tell which memories are turns of one talk, and which turn stands where in it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.text import fold

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

GAP = timedelta(minutes=90)
"""The longest silence inside one talk. Lone facts lie days apart; the turns of the development sets' talks lie 2 and 60
minutes apart."""

TURNS_BACK = 2
"""How many earlier turns are worth knowing, see `fusion.UnionWeights.context_turns`."""

_MARKS = ("?", "？")
_SPACES = "".join(chr(point) for point in range(0x3001) if chr(point).isspace())
_CLOSING = f"」』”’\"')~。!｣＂＇）～｡！{_SPACES}"  # what may stand behind a question mark, folded or not

_ENDS = " ?!~。」』”’\"')"
_SENTENCE_END = re.compile(r"[。!?;\n]|\.\s")


@dataclass(frozen=True, slots=True)
class Turn:
    """A memory as a turn of a talk, or a lone fact.

    Attributes:
        id: the memory's id.
        scope: whose it is: the values of `user_id`, `agent_id` and `run_id`. Talks never cross a scope.
        created_at: when it was said, with a time zone; None where that is not known, which makes it a lone fact.
        session: the talk that its metadata names; None where they name none.
    """

    id: str
    scope: tuple[str | None, ...]
    created_at: datetime | None
    session: str | None = None

    def __post_init__(self) -> None:
        if self.created_at is not None and self.created_at.tzinfo is None:
            raise InvalidInputError(f"'created_at' of memory '{self.id}' has no time zone; store times with one")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a turn stands.

    Attributes:
        conversation: name of the talk: a hash of its scope and its first turn's id, or of its session.
        seq: 0 for the first turn, one more for each later one.
        previous: id of the turn before; None for the first.
    """

    conversation: str
    seq: int
    previous: str | None = None


def place_after(turn: Turn, previous: tuple[Turn, Place] | None) -> Place:
    """Return the place of a new turn, from the last one of the same scope.

    Args:
        turn: the memory that is written.
        previous: the latest memory that its scope had before, with its place; None where there is none.

    Raises:
        InvalidInputError: the two are of different scopes.
    """
    if previous is None:
        return Place(_name(turn), 0)
    last, place = previous
    if last.scope != turn.scope:
        raise InvalidInputError(f"memories '{last.id}' and '{turn.id}' are of different scopes: they are no talk")
    if not _continues(last, turn):
        return Place(_name(turn), 0)
    return Place(place.conversation, place.seq + 1, last.id)


def place_all(turns: Iterable[Turn]) -> dict[str, Place]:
    """Return id -> place of many memories at once, in any order: for imports, and for rows written without places.

    Of turns of the same time, the one that comes first in `turns` is the earlier.
    """
    places: dict[str, Place] = {}
    last: dict[tuple[tuple[str | None, ...], str | None], Turn] = {}
    dated = [turn for turn in turns if turn.created_at is not None]
    for turn in sorted(dated, key=_time):
        thread = (turn.scope, turn.session)  # two sessions may go on side by side
        before = last.get(thread)
        places[turn.id] = place_after(turn, (before, places[before.id]) if before else None)
        last[thread] = turn
    return places


def only_asks(text: str) -> bool:
    r"""Whether a turn ends with a question, so that what it is about comes in the next turn.

    >>> only_asks("用户：推荐几本书吧\n助手：想看哪一类的？"), only_asks("《小王子》怎么样？我很喜欢。")
    (True, False)
    """
    # Without the fold: it is asked of every candidate of a search.
    return text.rstrip(_CLOSING).endswith(_MARKS)


def is_question(text: str) -> bool:
    r"""Whether a turn is one question and nothing else, so that it can't be an answer.

    >>> is_question("有什麼店推薦嗎？"), is_question("我喜歡安靜的店。有嗎？"), is_question("用户：好\n助手：哪家？")
    (True, False, False)
    """
    return only_asks(text) and _SENTENCE_END.search(fold(text).strip().rstrip(_ENDS)) is None


def _continues(last: Turn, turn: Turn) -> bool:
    if last.created_at is None or turn.created_at is None:
        return False
    if last.session is not None or turn.session is not None:
        return last.session == turn.session
    return timedelta(0) <= turn.created_at - last.created_at <= GAP


def _name(turn: Turn) -> str:
    parts = [*(part or "" for part in turn.scope), turn.session or "", "" if turn.session else turn.id]
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]


def _time(turn: Turn) -> float:
    assert turn.created_at is not None  # noqa: S101 - the caller left out the others
    return turn.created_at.timestamp()
