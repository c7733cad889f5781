"""Compile mem0's filter language into query clauses; what is not understood is refused.

A filter is a mapping. Its entries are joined by AND:

* ``{"user_id": "u1"}``: equal (short for ``{"eq": "u1"}``).
* ``{"金额": {"gte": 500, "lt": 900}}``: operators `eq ne gt gte lt lte in nin contains icontains`, with or without a
  leading ``$``; several on one key are joined by AND.
* ``{"项目": "*"}``: the key is present.
* ``{"AND": [...]}``, ``{"OR": [...]}``, ``{"NOT": [...]}`` (also ``$and``, ``$or``, ``$not``), nested to any depth;
  ``NOT`` matches what none of its conditions matches.

Scope keys and dates have fields of their own. Every other key, Chinese or dotted, is looked up in the nested `facts`,
so no user data ever becomes a mapping. Numbers compare as numbers, dates by instant, strings exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from mem_opensearch.errors import FilterError, ScopeError
from mem_opensearch.models import DATE_FIELDS, IDENTITY_FIELDS, SCOPE_FIELDS, Clause

MAX_DEPTH = 8  # OpenSearch 3 refuses queries nested deeper than 20, and each level of ours takes two
MAX_STRING = 8000  # characters of a string that is indexed whole; see `facts.s` in the template

_LOGIC = {"AND": "and", "OR": "or", "NOT": "not", "$and": "and", "$or": "or", "$not": "not"}
_RANGES = frozenset({"gt", "gte", "lt", "lte"})
_OPERATORS = frozenset({"eq", "ne", "in", "nin", "contains", "icontains"}) | _RANGES
_SUPPORTED = (
    "supported are: eq, ne, gt, gte, lt, lte, in, nin, contains, icontains (with or without '$'), '*' for any value, "
    "and AND, OR, NOT with a list of conditions"
)
NOTHING: Clause = {"match_none": {}}


def compile_filter(filters: Mapping[str, Any] | None) -> list[Clause]:
    """Return the clauses that a row must all match; an empty filter gives none.

    >>> compile_filter({"user_id": "u1"})
    [{'term': {'user_id': 'u1'}}]

    Raises:
        FilterError: an operator or a shape that is not understood.
        ScopeError: a scope identity that is None, empty or a wildcard.
    """
    if filters is None:
        return []
    return _conditions(filters, depth=0)


def _conditions(filters: object, *, depth: int) -> list[Clause]:
    if not isinstance(filters, Mapping):
        raise FilterError(f"a filter is a mapping of keys to conditions, not {type(filters).__name__}; {_SUPPORTED}")
    if depth > MAX_DEPTH:
        raise FilterError(f"a filter may nest at most {MAX_DEPTH} levels of AND, OR and NOT")
    clauses: list[Clause] = []
    for key, value in filters.items():
        if not isinstance(key, str) or not key:
            raise FilterError(f"a filter key is a non-empty string, not {key!r}")
        if key in _LOGIC:
            clauses.extend(_logic(key, value, depth=depth))
        elif key.startswith("$"):
            raise FilterError(f"filter operator '{key}' is not known; {_SUPPORTED}")
        else:
            clauses.extend(_condition(key, value))
    return clauses


def _logic(key: str, value: object, *, depth: int) -> list[Clause]:
    kind = _LOGIC[key]
    conditions = [value] if kind == "not" and isinstance(value, Mapping) else value
    if not isinstance(conditions, Sequence) or isinstance(conditions, str) or not conditions:
        raise FilterError(f"filter operator '{key}' takes a non-empty list of conditions; {_SUPPORTED}")
    branches = [_all_of(_conditions(condition, depth=depth + 1)) for condition in conditions]
    if kind == "and":
        return branches
    if kind == "or":
        return [{"bool": {"should": branches, "minimum_should_match": 1}}]
    return [{"bool": {"must_not": branches}}]


def _all_of(clauses: list[Clause]) -> Clause:
    if not clauses:
        return {"match_all": {}}
    return clauses[0] if len(clauses) == 1 else {"bool": {"filter": clauses}}


def _condition(key: str, value: object) -> list[Clause]:
    if value == "*":
        if key in IDENTITY_FIELDS:
            raise ScopeError(
                f"'{key}' is '*': a scope identity names one owner; leave the key out to search all of them"
            )
        return [_exists(key)]
    if not isinstance(value, Mapping):
        return [_compare(key, "eq", value)]
    if not value:
        raise FilterError(f"filter for '{key}' is an empty mapping; {_SUPPORTED}")
    clauses = []
    for given, operand in value.items():
        operator = str(given).removeprefix("$")
        if operator not in _OPERATORS:
            raise FilterError(f"filter operator '{given}' on '{key}' is not known; {_SUPPORTED}")
        clauses.append(_compare(key, operator, operand))
    return clauses


def _compare(key: str, operator: str, operand: object) -> Clause:
    if operator in {"in", "nin"}:
        if not isinstance(operand, Sequence | set | frozenset) or isinstance(operand, str | bytes):
            raise FilterError(f"filter operator '{operator}' on '{key}' takes a list, not {type(operand).__name__}")
        listed = [_equal(key, item) for item in operand]
        if operator == "in":
            return {"bool": {"should": listed, "minimum_should_match": 1}} if listed else NOTHING
        return {"bool": {"must_not": listed}}
    if operator == "eq":
        return _equal(key, operand)
    if operator == "ne":
        return {"bool": {"must_not": [_equal(key, operand)]}}
    if operator in _RANGES:
        return _range(key, operator, operand)
    return _contains(key, operand, ignore_case=operator == "icontains")


def _equal(key: str, value: object) -> Clause:
    if key in SCOPE_FIELDS:
        return {"term": {key: _scope_value(key, value)}}
    if key in DATE_FIELDS and (instant := as_instant(value)) is not None:
        return {"term": {key: instant}}
    if isinstance(value, bool):
        return _fact(key, {"term": {"facts.b": value}})
    if isinstance(value, int | float):
        return _fact(key, {"term": {"facts.n": _number(key, value)}})
    if isinstance(value, datetime | date):
        return _fact(key, {"term": {"facts.d": as_instant(value)}})
    return _fact(key, {"term": {"facts.s": _string(key, value)}})


def _scope_value(key: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        if key in IDENTITY_FIELDS:
            raise ScopeError(f"'{key}' is {value!r}: a scope identity is a non-empty string")
        raise FilterError(f"'{key}' is compared with {type(value).__name__}; it is a non-empty string")
    return _string(key, value)


def _range(key: str, operator: str, operand: object) -> Clause:
    if key in SCOPE_FIELDS:
        raise FilterError(f"'{operator}' has no meaning on '{key}', which is an identity; use eq, ne, in or nin")
    instant = None if isinstance(operand, bool | int | float) else as_instant(operand)
    if key in DATE_FIELDS:
        if instant is None:
            raise FilterError(f"'{operator}' on '{key}' takes an ISO 8601 date, not {type(operand).__name__}")
        return {"range": {key: {operator: instant}}}
    if isinstance(operand, int | float) and not isinstance(operand, bool):
        return _fact(key, {"range": {"facts.n": {operator: _number(key, operand)}}})
    if instant is not None:
        return _fact(key, {"range": {"facts.d": {operator: instant}}})
    if isinstance(operand, str):
        return _fact(key, {"range": {"facts.s": {operator: _string(key, operand)}}})
    raise FilterError(f"'{operator}' on '{key}' takes a number, a date or a string, not {type(operand).__name__}")


def _contains(key: str, operand: object, *, ignore_case: bool) -> Clause:
    if isinstance(operand, bool | int | float) and key not in SCOPE_FIELDS:
        return _equal(key, operand)  # a list holds the number: each item of a list is a fact
    needle = _string(key, operand)
    escaped = "".join(f"\\{c}" if c in "*?\\" else c for c in needle)
    if key in DATE_FIELDS:
        raise FilterError(f"'contains' has no meaning on '{key}', which is a date; use gt, gte, lt or lte")
    field = key if key in SCOPE_FIELDS else "facts.s"
    clause: Clause = {"wildcard": {field: {"value": f"*{escaped}*", "case_insensitive": ignore_case}}}
    return clause if key in SCOPE_FIELDS else _fact(key, clause)


def _exists(key: str) -> Clause:
    if key in SCOPE_FIELDS or key in DATE_FIELDS:
        return {"exists": {"field": key}}
    return _fact(key, {"match_all": {}})


def _fact(key: str, clause: Clause) -> Clause:
    return {"nested": {"path": "facts", "query": {"bool": {"filter": [{"term": {"facts.k": key}}, clause]}}}}


def _number(key: str, value: float) -> float:
    number = float(value)
    if number != number or number in {float("inf"), float("-inf")}:  # noqa: PLR0124 - the test for NaN
        raise FilterError(f"filter on '{key}' compares with {value}, which no stored number equals")
    return number


def _string(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise FilterError(
            f"filter on '{key}' compares with {type(value).__name__}; give a string, number, bool or date"
        )
    if len(value) > MAX_STRING:
        raise FilterError(f"filter on '{key}' compares with {len(value)} characters; at most {MAX_STRING} are indexed")
    return value


def as_instant(value: object) -> str | None:
    """Return an ISO 8601 date or date-time as an instant in UTC to the millisecond, or None when it is not one.

    A date without a zone is read as UTC, as the server would.

    >>> as_instant("2026-08-01T08:00:00+08:00")
    '2026-08-01T00:00:00.000Z'
    """
    if isinstance(value, str):
        if len(value) < len("2026-01-01") or not value[:4].isdigit() or value[4] != "-":
            return None
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    elif isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)  # noqa: DTZ001 - the zone is set below
    if not isinstance(value, datetime):
        return None
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    try:
        return aware.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        return None
