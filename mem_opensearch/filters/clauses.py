"""Put query clauses together, and count what they cost a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mem_opensearch.models import DATE_FIELDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mem_opensearch.models import Clause

NOTHING: Clause = {"match_none": {}}
EVERYTHING: Clause = {"match_all": {}}


def all_of(clauses: list[Clause]) -> Clause:
    """Return one clause that holds where all do; of none, everything."""
    if not clauses:
        return EVERYTHING
    return clauses[0] if len(clauses) == 1 else {"bool": {"filter": clauses}}


def any_of(clauses: list[Clause]) -> Clause:
    """Return one clause that holds where at least one of `clauses` does, of which there is one at least."""
    return clauses[0] if len(clauses) == 1 else {"bool": {"should": clauses, "minimum_should_match": 1}}


def none_of(clauses: list[Clause]) -> Clause:
    """Return one clause that holds where none does."""
    return {"bool": {"must_not": clauses}}


def fact(key: str, *clauses: Clause) -> Clause:
    """Return the clause for rows where one value of the key meets all of `clauses`."""
    return nested({"bool": {"filter": [{"term": {"facts.k": key}}, *clauses]}})


def nested(clause: Clause) -> Clause:
    """Return the clause for rows where one of the facts meets `clause`."""
    return {"nested": {"path": "facts", "query": clause}}


def terms(field: str, values: Sequence[object]) -> Clause:
    """Return the clause for a field that holds one of `values`, of which there is one at least."""
    return {"term": {field: values[0]}} if len(values) == 1 else {"terms": {field: list(values)}}


def count_leaves(clauses: Sequence[Clause]) -> int:
    """Return how much compiled clauses count against a server's limit of 1,024 in one query, at most.

    >>> count_leaves([{"term": {"user_id": "u1"}}, fact("n", {"range": {"facts.n": {"gt": 3.0}}})])
    4
    """
    return sum(_leaves(clause) for clause in clauses)


def _leaves(clause: Clause) -> int:
    ((kind, body),) = clause.items()
    if kind == "nested":
        return _leaves(body["query"])
    if kind == "bool":
        return sum(count_leaves(part) for part in body.values() if isinstance(part, list))
    ((field, values),) = body.items() or [("", None)]
    if field == "facts.d" or field in DATE_FIELDS:  # two ways to look a date up, and each one of a list is a clause
        return 2 * len(values) if kind == "terms" else 2
    return 2 if field in {"facts.n", "facts.i"} else 1
