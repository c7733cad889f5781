"""Part a question into the names that it asks about and what it asks of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mem_opensearch.entities import words as known
from mem_opensearch.entities.extraction import extract
from mem_opensearch.entities.mentions import EntityMention, EntityType
from mem_opensearch.errors import InvalidInputError
from mem_opensearch.text import fold, fold_name, without_question_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LONGEST_NAME = 8
"""Characters of the longest Chinese name that `possible_names` thinks of."""
MOST_NAMES = 400
"""Names that `possible_names` gives at most of a question; a question of 60 characters has some 350."""

_RUN = re.compile("[\u3007\u3400-\u9fff\U00020000-\U0003fffd·‧・]+|[A-Za-z0-9][\\w.&'’-]*(?: [A-Za-z0-9][\\w.&'’-]*)*")
_HAN = re.compile("[\u3007\u3400-\u9fff\U00020000-\U0003fffd]")
_LEAST_REST = 2  # letters, digits or ideographs; with less, nothing is left to look for
_LATIN_WORDS = 4
_LONGEST_PERSON = 4  # characters of a Chinese name


@dataclass(frozen=True, slots=True)
class Factored:
    """A question in two parts.

    Attributes:
        names: what it asks about, as it stands there, in its order, each once. Roles (表弟, 房东) are among them only
            where they are known and no other name is there.
        rest: the question without the names that are known, whose memories the entities bring; the whole question where
            nothing would be left.
    """

    names: tuple[str, ...]
    rest: str


def factor(query: str, known_names: Iterable[str] = (), mentions: Sequence[EntityMention] | None = None) -> Factored:
    """Return the names that a question asks about, and what it asks of them.

    Of the known names that look like common nouns (智齿) only one that stands first counts: it is what the question is
    about. A name that is not known is among the names, for it may be looked up, but stays in the rest: no entity would
    bring its memories.

    Args:
        query: the question.
        known_names: names and aliases that the user's entities have; see `possible_names` for how to get those that
            matter.
        mentions: what the question names, see `extract`; found here where not given.

    >>> factor("羊舌羚要我去哪裡接她？", ["羊舌羚"], mentions=[])
    Factored(names=('羊舌羚',), rest=' 要我去哪裡接她？')
    """
    found = extract(query) if mentions is None else mentions
    spans = names_in(query, known_names)
    known_spans = [span for span in spans if not _is_role(query[slice(*span)])]
    known_spans = [span for span in known_spans if span == known_spans[0] or _is_proper(query, span, found)]
    unknown = [
        (each.start, each.end)
        for each in found
        if each.type != EntityType.ROLE
        and not known.TIME.fullmatch(fold(each.name))
        and all(each.end <= start or end <= each.start for start, end in spans)
    ]
    chosen = sorted([*known_spans, *unknown]) or spans
    names = dict.fromkeys(query[start:end] for start, end in chosen)
    return Factored(tuple(names), _without(query, known_spans))


def names_in(text: str, names: Iterable[str]) -> list[tuple[int, int]]:
    """Return where a text holds names of a list, longest first where they overlap, in the text's order.

    Script, width and case don't matter. A Latin name counts as a whole word only.

    >>> names_in("臺北市的貓", ["台北", "台北市"])
    [(0, 3)]
    """
    folded = fold(text).casefold()
    if len(folded) != len(text):  # ß and a few others grow; their offsets would be wrong
        folded = fold(text)
    spans: list[tuple[int, int]] = []
    for name in sorted({fold_name(name) for name in names} - {""}, key=len, reverse=True):
        pattern = rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])" if name.isascii() else re.escape(name)
        for hit in re.finditer(pattern, folded):
            if all(hit.end() <= start or end <= hit.start() for start, end in spans):
                spans.append(hit.span())
    return sorted(spans)


def possible_names(text: str, *, most: int | None = MOST_NAMES) -> list[str]:
    """Return all that might be a name in a text, folded as names are compared: to look up which are known.

    A tagger doesn't know that 半碗春 or 算盘 is a name; the user's entities do, and one `terms` query finds them.

    Args:
        text: a question, or a memory.
        most: names to give at most, the longest; all where it is None, some seven for each character of a memory.

    Returns:
        Chinese pieces of 2 to 8 characters and runs of 1 to 4 Latin words, each once, longest first.

    Raises:
        InvalidInputError: this is no text.

    >>> possible_names("算盘呢？")
    ['算盘']
    """
    if not isinstance(text, str):
        raise InvalidInputError(f"{type(text).__name__} is no text that names can be found in; give a string")
    pieces: set[str] = set()
    for run in _RUN.findall(without_question_words(text)):
        if _HAN.search(run):
            pieces.update(
                run[start : start + length]
                for length in range(2, LONGEST_NAME + 1)
                for start in range(len(run) - length + 1)
            )
            continue
        latin = run.split(" ")
        pieces.update(
            " ".join(latin[start : start + length])
            for length in range(1, _LATIN_WORDS + 1)
            for start in range(len(latin) - length + 1)
        )
    names = {fold_name(piece) for piece in pieces if not known.TIME.fullmatch(piece)} - {""}
    return sorted(names, key=lambda name: (-len(name), name))[:most]


def _is_proper(query: str, span: tuple[int, int], mentions: Sequence[EntityMention]) -> bool:
    """Return whether a known name looks like one by itself: 裴若谷 does; 智齿, which may be linked too, does not."""
    start, end = span
    name = fold(query[start:end])
    tagged = any(each.start < end and start < each.end and each.type != EntityType.ROLE for each in mentions)
    return tagged or name.isascii() or (len(name) <= _LONGEST_PERSON and known.is_surname(name))


def _is_role(name: str) -> bool:
    return known.ROLE.search(fold(name)) is not None


def _without(query: str, spans: Sequence[tuple[int, int]]) -> str:
    left, position = [], 0
    for start, end in spans:
        left += [query[position:start], " "]
        position = end
    rest = "".join([*left, query[position:]])
    enough = sum(character.isalnum() for character in rest) >= _LEAST_REST
    return rest if enough else query
