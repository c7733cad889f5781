"""Turn the hits of a request into candidates with typed signals."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mem_opensearch.context import is_question, only_asks
from mem_opensearch.fusion import Candidate, Replacement
from mem_opensearch.queries import FIELD_BOOSTS
from mem_opensearch.search.request import COSINE, IDENTIFIER_FIELDS, KNN, NAME
from mem_opensearch.store.annotations import said_at_of, text_hash
from mem_opensearch.store.documents import TEXT_KEY
from mem_opensearch.temporal import closeness, event_window, fills, is_statement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from mem_opensearch.search.names import Names
    from mem_opensearch.search.question import Asked
    from mem_opensearch.temporal import Window

_REGIONAL = ".regional"


@lru_cache(maxsize=256)  # there are as many as fields
def _kind_of(clause: str) -> Literal["words", "name", "identifiers"] | None:
    """Return what the score of a clause with this name counts as; None where it is no score of a field.

    >>> _kind_of("text.bigram.regional"), _kind_of("name:text"), _kind_of("text.mixed"), _kind_of("knn")
    ('words', 'name', 'identifiers', None)
    """
    name = clause.removeprefix(NAME).removesuffix(_REGIONAL)
    if name not in FIELD_BOOSTS:
        return None
    if clause.startswith(NAME):
        return "name"
    return "identifiers" if name in IDENTIFIER_FIELDS else "words"


class Measured(NamedTuple):
    """A row with what the server measured.

    Attributes:
        id: the memory's id.
        source: what was read of it.
        cosine: of its vector and the question's; None where it was not measured.
        fields: field -> raw BM25, or weight of identifiers; those that did not match are missing. None where no field
            was searched.
        nearest: whether it is among the nearest in meaning.
    """

    id: str
    source: Mapping[str, Any]
    cosine: float | None
    fields: Mapping[str, float] | None = MappingProxyType({})
    nearest: bool = False

    @property
    def text(self) -> str:
        """The memory's text."""
        text = self.payload.get(TEXT_KEY)
        return text if isinstance(text, str) else ""

    @property
    def payload(self) -> Mapping[str, Any]:
        """The memory's payload, as it was stored."""
        return self.source.get("payload") or {}

    @property
    def words(self) -> float:
        """BM25 over all fields of words."""
        return self._sum("words")

    @property
    def scores(self) -> Mapping[str, float]:
        """What `fields` has, or nothing."""
        return self.fields or {}

    @property
    def name_words(self) -> float:
        """BM25 of the names of the question, which is not in `words`; 0 where no name is known."""
        return self._sum("name")

    def _sum(self, kind: str) -> float:
        total = 0.0
        for name, score in self.scores.items():
            if _kind_of(name) == kind:
                total += score
        return total

    @property
    def identifiers(self) -> float:
        """How many identifiers of the question it holds whole."""
        scores = self.scores
        return sum([scores[name] / FIELD_BOOSTS[name] for name in IDENTIFIER_FIELDS if name in scores], start=0.0)

    @property
    def created_at(self) -> datetime | None:
        """When it was said."""
        return said_at_of(self.source)


def measured_by_names(row_id: str, hit: Mapping[str, Any], *, cosine_of: Any) -> Measured:  # noqa: ANN401 - Dialect.cosine_of
    """Return what one hit of a request with named scores says."""
    scores: Mapping[str, float] = hit["matched_queries"]
    return Measured(
        id=row_id,
        source=hit["_source"],
        cosine=cosine_of(scores[COSINE]) if COSINE in scores else None,
        fields={name: score for name, score in scores.items() if _kind_of(name)},
        nearest=KNN in scores,
    )


def candidates_of(
    rows: Sequence[Measured], asked: Asked, *, times: Sequence[Sequence[Window]], names: Names
) -> list[Candidate]:
    """Return the candidates of a search.

    Args:
        rows: what was found.
        asked: the question.
        times: the times that it names, each with what it may mean; see `Asked.windows`.
        names: what is known of its names.
    """
    windows = [_meant(choices, rows) for choices in times]
    texts = {row.id: row.text for row in rows}
    talks = Counter(row.source.get("conversation") for row in rows)
    words = _words(rows) if names.rows else {row.id: row.words for row in rows}
    places = {(row.source.get("conversation"), row.source.get("seq")) for row in rows}
    candidates = []
    for row in rows:
        text = texts[row.id]
        is_a_statement = is_statement(text)
        has_words = row.fields is not None
        conversation, seq = _place(row, talks)
        goes_on = seq is not None and (conversation, seq + 1) in places
        candidates.append(
            Candidate(
                id=row.id,
                cosine=row.cosine,
                words=words[row.id] if has_words else None,
                identifiers=row.identifiers if has_words else None,
                entity=(names.links.get(row.id, 0.0) if is_a_statement else 0.0) if names.rows else None,
                conversation=conversation,
                seq=seq,
                asks=goes_on and only_asks(text),
                only_asks=is_question(text),
                in_window=_in_window(row, windows) if windows else None,
                same_slot=is_a_statement and fills(text, asked.slots),
                superseded_by=_replacement(row, texts),
                created_at=row.created_at,
                per_field=row.scores,
            )
        )
    return candidates


def _words(rows: Sequence[Measured]) -> dict[str, float]:
    """Return BM25 where names of the question are known: of a statement without the names, of an exchange with them.

    The link carries the name of a statement; see `entities.factor`. An exchange of several lines says names in passing,
    and the next ones are about what it names: it is by its words that they are found. Both are put on one scale, that
    of their best.
    """
    whole = {row.id: row.words + row.name_words for row in rows if not is_statement(row.text)}
    rest = {row.id: row.words for row in rows if row.id not in whole}
    if not whole:
        return rest
    most_whole, most_rest = max(whole.values()), max(rest.values(), default=0.0)
    scale = most_whole / most_rest if most_whole and most_rest else 1.0
    return whole | {memory_id: score * scale for memory_id, score in rest.items()}


def _place(row: Measured, talks: Mapping[str | None, int]) -> tuple[str | None, int | None]:
    """Return the place in a talk; a fact that stands alone has none, so that talks don't concern it."""
    conversation = row.source.get("conversation")
    if conversation is None or talks[conversation] == 1:
        return None, None
    return conversation, row.source.get("seq")


def _meant(choices: Sequence[Window], rows: Sequence[Measured]) -> Window:
    """Return the latest of several times that a memory is of, or the likeliest where none is of any."""
    said_at = [moment for row in rows if (moment := row.created_at)]
    latest = sorted(choices, key=lambda window: window.start, reverse=True)
    return next((window for window in latest if any(map(window.holds, said_at))), choices[0])


def _in_window(row: Measured, windows: Sequence[Window]) -> float | None:
    said_at = row.created_at
    event = event_window(row.text, said_at) if said_at and row.source.get("event_date") else None
    return closeness(windows, created_at=said_at, event=event)


def _replacement(row: Measured, texts: Mapping[str, str]) -> Replacement | None:
    """Return the strongest link to a newer memory that is among the candidates and still says the same."""
    for link in row.source.get("superseded_by") or ():
        text = texts.get(link["id"])
        if text is not None and text_hash(text) == link["text"]:
            return Replacement(link["id"], frozenset(link["slots"]))
    return None
