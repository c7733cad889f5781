"""Find where a memory holds what the question says, by the tokens of the server's own analysis."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

from mem_opensearch.client.encoding import path_of
from mem_opensearch.errors import BackendError
from mem_opensearch.profiles import TEXT_FIELD, WordField
from mem_opensearch.queries import FIELD_BOOSTS, MAX_QUERY
from mem_opensearch.search.request import IDENTIFIER_FIELDS
from mem_opensearch.text import fold, segmenter, without_question_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mem_opensearch.store import OpenSearchVectorStore
    from mem_opensearch.text import UserDictionary

MOST_MARKED = 4000
"""Characters of a memory that are looked through; the server analyses 10,000 tokens at most."""

Kind = Literal["word", "part", "identifier"]
"""A word; a part of one (a pair of characters, or a single one); an identifier."""

_KINDS: Final[Mapping[str, Kind]] = {
    TEXT_FIELD: "word",
    "text.code": "word",
    **dict.fromkeys(IDENTIFIER_FIELDS, "identifier"),
}
_STRONGER: Final[Mapping[Kind | None, int]] = {None: 0, "part": 1, "word": 2, "identifier": 3}


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a text.

    Attributes:
        token: as the index has it.
        start: where it begins, in characters.
        end: where it ends.
    """

    token: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a memory's text.

    Attributes:
        text: the piece.
        kind: what of the question it is; None where it is nothing of it.
    """

    text: str
    kind: Kind | None


@dataclass(frozen=True, slots=True)
class Marked:
    """A memory's text with what the question says.

    Attributes:
        pieces: which together are the whole text.
        tokens: field -> the tokens that both hold, each once, in the order of the memory.
    """

    pieces: Sequence[Piece]
    tokens: Mapping[str, Sequence[str]]


class Marker:
    """Marks the memories of one collection.

    Args:
        store: the collection.
        words: how its words are made.
        dictionary: the user's words.
    """

    def __init__(self, store: OpenSearchVectorStore, words: WordField, dictionary: UserDictionary | None) -> None:
        self._store = store
        self._words = words
        self._dictionary = dictionary

    def question(self, question: str) -> dict[str, frozenset[str]]:
        """Return field -> tokens that a search looks for."""
        text = without_question_words(question[:MAX_QUERY])
        return {field: frozenset(each.token for each in self._tokens(field, text)) for field in FIELD_BOOSTS}

    def mark(self, text: str, wanted: Mapping[str, frozenset[str]]) -> Marked:
        """Return a text with what it shares with a question.

        Args:
            text: of the memory.
            wanted: what `question` returned.

        Raises:
            BackendError: the server does not analyse texts, or failed.
        """
        head = text[:MOST_MARKED]
        kinds: list[Kind | None] = [None] * len(head)
        shared: dict[str, list[str]] = {}
        for field in FIELD_BOOSTS:
            if not wanted.get(field):
                continue
            kind = _KINDS.get(field, "part")
            for each in self._tokens(field, head):
                if each.token not in wanted[field]:
                    continue
                shared.setdefault(field, []).append(each.token)
                for place in range(each.start, min(each.end, len(head))):
                    kinds[place] = max(kinds[place], kind, key=lambda one: _STRONGER[one])
        pieces = list(_pieces(head, kinds))
        if rest := text[MOST_MARKED:]:
            pieces.append(Piece(rest, None))
        return Marked(pieces, {field: list(dict.fromkeys(tokens)) for field, tokens in shared.items()})

    def _tokens(self, field: str, text: str) -> list[Token]:
        if field == TEXT_FIELD and self._words.client_side:
            return list(_located(segmenter(self._dictionary).segment(text), text))
        path = path_of(self._store.collection_name, "_analyze")
        answer = self._store.client.request("POST", path, body={"field": field, "text": text})
        places = _places(text)
        try:
            return [
                Token(each["token"], places[each["start_offset"]], places[each["end_offset"]])
                for each in answer["tokens"]
            ]
        except (KeyError, IndexError, TypeError):
            raise BackendError(f"POST {path}: the answer has no tokens with their places in the text") from None


def _places(text: str) -> list[int]:
    """Return place in UTF-16, which the server counts in -> place in characters.

    >>> _places("𠮷a")
    [0, 0, 1, 2]
    """
    found = []
    for place, letter in enumerate(text):
        found += [place] * (2 if ord(letter) > 0xFFFF else 1)  # noqa: PLR2004 - the last one of a single unit
    return [*found, len(text)]


def _located(words: Sequence[str], text: str) -> Iterator[Token]:
    """Find words in the text that they were cut from: one after the other, the parts of an identifier inside it."""
    folded = "".join(lower if len(lower := letter.lower()) == 1 else letter for letter in fold(text))
    start = end = 0
    for word in words:
        inside = folded.find(word, start, end) if folded[start:end].isascii() else -1
        place = inside if inside >= 0 else folded.find(word, end)
        if place < 0 or not any(map(str.isalnum, word)):
            continue
        yield Token(word, place, place + len(word))
        if inside < 0:
            start, end = place, place + len(word)


def _pieces(text: str, kinds: Sequence[Kind | None]) -> Iterator[Piece]:
    edges = [0, *(place for place in range(1, len(text)) if kinds[place] != kinds[place - 1]), len(text)]
    for start, end in pairwise(edges):
        if text[start:end]:
            yield Piece(text[start:end], kinds[start])
