"""Compile mem0's filter language into query clauses; what is not understood is refused.

A filter is a mapping. Its entries are joined by AND:

* ``{"user_id": "u1"}``: equal (short for ``{"eq": "u1"}``).
* ``{"金额": {"gte": 500, "lt": 900}}``: operators `eq ne gt gte lt lte in nin contains icontains`, with or without a
  leading ``$``; several on one key are joined by AND.
* ``{"项目": "*"}``: the key has a value.
* ``{"AND": [...]}``, ``{"OR": [...]}``, ``{"NOT": [...]}`` (also ``$and``, ``$or``, ``$not``), nested;
  ``NOT`` matches what none of its conditions matches.

Scope keys and dates have fields of their own. Every other key, Chinese or dotted, is looked up in the nested `facts`,
so no user data ever becomes a mapping. docs/filters.md says what each operator means for each kind of value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any

from mem_opensearch.errors import FilterError, ScopeError
from mem_opensearch.filters.clauses import EVERYTHING, NOTHING, all_of, any_of, count_leaves, none_of
from mem_opensearch.filters.comparisons import between, contains, equal, exists, is_unicode, shown
from mem_opensearch.models import IDENTITY_FIELDS, UNFILTERED_KEYS, Clause

MAX_DEPTH = 10
"""Levels of AND, OR and NOT. Each takes two of the server's, and Elasticsearch refuses queries deeper than 30."""

MAX_LEAVES = 400
"""Comparisons of one filter, as `count_leaves` counts them. A server refuses more than 1,024 in one query, and those of
a keyword search come on top."""

MAX_LISTED = 65_536
"""Items of one `in` or `nin`: the server's own limit of one `terms` clause."""

_LOGIC = {"AND": "and", "OR": "or", "NOT": "not", "$and": "and", "$or": "or", "$not": "not"}
_RANGES = frozenset({"gt", "gte", "lt", "lte"})
_OPERATORS = frozenset({"eq", "ne", "in", "nin", "contains", "icontains"}) | _RANGES
_SUPPORTED = (
    "supported are: eq, ne, gt, gte, lt, lte, in, nin, contains, icontains (with or without '$'), '*' for any value, "
    "and AND, OR, NOT with a list of conditions"
)


def compile_filter(filters: Mapping[str, Any] | None) -> list[Clause]:
    """Return the clauses that a row must all match; an empty filter gives none.

    >>> compile_filter({"user_id": "u1"})
    [{'term': {'user_id': 'u1'}}]

    Raises:
        FilterError: an operator or a shape that is not understood, or more than a server takes.
        ScopeError: a scope identity that is None, empty or a wildcard.
    """
    if filters is None:
        return []
    return [clause for clause in _conditions(filters, depth=0) if clause != EVERYTHING]


def _check_size(clauses: Sequence[Clause]) -> None:
    if count_leaves(clauses) > MAX_LEAVES:
        raise FilterError(
            f"the filter makes more than {MAX_LEAVES} comparisons (one on metadata counts 2 or 3), which is more than "
            "a server takes; many values of one key go into one 'in'"
        )


def _conditions(filters: object, *, depth: int) -> list[Clause]:
    if not isinstance(filters, Mapping):
        raise FilterError(f"a filter is a mapping of keys to conditions, not {type(filters).__name__}; {_SUPPORTED}")
    if depth > MAX_DEPTH:
        raise FilterError(f"a filter may nest at most {MAX_DEPTH} levels of AND, OR and NOT")
    clauses: list[Clause] = []
    for given, value in filters.items():
        key = _key(given)
        if key in _LOGIC:
            clauses.extend(_logic(key, value, depth=depth))
        elif key.startswith("$"):
            raise FilterError(f"filter operator {shown(key)} is not known; {_SUPPORTED}")
        elif key in UNFILTERED_KEYS:
            raise FilterError(f"'{key}' can't be filtered by: it is no metadata; keyword_search looks into the text")
        else:
            clauses.extend(_condition(key, value))
        _check_size(clauses)
    return clauses


def _key(given: object) -> str:
    if not isinstance(given, str) or not given:
        raise FilterError(f"a filter key is a non-empty string, not {type(given).__name__}")
    key = str.__str__(given)  # as for values: an Enum of strings is one too
    if not is_unicode(key):
        raise FilterError(f"filter key {shown(key)} is not valid Unicode")
    return key


def _logic(key: str, value: object, *, depth: int) -> list[Clause]:
    kind = _LOGIC[key]
    conditions = [value] if kind == "not" and isinstance(value, Mapping) else value
    if not isinstance(conditions, Sequence) or isinstance(conditions, str) or not conditions:
        raise FilterError(f"filter operator '{key}' takes a non-empty list of conditions; {_SUPPORTED}")
    branches: list[Clause] = []
    for condition in conditions:
        clauses = _conditions(condition, depth=depth + 1)
        branches.extend(clauses if kind == "and" and clauses else [all_of(clauses)])
        _check_size(branches)
    if kind == "and":
        return branches
    return [any_of(branches) if kind == "or" else none_of(branches)]


def _condition(key: str, value: object) -> list[Clause]:
    if isinstance(value, str) and value == "*":
        if key in IDENTITY_FIELDS:
            raise ScopeError(
                f"'{key}' is '*': a scope identity names one owner; leave the key out to search all of them"
            )
        return [exists(key)]
    if not isinstance(value, Mapping):
        return [equal(key, [value])]
    if not value:
        raise FilterError(f"filter for {shown(key)} is an empty mapping; {_SUPPORTED}")
    clauses, bounds = [], list[tuple[str, object]]()
    for given, operand in value.items():
        operator = given.removeprefix("$") if isinstance(given, str) else ""
        if operator not in _OPERATORS:
            raise FilterError(
                f"filter operator {shown(given)} on {shown(key)} is not known; {_SUPPORTED}; "
                "a value inside an object has a dotted key"
            )
        if operator in _RANGES:
            bounds.append((operator, operand))
        else:
            clauses.append(_compare(key, operator, operand))
    return [*clauses, between(key, bounds)] if bounds else clauses


def _compare(key: str, operator: str, operand: object) -> Clause:
    if operator in {"contains", "icontains"}:
        return contains(key, operator, operand)
    if operator in {"eq", "ne"}:
        values = [operand]
    elif isinstance(operand, Sequence | AbstractSet) and not isinstance(operand, str | bytes | bytearray):
        values = list(islice(operand, MAX_LISTED + 1))
        if len(values) > MAX_LISTED:
            raise FilterError(f"filter operator '{operator}' on {shown(key)} lists more than {MAX_LISTED:,} items")
    else:
        raise FilterError(f"filter operator '{operator}' on {shown(key)} takes a list, not {type(operand).__name__}")
    matched = equal(key, values) if values else NOTHING
    return matched if operator in {"eq", "in"} else none_of([matched])
