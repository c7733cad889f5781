"""Decide which older memories a new one replaces: once, when it is written."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.temporal import changes
from mem_opensearch.temporal.slots import EXCLUSIVE_SLOTS, LOOSE_SLOTS, slots_of
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

_ENDS = " \t\n。．.!！"
_LONGEST_VALUE = 16  # characters: a name, a number, a short phrase
_FAMILIAR = 3  # a pair of characters in more of the neighbours than this names nothing
_IDENTIFIER = re.compile(r"[\u4e00-\u9fffA-Za-z-]?[A-Za-z-]*\d[\dA-Za-z-]*")
_HAN_PAIR = re.compile(r"(?=([\u3400-\u9fff]{2}))")
_LATIN_WORD = re.compile(r"[a-z][a-z0-9'-]{2,}")
_FUNCTION_CHARACTERS = frozenset(
    "的了是在我你他她它们和跟与有也就都还很不没这那个一二三四五六七八九十年月日天上下里到去来说要会能给把被让从对为"
)
_FUNCTION_WORDS = frozenset(
    {
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
    }
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
class SupersessionWeights:
    """What each kind of evidence adds to the cosine of two memories, and how much is enough.

    `margin` is how much less sure than the first the further ones may be. Chosen on the development set, where 35
    memories replace something by it, 31 of them first what the labels say. Each figure half as large again, or a
    margin from 0.1 to 0.3, changes hit@1 (0.80) by 0.03 at most, and so does leaving one out.
    """

    slot: float = 0.15
    shared: float = 0.1
    cue: float = 0.1
    threshold: float = 0.4
    margin: float = 0.15


DEFAULT_WEIGHTS = SupersessionWeights()


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a memory replaces another one, to be stored with it and shown.

    Attributes:
        older: id of the memory that is replaced.
        score: how much evidence there is, at or above `SupersessionWeights.threshold`; a little over 1 at most.
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
    newer: Statement, neighbours: Sequence[tuple[Statement, float]], *, weights: SupersessionWeights = DEFAULT_WEIGHTS
) -> tuple[Evidence, ...]:
    """Return what `newer` replaces, at most `MAX_REPLACED`, the surest first.

    Similar is not contradictory. So the newer one must announce a change, and the two must fill the same slot or share
    a name; or both say the same but for one value, of something that has only one: 住在里斯本, 住在柏林. Their subjects
    must not differ, and an identifier that stands before the change must be in both, or 丙3号楼 would replace 丙8号楼.
    Texts of several lines are talk, not statements, and replace nothing.

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
    if not is_statement(newer.text) or changes.tells_of_long_ago(newer.text):
        return ()
    cue = changes.change_cue(newer.text)
    known = Counter(pair for statement, _ in neighbours for pair in _names_in(statement.text))
    # 公司 and 银行 say what both are about, which slots say already: they name nothing.
    rare = {pair for pair in _names_in(newer.text) if known[pair] < _FAMILIAR and not slots_of(pair)}
    found = [
        evidence
        for old, similarity in neighbours
        if old.created_at < newer.created_at
        and (evidence := _weigh(newer, old, similarity, rare=rare, cue=cue, weights=weights))
    ]
    found.sort(key=lambda evidence: (-evidence.score, evidence.older))
    return tuple(evidence for evidence in found[:MAX_REPLACED] if evidence.score >= found[0].score - weights.margin)


def _weigh(
    newer: Statement,
    old: Statement,
    similarity: float,
    *,
    rare: set[str],
    cue: str | None,
    weights: SupersessionWeights,
) -> Evidence | None:
    announced = weights.cue * (cue is not None)
    if similarity + weights.slot + weights.shared * min(2, len(rare)) + announced < weights.threshold:
        return None  # whatever they share; most neighbours are that far, and what follows is dear
    if not is_statement(old.text):
        return None
    slots = slots_of(newer.text) & slots_of(old.text)
    shared = _names_in(old.text) & rare
    if not (_has_other_value(newer.text, old.text) or _is_announced(newer.text, old.text, cue, slots, shared)):
        return None
    if not _same_subject(newer.text, old.text, shared=bool(shared)):
        return None
    score = similarity + weights.slot * bool(slots) + weights.shared * min(2, len(shared)) + announced
    if score < weights.threshold:
        return None
    return Evidence(old.id, round(score, 4), similarity, tuple(sorted(slots)), tuple(sorted(shared)[:5]), cue)


def _is_announced(newer: str, old: str, cue: str | None, slots: frozenset[Slot], shared: frozenset[str]) -> bool:
    """Whether the newer one announces a change of what the old one says."""
    if not _same_thing(newer, old):
        return False
    if slots and shared:
        return cue is not None or changes.is_new_state(newer)
    # Two changes are mostly two things: who changed the job does not undo the move.
    return bool(slots - LOOSE_SLOTS or shared) and cue is not None and _is_state(old)


def _has_other_value(newer: str, old: str) -> bool:
    """Whether the two say the same but for one short value, of something that has one value at a time.

    >>> _has_other_value("使用者住在柏林", "使用者住在里斯本"), _has_other_value("我喜歡吃梨", "我喜歡吃桃")
    (True, False)
    """
    new_words, old_words = (fold(text).strip(_ENDS) for text in (newer, old))
    before = _alike(new_words, old_words)
    while before and re.match(r"[\w-]", new_words[before - 1], re.ASCII):
        before -= 1  # a number differs as a whole
    after = _alike(new_words[before:][::-1], old_words[before:][::-1])
    values = [words[before : len(words) - after] for words in (new_words, old_words)]
    if not all(0 < len(value) <= _LONGEST_VALUE for value in values):
        return False
    if any(re.search(r"\d", value) and not re.fullmatch(r"[\w-]+", value, re.ASCII) for value in values):
        return False  # another number with another value: two orders, two containers
    frame = new_words[:before]
    return 2 * (before + after) >= min(len(new_words), len(old_words)) and bool(slots_of(frame) & EXCLUSIVE_SLOTS)


def _alike(one: str, other: str) -> int:
    """Return how many characters two texts begin with in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def _is_state(text: str) -> bool:
    """Whether a statement says how things are ("now I drink tea") and not how they changed."""
    cue = changes.change_cue(text)
    return cue is None or cue.lower().startswith(("现在", "now"))


def _same_subject(newer: str, old: str, *, shared: bool) -> bool:
    """Whether nothing says that the two are about different people: "my sister lives here" still holds when I move."""
    new_subject, old_subject = changes.subject_of(newer), changes.subject_of(old)
    if new_subject and old_subject:
        return changes.may_be_the_same(new_subject, old_subject)
    return shared or new_subject in {None, changes.SPEAKER}


def is_statement(text: str) -> bool:
    """Whether a text is short and of one line, so that it says one thing; talk and pages are not."""
    return len(text) <= MAX_LENGTH and "\n" not in text.strip()


def _same_thing(newer: str, old: str) -> bool:
    """Whether every identifier that the newer one names before its change is in the older one."""
    folded = fold(old)
    return all(identifier in folded for identifier in _IDENTIFIER.findall(changes.before_the_change(newer)))


@lru_cache(maxsize=4096)
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
