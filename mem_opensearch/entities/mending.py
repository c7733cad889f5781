"""Mend the boundaries and types of names that a Chinese tagger found, by the words around them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mem_opensearch.entities import words as known
from mem_opensearch.entities.mentions import EntityType, Word

if TYPE_CHECKING:
    from collections.abc import Sequence

PERSON, PLACE, ORGANISATION = EntityType.PERSON, EntityType.PLACE, EntityType.ORGANISATION
_NAMES = frozenset((PERSON, PLACE, ORGANISATION))
_JOINS = frozenset("·‧・•")  # between the parts of a foreign name
_NOUNS = frozenset(("n", "nz", "vn", "an", "a", "s", "m", "j", "v", "xc", "f", "b"))
_MOST_PARTS = 4  # words that a name may grow by: 国家 + 工程 + 实验室
_SHORTEST = 2  # characters of a name; one alone is an abbreviation, or a mistake
_ORDINAL = re.compile("第?[一二三四五六七八九十]+世")


def mend(text: str, tagged: Sequence[Word]) -> list[Word]:
    """Return the names among a tagger's words, mended, in their order.

    Args:
        text: folded.
        tagged: all its words, in their order and without gaps; names have an `EntityType` as their tag.
    """
    words = _joined_names(text, tagged)
    words = _grown(text, words)
    words = [_typed(text, word) for word in words]
    words = _merged(words)
    names = [_trimmed(text, word) for word in words if word.tag in _NAMES]
    names = _latin(text, [word for word in names if _is_name(text, word)])
    return sorted([*names, *_armies(text, names)], key=lambda word: word.start)


def _joined_names(text: str, words: Sequence[Word]) -> list[Word]:
    """Join 朱斯廷 · 苏敏德, and 查理 四世."""
    out: list[Word] = []
    for word in words:
        piece = text[word.start : word.end]
        before = out[-1] if out else None
        first = text[before.start : before.end] if before else ""
        if before and before.tag in _NAMES and (piece[0] in _JOINS or first[-1] in _JOINS) and len(piece + first) > 1:
            out[-1] = Word(before.start, word.end, before.tag)
        elif before and PERSON in (before.tag, word.tag) and (_ORDINAL.fullmatch(piece) or _ORDINAL.fullmatch(first)):
            out[-1] = Word(before.start, word.end, PERSON)
        else:
            out.append(word)
    return out


def _grown(text: str, words: Sequence[Word]) -> list[Word]:
    """Let a place or organisation take in the nouns after it, up to one that such names end in: 浦口 + 校区."""
    out: list[Word] = []
    index = 0
    while index < len(words):
        word = words[index]
        end = index
        if word.tag in (PLACE, ORGANISATION):
            end = _growth(text, words, index)
        out.append(Word(word.start, words[end].end, word.tag) if end > index else word)
        index = end + 1
    return out


def _growth(text: str, words: Sequence[Word], first: int) -> int:
    """Return the index of the last word that belongs to the name that begins at `first`."""
    best = first
    for index in range(first + 1, min(len(words), first + 1 + _MOST_PARTS)):
        word = words[index]
        piece = text[word.start : word.end]
        if word.tag in {PLACE, ORGANISATION} and index > first + 1:
            break
        if word.tag not in _NOUNS and word.tag not in _NAMES:
            break
        near = index == first + 1
        grows = known.ORGANISATION_END.search(piece) or (
            known.PLACE_END.fullmatch(piece) if near else known.LONG_PLACE_END.fullmatch(piece)
        )
        if grows and word.tag not in _NAMES:
            best = index
    return best


def _typed(text: str, word: Word) -> Word:
    """Return the word with the type that its ending tells, or what stands around it."""
    if word.tag not in _NAMES:
        return word
    name, before, after = text[word.start : word.end], text[: word.start], text[word.end :]
    long = len(name) > _SHORTEST
    if long and known.ORGANISATION_END.search(name):
        return word.typed(ORGANISATION)
    firm = known.FIRM_PLACE_END.search(name)
    if word.tag == ORGANISATION and (firm or known.FACILITY_END.search(name)):
        return word.typed(PLACE)
    if word.tag == PERSON and len(name) >= _SHORTEST:
        foreign = not known.is_surname(name)
        ending = long and (firm or (foreign and known.NATURE_END.search(name)))
        around = foreign and (known.PLACE_BEFORE.search(before) or known.PLACE_AFTER.match(after))
        return word.typed(PLACE) if ending or around else word
    return word


def _merged(words: Sequence[Word]) -> list[Word]:
    """Join a place with the place in it (广岛县 + 尾道市), and with its organisation (图卢兹市 + 公司)."""
    out: list[Word] = []
    for word in words:
        before = out[-1] if out else None
        if before and before.tag == PLACE and word.tag in (PLACE, ORGANISATION) and before.end == word.start:
            out[-1] = Word(before.start, word.end, word.tag)
            continue
        out.append(word)
    return out


def _trimmed(text: str, word: Word) -> Word:
    """Return the word without what is no part of a name at its end."""
    name = text[word.start : word.end]
    cut = {PERSON: known.PERSON_TAIL, PLACE: known.DIRECTION_END}.get(EntityType(word.tag))
    if cut and (found := cut.search(name)) and found.start() >= _SHORTEST:
        word = Word(word.start, word.start + found.start(), word.tag)
        name = text[word.start : word.end]
    if word.tag == PERSON and (title := known.TITLE_END.search(name)) and title.start() > 0:
        return Word(word.start, word.start + title.start(), PERSON)
    return word


def _is_name(text: str, word: Word) -> bool:
    """Return whether the word names one thing, and not a people, a language or a species."""
    name, after = text[word.start : word.end], text[word.end :]
    if len(name) < _SHORTEST or known.TIME.fullmatch(name):
        return False
    if word.tag == PLACE:
        return not known.NOT_PLACE_AFTER.match(after)
    return not (word.tag == PERSON and known.NOT_PERSON_AFTER.match(after))


def _latin(text: str, names: Sequence[Word]) -> list[Word]:
    """Give a name in Latin letters its whole run, and one in brackets behind a name the type of that name."""
    out = list(names)
    for run in known.LATIN_NAME.finditer(text):
        start, end = run.span()
        inside = [word for word in out if word.start < end and start < word.end]
        if any(word.start < start or word.end > end for word in inside):
            continue
        before = [word for word in out if word.end == start - 1] if text[start - 1 : start] in tuple("(（") else []
        if before or inside:
            out = [word for word in out if word not in inside]
            out.append(Word(start, end, (before or inside)[0].tag))
    return sorted(out, key=lambda word: word.start)


def _armies(text: str, names: Sequence[Word]) -> list[Word]:
    found = (Word(hit.start(), hit.end(), ORGANISATION) for hit in known.ARMY.finditer(text))
    return [word for word in found if _free(word, names)]


def _free(word: Word, taken: Sequence[Word]) -> bool:
    return all(word.end <= other.start or other.end <= word.start for other in taken)
