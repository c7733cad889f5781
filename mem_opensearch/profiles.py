"""How each analysis profile makes words: mapping, rows and query in one object, so that they can't drift apart.

A profile decides about the word field alone; ``text.bigram``, ``text.en``, ``text.code`` and ``text.joined`` are made
by the server, and are the same for every profile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from mem_opensearch.text import UserDictionary, segmentation_fingerprint, segmenter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mem_opensearch.models import Clause, Profile

TEXT_FIELD = "text"
"""The field with the text as it is; in weights and in named queries it stands for the words, whatever the profile."""

SEGMENTED_FIELD = "words"
"""The field with the words that the client made, blanks between them."""

_ANALYZER = "words"  # of the templates

CLIENT_WEIGHT = 0.8
"""Weight of jieba's words against that of IK's, for which `queries.FIELD_BOOSTS` was chosen: IK gives the words inside
a word too, so its scores spread over more terms. Of 0.5 to 1.0, hit@1 on keyword_zh is 1.000 up to 0.8 and 0.971 above;
the other development sets differ by less than 0.01."""


class WordField(Protocol):
    """The field of words of an index."""

    @property
    def field(self) -> str:
        """The field that holds the words."""

    @property
    def tokenizer(self) -> str:
        """The server's tokenizer for it."""

    @property
    def token_filters(self) -> list[str]:
        """The server's token filters for it."""

    @property
    def client_side(self) -> bool:
        """Whether this process makes the words, so that every process must make them alike."""

    @property
    def fingerprint(self) -> str | None:
        """What the words depend on beside profile and fold: dictionaries. None where there are none."""

    def mapping(self, text: Mapping[str, Any]) -> dict[str, Any]:
        """Return the properties for the text, from the one that the template has, which has the other fields in it."""

    def row(self, text: str) -> dict[str, str]:
        """Return the fields that a row needs for its text."""

    def analysed(self, text: str) -> str:
        """Return the text as the server's analyser of the field has to be given it."""

    def clause(self, query: str, *, boost: float, name: str = TEXT_FIELD) -> Clause:
        """Return the clause that looks for the query's words, under the name that a hit says it matched by."""


@dataclass(frozen=True, slots=True)
class ServerWords:
    """Words that the server makes of the field `text` itself.

    Attributes:
        tokenizer: name of the server's tokenizer.
        filters: names of its token filters.
        dictionary: the user's words, where the server's tokenizer can know them.
    """

    tokenizer: str
    filters: tuple[str, ...] = ("lowercase",)
    dictionary: UserDictionary | None = None

    field = TEXT_FIELD
    client_side = False

    @property
    def token_filters(self) -> list[str]:
        """The server's token filters."""
        return list(self.filters)

    @property
    def fingerprint(self) -> str | None:
        """The user's dictionary; the server's own comes with its plugin."""
        return self.dictionary.fingerprint if self.dictionary else None

    def mapping(self, text: Mapping[str, Any]) -> dict[str, Any]:
        """Return the template's property, with the analyser of words."""
        return {TEXT_FIELD: {**text, "analyzer": _ANALYZER}}

    def row(self, text: str) -> dict[str, str]:
        """Return the text."""
        return {TEXT_FIELD: text}

    def analysed(self, text: str) -> str:
        """Return the text as it is."""
        return text

    def clause(self, query: str, *, boost: float, name: str = TEXT_FIELD) -> Clause:
        """Return a match in the text."""
        return _match(TEXT_FIELD, query, boost=boost, name=name)


@dataclass(frozen=True, slots=True)
class ClientWords:
    """Words that jieba makes here, for a field that the server only cuts at blanks: no plugin is needed.

    Attributes:
        dictionary: the user's words.
    """

    dictionary: UserDictionary | None = None

    field = SEGMENTED_FIELD
    tokenizer = "whitespace"
    client_side = True

    @property
    def token_filters(self) -> list[str]:
        """The words come in lower case; the filter says so in the mapping, for whoever else writes there."""
        return ["lowercase"]

    @property
    def fingerprint(self) -> str | None:
        """The dictionaries and rules that the words were made by."""
        return segmentation_fingerprint(self.dictionary)

    def mapping(self, text: Mapping[str, Any]) -> dict[str, Any]:
        """Return the template's property without words of its own, and the field of words beside it."""
        # The text itself stays in the row, so that words can be made anew and the other fields have their source.
        return {
            TEXT_FIELD: {**text, "analyzer": _ANALYZER, "index": False},
            SEGMENTED_FIELD: {name: value for name, value in text.items() if name != "fields"}
            | {"analyzer": _ANALYZER},
        }

    def row(self, text: str) -> dict[str, str]:
        """Return the text and its words."""
        return {TEXT_FIELD: text, SEGMENTED_FIELD: self.analysed(text)}

    def analysed(self, text: str) -> str:
        """Return the words of the text, blanks between them."""
        return " ".join(segmenter(self.dictionary).segment(text))

    def clause(self, query: str, *, boost: float, name: str = TEXT_FIELD) -> Clause:
        """Return a match in the words."""
        return _match(SEGMENTED_FIELD, self.analysed(query), boost=boost * CLIENT_WEIGHT, name=name)


def _match(field: str, query: str, *, boost: float, name: str) -> Clause:
    return {"match": {field: {"query": query, "boost": boost, "_name": name}}}


def word_field(profile: Profile, dictionary: UserDictionary | None = None) -> WordField:
    """Return the strategy of a profile.

    Args:
        profile: as an index's `_meta` says.
        dictionary: the user's words; smartcn and bigrams can't use them.
    """
    if profile == "jieba":
        return ClientWords(dictionary)
    if profile == "ik":
        # `ik_max_word` on both sides: `ik_smart` makes words that it does not.
        return ServerWords("ik_max_word", dictionary=dictionary)
    if profile == "smartcn":
        return ServerWords("smartcn_tokenizer")
    return ServerWords("standard", ("lowercase", "cjk_bigram"))


def rewrite_words(row: Mapping[str, Any], words: WordField) -> dict[str, Any]:
    """Return a stored row with its words made anew, for an index of another profile or dictionary.

    Args:
        row: the row's source, of whatever profile; the vector and all other fields stay.
        words: the profile that the row is to be stored under.

    >>> rewrite_words({"id": "m1", "text": "臺北", "words": "old"}, word_field("bigram"))
    {'id': 'm1', 'text': '臺北'}
    """
    kept = {name: value for name, value in row.items() if name != SEGMENTED_FIELD}
    if kept.get("context"):
        kept["context"] = words.analysed(kept["context"])
    return kept | words.row(row.get(TEXT_FIELD) or "")


def takes_dictionary(profile: Profile) -> bool:
    """Whether the user's words have an effect in a profile."""
    return profile in {"ik", "jieba"}
