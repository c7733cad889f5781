"""Build request bodies as the plain JSON that the server documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mem_opensearch.filters import count_leaves
from mem_opensearch.profiles import TEXT_FIELD
from mem_opensearch.text import regional_variants, without_question_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.dialects import Dialect
    from mem_opensearch.models import Clause
    from mem_opensearch.profiles import WordField

SHOWN = ["payload", "id", "written_at", "seq"]
"""What a read returns of the source: never the vector, which is most of a document's bytes. `id` and `written_at`
are for servers that take no ids; `seq` tells which of the memories of one time came first."""

FIELD_BOOSTS: Mapping[str, float] = {
    "text": 0.25,
    # Bigrams rescue what the word analyser's dictionary lacks: names, numerals with measure words, rare ideographs.
    "text.bigram": 0.175,
    # Also single characters, which is what its tokenizer makes of Chinese: a weak signal that helps short texts.
    "text.en": 0.125,
    "text.code": 0.25,
    # An identifier that matches whole outweighs the words around it. These two are not BM25: each match adds just this
    # weight. A collection has few identifiers, and BM25 calls what is in one of five rows common.
    "text.joined": 4.0,
    "text.mixed": 4.0,
}
"""Weight of each analysed field in the keyword score.

The ratios were chosen on the development sets by BM25 alone. Their common size matters to mem0 only, which maps the sum
to [0, 1] by a sigmoid made for the score of one field (midpoint 5): five times larger, most hits would map to 1.0 and
the sigmoid would no longer rank. Measured, see docs/architecture.md.
"""

BM25_K1: Mapping[str, float] = {"text": 1.6, "text.bigram": 1.6, "text.en": 1.6, "text.code": 1.2}
"""k1 of each field that is scored by BM25: those of `index_templates/common.json`, 1.2 where it says nothing."""
BM25_B: float = 0.5
"""b of those fields whose k1 is not 1.2."""


def boosts_for(*, legacy_bm25: bool) -> Mapping[str, float]:
    """Return `FIELD_BOOSTS` such that the sum means the same on every server.

    Lucene once multiplied BM25 by k1 + 1, which changes no order within one field; OpenSearch 2 and Elasticsearch still
    do. Beside fields of constant score it changes the balance: on 2.19, words would outweigh identifiers.

    >>> boosts_for(legacy_bm25=True)["text.joined"] == FIELD_BOOSTS["text.joined"]
    True
    """
    if not legacy_bm25:
        return FIELD_BOOSTS
    return {field: boost / (BM25_K1[field] + 1) if field in BM25_K1 else boost for field, boost in FIELD_BOOSTS.items()}


MAX_QUERY = 300
"""Characters of a query that the keyword clauses look for: at up to three terms a character over all fields, that stays
below the 1,024 clauses that a server allows. A question is shorter; a pasted page would be refused whole."""

_MAX_CLAUSES = 1000
_CLAUSES_A_CHARACTER = 3


REGIONAL_FIELDS = ("text", "text.bigram")
REGIONAL_BOOST = 0.5
"""Weight of the query in the other region's words, against the query as it was asked."""
MAX_REGIONAL = 100
"""Characters of a query that is also looked for in the other region's words; a longer one has words enough."""


MIN_POOL = 100
"""Fewest rows that a vector search looks for, however few are wanted.

The graph of OpenSearch 2 is searched with a beam of just k: with k = 5, 13 % of the right rows among 300 of 3,300 were
missed (recall 0.867; with this floor 1.0), and with k = 2 even the row itself. OpenSearch 3 does the same by itself. A
filter that leaves no more rows than this is answered exactly.
"""


def vector_search(
    vector: Any,  # noqa: ANN401 - list or array
    *,
    k: int,
    filters: Sequence[Clause],
    dialect: Dialect,
) -> dict[str, Any]:
    """Return the body of a search by meaning: the best `k` rows, ordered by cosine, see `Dialect.knn`."""
    return {"size": k, "query": dialect.knn(vector, k=max(k, MIN_POOL), filters=filters), "_source": SHOWN}


