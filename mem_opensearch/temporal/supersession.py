"""Decide which older memories a new one replaces: once, when it is written."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.temporal import changes
from mem_opensearch.temporal.slots import LOOSE_SLOTS, slots_of
from mem_opensearch.text import fold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from mem_opensearch.temporal.slots import Slot

NEIGHBOURS = 30
"""How many of the nearest older memories are worth a look; 20 and 60 gave the same on the development set."""

MAX_LENGTH = 120
"""Characters of the longest statement; what is longer says many things, and none of them is replaced as a whole."""

MAX_REPLACED = 3
"""Most memories that one replaces: what a change ends is often told in several (a home, the way to work from it)."""

_FAMILIAR = 3  # a pair of characters in more of the neighbours than this names nothing
_IDENTIFIER = re.compile(r"[\u4e00-\u9fffA-Za-z-]?[A-Za-z-]*\d[\dA-Za-z-]*")
_HAN_PAIR = re.compile(r"(?=([\u3400-\u9fff]{2}))")
_LATIN_WORD = re.compile(r"[a-z][a-z0-9'-]{2,}")
_FUNCTION_CHARACTERS = frozenset(
    "的了是在我你他她它们和跟与有也就都还很不没这那个一二三四五六七八九十年月日天上下里到去来说要会能给把被让从对为"
)
_FUNCTION_WORDS = frozenset(
    [
        "the",
        "and",
        "for",
        "with",
        "that",
        "this",
        "have",
        "has",
        "had",
        "was",
        "were",
        "are",
        "not",
        "but",
        "from",
        "now",
    ]
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A memory as the decision sees it.

    Attributes:
        id: the memory's id.
        text: what it says.
        created_at: when it was said, with a time zone.
    """

    id: str
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Weights:
    """What each kind of evidence adds to the cosine of two memories, and how much is enough.

    Chosen on the development sets; thresholds from 0.25 to 0.4 gave the same there. Without slots, hit@1 on
    temporal_zh falls from 0.77 to 0.69, without cues to 0.66.
    """

    slot: float = 0.15
    shared: float = 0.1
    cue: float = 0.1
    subject: float = 0.1
    threshold: float = 0.35


DEFAULT_WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a memory replaces another one, to be stored with it and shown.

    Attributes:
        older: id of the memory that is replaced.
        score: how much evidence there is, at or above `Weights.threshold`; a little over 1 at most.
        similarity: cosine of the two.
        slots: what both speak about; may be empty.
        shared: names and words that both hold and few other memories do, at most five.
        cue: the word that announces the change; None where only 了 does.
    """

    older: str
    score: float
    similarity: float
    slots: tuple[Slot, ...]
    shared: tuple[str, ...]
    cue: str | None


def find_superseded(
    newer: Statement, neighbours: Sequence[tuple[Statement, float]], *, weights: Weights = DEFAULT_WEIGHTS
) -> tuple[Evidence, ...]:
    """Return what `newer` replaces, at most `MAX_REPLACED`, the surest first.

    Similar is not contradictory. So the newer one must announce a change; the two must fill the same slot or share a
    name; their subjects must not differ; and an identifier that stands before the change must be in both, or 丙3号楼
    would replace 丙8号楼. Texts of several lines are talk, not statements, and replace nothing.

    Args:
        newer: the memory that is written.
        neighbours: memories of the same scope with their cosine to it, the nearest `NEIGHBOURS` at least; younger ones
            are left out here.
        weights: what counts how much.

    Raises:
        InvalidInputError: a time has no time zone.
    """
    for statement in (newer, *(statement for statement, _ in neighbours)):
        if statement.created_at.tzinfo is None:
            raise InvalidInputError(f"'created_at' of memory '{statement.id}' has no time zone; store times with one")
    cue = changes.change_cue(newer.text)
    if not is_statement(newer.text) or not (cue or changes.is_new_state(newer.text)):
        return ()
    known = Counter(pair for statement, _ in neighbours for pair in _names_in(statement.text))
    rare = {pair for pair in _names_in(newer.text) if known[pair] < _FAMILIAR}
    found = [
        evidence
        for old, similarity in neighbours
        if old.created_at < newer.created_at
        and (evidence := _weigh(newer, old, similarity, rare=rare, cue=cue, weights=weights))
    ]
    return tuple(sorted(found, key=lambda evidence: -evidence.score)[:MAX_REPLACED])


def _weigh(
    newer: Statement, old: Statement, similarity: float, *, rare: set[str], cue: str | None, weights: Weights
) -> Evidence | None:
    if not is_statement(old.text) or not _same_thing(newer.text, old.text):
        return None
    slots = slots_of(newer.text) & slots_of(old.text)
    shared = rare & _names_in(old.text)
    if not (slots - LOOSE_SLOTS or shared):
        return None
    if not (slots and shared) and (cue is None or not _is_state(old.text)):
        return None  # two changes are mostly two things: who changed the job does not undo the move
    alike = _same_subject(newer.text, old.text, shared=bool(shared))
    if alike is None:
        return None
    score = (
        similarity
        + weights.slot * bool(slots)
        + weights.shared * min(2, len(shared))
        + weights.cue * (cue is not None)
        + weights.subject * alike
    )
    if score < weights.threshold:
        return None
    return Evidence(old.id, round(score, 4), similarity, tuple(sorted(slots)), tuple(sorted(shared)[:5]), cue)


def _is_state(text: str) -> bool:
    """Whether a statement says how things are ("now I drink tea") and not how they changed."""
    cue = changes.change_cue(text)
    return cue is None or cue.lower().startswith(("现在", "now"))


def _same_subject(newer: str, old: str, *, shared: bool) -> int | None:
    """Return 1 where both are about the same relation, 0 where nothing speaks against it, -1 where something does.

    None where they are about different people: "my sister lives in Nanjing" still holds when I move.
    """
    new_subject, old_subject = changes.subject_of(newer), changes.subject_of(old)
    if new_subject and old_subject and new_subject != old_subject:
        return None
    if new_subject == old_subject:
        return 0 if new_subject in {None, changes.SPEAKER} else 1
    if new_subject and new_subject != changes.SPEAKER:
        return 0 if shared else None
    return -1 if old_subject and old_subject != changes.SPEAKER else 0


def is_statement(text: str) -> bool:
    """Whether a text is short and of one line, so that it says one thing; talk and pages are not."""
    return len(text) <= MAX_LENGTH and "\n" not in text.strip()


def _same_thing(newer: str, old: str) -> bool:
    """Whether every identifier that the newer one names before its change is in the older one."""
    folded = fold(old)
    return all(identifier in folded for identifier in _IDENTIFIER.findall(changes.before_the_change(newer)))


def _names_in(text: str) -> frozenset[str]:
    """Return what may be a name: pairs of ideographs without function words, and Latin words."""
    folded = fold(text).lower()
    pairs = {match[1] for match in _HAN_PAIR.finditer(folded)}
    words = set(_LATIN_WORD.findall(folded)) - _FUNCTION_WORDS
    return frozenset({pair for pair in pairs if not _FUNCTION_CHARACTERS & set(pair)} | words)


def newest_of(superseded_by: Mapping[str, str], memory_id: str) -> str:
    """Follow "replaced by" to the memory that still holds.

    >>> newest_of({"a": "b", "b": "c"}, "a"), newest_of({}, "a")
    ('c', 'a')
    """
    seen = {memory_id}
    while (after := superseded_by.get(memory_id)) is not None and after not in seen:
        seen.add(after)
        memory_id = after
    return memory_id
