"""Build the one request that brings every signal of every candidate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.filters import count_leaves
from mem_opensearch.queries import SHOWN, keyword_clauses
from mem_opensearch.text import without_question_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.dialects import Dialect
    from mem_opensearch.models import Clause
    from mem_opensearch.profiles import WordField
    from mem_opensearch.temporal import Window

IDENTIFIER_FIELDS: Final = ("text.joined", "text.mixed")
"""Fields whose matches are counted and not weighed; all others of `queries.FIELD_BOOSTS` are fields of words."""

KNN, COSINE, CONTEXT, LINKED, NAME, WINDOW = "knn", "cosine", "context", "linked", "name:", "window"
"""What clauses are called; those of words and identifiers bear the name of their field."""

SIGNALS = [*SHOWN, "created_at", "conversation", "event_date", "superseded_by"]
"""What is read of a candidate's source."""

_FIRST, _SECOND = 1000.0, 100.0
"""What puts the nearest, and the linked and those of a named time, before all that only share words, where more match
than a request brings. Nothing else is done with that score."""

_BRINGS = 0.5  # of what is only there to bring candidates: the same order as by its words, behind the question's own
MAX_NAME = 30  # characters of the names of a question that are looked for by words

_MAX_CLAUSES = 1000 - 3 * MAX_NAME
_CLAUSES_A_CHARACTER = 5  # of the question's words, in every field


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request asks for.

    Attributes:
        question: the whole question.
        rest: what it asks, without the names that bring their memories by their links.
        name: the names; empty where none is known.
        vector: of the whole question, shape (dims,).
        pool: how many of the nearest, >= 1.
        size: most candidates.
        filters: what every candidate passes: scope, metadata, expiry.
        windows: times that the question names.
        linked: ids of memories that are linked to a name.
    """

    question: str
    rest: str
    vector: Any
    pool: int
    size: int
    filters: Sequence[Clause]
    name: str = ""
    windows: Sequence[Window] = ()
    linked: Sequence[str] = field(default_factory=tuple)


def within_limits(wanted: Wanted, text: str) -> str:
    """Return as much of a text as the server's limit of clauses has room for beside the filter."""
    leaves = 2 * count_leaves(wanted.filters) + 2 * len(wanted.windows)
    return text[: max(0, _MAX_CLAUSES - leaves) // _CLAUSES_A_CHARACTER]


def word_clauses(wanted: Wanted, *, words: WordField, boosts: Mapping[str, float]) -> list[Clause]:
    """Return the clauses of the fields of words, for what is asked."""
    only = {name: boost for name, boost in boosts.items() if name not in IDENTIFIER_FIELDS}
    return keyword_clauses(within_limits(wanted, wanted.rest), words=words, boosts=only)


def name_clauses(wanted: Wanted, *, words: WordField, boosts: Mapping[str, float]) -> list[Clause]:
    """Return the clauses of the fields of words for the names, which count in talks only; none without names."""
    if not wanted.name:
        return []
    only = {name: boost for name, boost in boosts.items() if name not in IDENTIFIER_FIELDS}
    clauses = keyword_clauses(within_limits(wanted, wanted.name)[:MAX_NAME], words=words, boosts=only)
    for clause in clauses:
        for inner in clause["match"].values():
            inner["_name"] = f"{NAME}{inner['_name']}"
    return clauses


def identifier_clauses(wanted: Wanted, *, words: WordField, boosts: Mapping[str, float]) -> list[Clause]:
    """Return the clauses of the identifiers of the whole question: PX-441 counts as one also where it is a name."""
    only = {name: boost for name, boost in boosts.items() if name in IDENTIFIER_FIELDS}
    text = within_limits(wanted, wanted.question)
    return [clause for clause in keyword_clauses(text, words=words, boosts=only) if "match" in clause]


def bringing_clauses(wanted: Wanted, *, words: WordField) -> list[Clause]:
    """Return the clauses that bring candidates whose score is told by something else."""
    text = without_question_words(within_limits(wanted, wanted.question))
    clauses: list[Clause] = [
        {"match": {"context": {"query": words.analysed(text), "boost": _BRINGS, "_name": CONTEXT}}}
    ]
    if wanted.linked:
        clauses.append(_constant({"terms": {"id": list(wanted.linked)}}, _SECOND, LINKED))
    for number, window in enumerate(wanted.windows):
        clauses.append(_constant(_in_window(window), _SECOND, f"{WINDOW}{number}"))
    return clauses


def signals_request(
    wanted: Wanted, *, words: WordField, dialect: Dialect, boosts: Mapping[str, float]
) -> dict[str, Any]:
    """Return the body of a search that needs `Dialect.has_named_scores` and `has_scripts`."""
    nearest = dialect.knn(wanted.vector, k=wanted.pool, filters=wanted.filters)
    found_by = [
        _constant(nearest, _FIRST, KNN),
        *word_clauses(wanted, words=words, boosts=boosts),
        *name_clauses(wanted, words=words, boosts=boosts),
        *identifier_clauses(wanted, words=words, boosts=boosts),
        *bringing_clauses(wanted, words=words),
    ]
    return _measured(wanted, dialect, {"bool": {"should": found_by, "minimum_should_match": 1}})


def meaning_request(wanted: Wanted, *, dialect: Dialect) -> dict[str, Any]:
    """Return the body that asks for the nearest in meaning alone."""
    nearest = dialect.knn(wanted.vector, k=wanted.pool, filters=wanted.filters)
    return {"size": wanted.pool, "query": nearest, "_source": SIGNALS, "track_total_hits": False}


def _measured(wanted: Wanted, dialect: Dialect, must: Clause) -> dict[str, Any]:
    """Return the body for what matches `must`, each with its exact cosine.

    Where the server can, the cosine is asked for by a clause of a filter that all pass: so it is computed of the
    candidates alone, and not of all that share a word with the question.
    """
    exact = dialect.exact_cosine(wanted.vector, name=COSINE)
    matching: Clause = {"must": [must], "filter": list(wanted.filters)}
    if dialect.has_named_post_filter:
        query = {"query": {"bool": matching}, "post_filter": {"bool": {"should": [{"match_all": {}}, exact]}}}
    else:
        query = {"query": {"bool": matching | {"should": [exact]}}}
    return {
        "size": wanted.size,
        **query,
        "_source": SIGNALS,
        "track_total_hits": False,
    }


def _constant(clause: Clause, boost: float, name: str) -> Clause:
    return {"constant_score": {"filter": clause, "boost": boost, "_name": name}}


def _in_window(window: Window) -> Clause:
    bounds = {"gte": window.start.isoformat(), "lt": window.end.isoformat()}
    either: list[Clause] = [{"range": {name: bounds}} for name in ("created_at", "event_date")]
    return {"bool": {"should": either, "minimum_should_match": 1}}


def unexpired(day: str) -> Clause:
    """Return the clause for what is valid on a day: mem0 counts to the end of the day in UTC, of the last date."""
    first = f"{day}T00:00:00.000Z"
    past, yet_to_come = ({"range": {"expiration_date": {operator: first}}} for operator in ("lt", "gte"))
    return {"bool": {"must_not": [{"bool": {"filter": [past], "must_not": [yet_to_come]}}]}}