def keyword_clauses(query: str, *, words: WordField, boosts: Mapping[str, float] = FIELD_BOOSTS) -> list[Clause]:
    """Return one clause per analysed field, each under the field's name; the index's profile makes the one for words.

    Terms are joined by OR: every further term that matches adds to the score, and none is required. Of a text longer
    than `MAX_QUERY` the beginning is used, and question words are left out.
    """
    text = without_question_words(query[:MAX_QUERY])
    clauses = [_match(field, text, boost, name=field, words=words) for field, boost in boosts.items() if boost]
    if len(text) <= MAX_REGIONAL:
        clauses += [
            _match(field, variant, boosts[field] * REGIONAL_BOOST, name=f"{field}.regional", words=words)
            for variant in regional_variants(text)
            for field in REGIONAL_FIELDS
            if boosts.get(field)
        ]
    return clauses


def _match(field: str, text: str, boost: float, *, name: str, words: WordField) -> Clause:
    if field == TEXT_FIELD:
        return words.clause(text, boost=boost, name=name)
    return {"match": {field: {"query": text, "boost": boost, "_name": name}}}


def keyword_search(
    query: str,
    *,
    size: int,
    filters: Sequence[Clause],
    words: WordField,
    boosts: Mapping[str, float] = FIELD_BOOSTS,
) -> dict[str, Any]:
    """Return the body of a search by words; hits are ordered by BM25 summed over the fields.

    A filter of many comparisons leaves fewer clauses for the words, so that less of a very long query is looked for.
    """
    query = query[: (_MAX_CLAUSES - count_leaves(filters)) // _CLAUSES_A_CHARACTER]
    return {
        "size": size,
        "query": {
            "bool": {
                "should": keyword_clauses(query, words=words, boosts=boosts),
                "minimum_should_match": 1,
                "filter": list(filters),
            }
        },
        "_source": SHOWN,
    }


def matching(filters: Sequence[Clause]) -> Clause:
    """Return the query for the rows that pass all `filters`, unscored; every row where there are none."""
    return {"bool": {"filter": list(filters)}} if filters else {"match_all": {}}


def listing(*, size: int, filters: Sequence[Clause], after: Sequence[Any] | None = None) -> dict[str, Any]:
    """Return the body that lists rows, newest first; rows without a date come last.

    Args:
        size: rows of this page, at most 10,000.
        filters: which rows.
        after: the `sort` values of the last row of the page before.
    """
    body: dict[str, Any] = {
        "size": size,
        "query": matching(filters),
        "sort": [{"created_at": {"order": "desc", "missing": "_last"}}, {"id": "asc"}],
        "_source": SHOWN,
        "track_total_hits": False,
    }
    if after is not None:
        body["search_after"] = list(after)
    return body


KEPT_FIELDS = ("vector", "conversation", "seq")
"""What a row keeps when all else of it is replaced, unless the new one brings it: vector, and place in a talk."""

KEPT_WITH_TEXT = ("superseded_by", "context")
"""What it keeps as well if its text is the same. The context of a later turn is kept anyway: it is the turns before;
that of a first turn is what the text replaces."""

_READ_KEPT = "".join(f"def kept_{name} = ctx._source.{name}; " for name in (*KEPT_FIELDS, *KEPT_WITH_TEXT))
_WRITE_KEPT = "".join(
    f"if (kept_{name} != null && !params.row.containsKey('{name}')) {{ ctx._source.{name} = kept_{name}; }} "
    for name in (*KEPT_FIELDS, *KEPT_WITH_TEXT)
)
REPLACE_SCRIPT = (
    f"{_READ_KEPT}"
    "if (ctx._source.text != params.row.text) { kept_superseded_by = null; "
    "if (kept_seq == null || kept_seq == 0) { kept_context = null; } } "
    "ctx._source.clear(); ctx._source.putAll(params.row); "
    f"{_WRITE_KEPT}"
)
"""Replace a row whole but for what is kept: a partial update would merge objects, and a removed key would stay."""


def replacement(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of an update that replaces everything but what is kept."""
    return {"script": {"lang": "painless", "source": REPLACE_SCRIPT, "params": {"row": dict(row)}}}


def replaced(old: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `replacement` makes of a row, for a server without scripts.

    >>> replaced({"vector": [1], "text": "a", "superseded_by": [], "x": 1}, {"text": "b"})
    {'vector': [1], 'text': 'b'}
    """
    same_text, is_later_turn = old.get("text") == row.get("text"), bool(old.get("seq"))
    kept = KEPT_FIELDS + (KEPT_WITH_TEXT if same_text else ("context",) if is_later_turn else ())
    return {name: old[name] for name in kept if name in old} | dict(row)
