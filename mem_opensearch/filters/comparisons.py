"""Compile one comparison on one key: what a row must hold there."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import TYPE_CHECKING

from mem_opensearch.errors import FilterError, ScopeError
from mem_opensearch.filters.clauses import any_of, fact, nested, terms
from mem_opensearch.filters.values import (
    MAX_NEEDLE,
    MAX_STRING,
    as_instant,
    case_variants,
    fact_of,
    is_indexed,
    number_fields,
)
from mem_opensearch.models import DATE_FIELDS, IDENTITY_FIELDS, SCOPE_FIELDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mem_opensearch.models import Clause

_SHOWN = 80  # characters of a name in a message


def equal(key: str, values: Sequence[object]) -> Clause:
    """Return the clause for rows where some item of the key equals some of `values`, of which there is one at least."""
    if key in SCOPE_FIELDS:
        return terms(key, [_scope_value(key, value) for value in values])
    by_field: dict[str, list[object]] = {}
    for value in values:
        field, comparable = _comparable(key, value)
        by_field.setdefault(field, []).append(comparable)
    dates = by_field.pop("d", []) if key in DATE_FIELDS else []
    in_facts = [terms(f"facts.{field}", comparables) for field, comparables in by_field.items()]
    return any_of(([terms(key, dates)] if dates else []) + ([fact(key, any_of(in_facts))] if in_facts else []))


def _comparable(key: str, value: object) -> tuple[str, object]:
    """Return the field of `facts` that decides whether a stored value equals this one, and what it then holds."""
    if isinstance(value, datetime | date):
        return "d", _instant(key, value)
    fields = fact_of(value if isinstance(value, bool) else _number_or_string(key, value))
    field = next(field for field in ("b", "i", "n", "d", "s") if field in fields)
    return field, fields[field]


def between(key: str, bounds: Sequence[tuple[str, object]]) -> Clause:
    """Return the clause for rows where one item of the key is within all of `bounds`, as pairs (operator, bound)."""
    if key in SCOPE_FIELDS:
        raise FilterError(f"'{bounds[0][0]}' has no meaning on '{key}', which is an identity; use eq, ne, in or nin")
    clauses = [_bound(key, operator, operand) for operator, operand in bounds]
    if key not in DATE_FIELDS:
        return fact(key, *clauses)
    within: dict[str, str] = {}
    for (operator, operand), clause in zip(bounds, clauses, strict=True):
        if "facts.d" not in clause.get("range", {}):
            raise FilterError(f"'{operator}' on '{key}' takes an ISO 8601 date, not {type(operand).__name__}")
        within |= clause["range"]["facts.d"]
    sides = [operator[0] for operator, _ in bounds]
    # A range has one bound a side. Two on a side, gt beside gte, are rare, and the facts can hold them all.
    return {"range": {key: within}} if len(set(sides)) == len(sides) else fact(key, *clauses)


def _bound(key: str, operator: str, operand: object) -> Clause:
    if isinstance(operand, bool):
        raise FilterError(f"'{operator}' on {shown(key)} takes a number, a date or a string, not bool")
    if isinstance(operand, datetime | date) or (isinstance(operand, str) and as_instant(operand)):
        return {"range": {"facts.d": {operator: _instant(key, operand)}}}
    value = _number_or_string(key, operand)
    if isinstance(value, str):
        return {"range": {"facts.s": {operator: value}}}
    fields = number_fields(value)
    if "i" not in fields:
        return {"range": {"facts.n": {operator: fields["n"]}}}
    # Of a number that has an `i`, `n` is one of two constants, beyond all smaller numbers. So what has no `i`, or the
    # other sign, is on the same side of the operand as of its constant.
    strict = operator[:2]
    return any_of([{"range": {"facts.i": {operator: fields["i"]}}}, {"range": {"facts.n": {strict: fields["n"]}}}])


def contains(key: str, operator: str, operand: object) -> Clause:
    """Return the clause for rows where a string of the key holds `operand` (a number or bool: where an item is it)."""
    if key in DATE_FIELDS:
        raise FilterError(f"'{operator}' has no meaning on '{key}', which is a date; use gt, gte, lt or lte")
    if key not in SCOPE_FIELDS and isinstance(operand, bool | int | float):
        return equal(key, [operand])
    needle = _scope_value(key, operand) if key in SCOPE_FIELDS else _number_or_string(key, operand)
    if not isinstance(needle, str) or len(needle) > MAX_NEEDLE:
        raise FilterError(f"'{operator}' on {shown(key)} takes a string of at most {MAX_NEEDLE} characters")
    field = key if key in SCOPE_FIELDS else "facts.s"
    clause = _substring(field, needle, ignore_case=operator == "icontains")
    return clause if key in SCOPE_FIELDS else fact(key, clause)


def _substring(field: str, needle: str, *, ignore_case: bool) -> Clause:
    groups = [case_variants(character) for character in needle] if ignore_case else []
    if any(len(group) > 1 for group in groups):  # a server's own `case_insensitive` knows ASCII only, in most versions
        pattern = "".join(f"[{group}]" if len(group) > 1 else _escaped(group) for group in groups)
        return {"regexp": {field: {"value": f".*{pattern}.*", "flags": "NONE"}}}
    escaped = "".join(f"\\{character}" if character in "*?\\" else character for character in needle)
    return {"wildcard": {field: {"value": f"*{escaped}*"}}}


def _escaped(character: str) -> str:
    return f"\\{character}" if character.isascii() and not character.isalnum() else character


def exists(key: str) -> Clause:
    """Return the clause for rows that have a value for the key, or for a key inside the object that it holds."""
    if key in SCOPE_FIELDS:
        return {"exists": {"field": key}}
    return nested(any_of([{"term": {"facts.k": key}}, {"prefix": {"facts.k": f"{key}."}}]))


def _scope_value(key: str, value: object) -> str:
    if isinstance(value, str) and value:
        return _string(key, value)
    kind = "empty" if isinstance(value, str) else type(value).__name__
    if key in IDENTITY_FIELDS:
        raise ScopeError(f"'{key}' is {kind}: a scope identity is a non-empty string; several go into 'in'")
    raise FilterError(f"'{key}' is compared with {kind}; it is a non-empty string; several go into 'in'")


def _instant(key: str, value: object) -> str:
    if (instant := as_instant(value)) is None:
        raise FilterError(f"filter on {shown(key)} compares with a date outside the years 1 to 9999 of UTC")
    return instant


def _number_or_string(key: str, value: object) -> float | str:
    if isinstance(value, str):
        return _string(key, value)
    if not isinstance(value, int | float):
        raise FilterError(
            f"filter on {shown(key)} compares with {type(value).__name__}; give a string, number, bool or date, "
            "several of them to 'in', and for what lacks the key: NOT with '*'"
        )
    try:
        finite = math.isfinite(value)
    except OverflowError:  # a whole number beyond the doubles
        finite = False
    if not finite:
        raise FilterError(f"filter on {shown(key)} compares with NaN, infinity or a number too large to be stored")
    return value


def _string(key: str, value: str) -> str:
    text = str.__str__(value)  # an Enum of strings is one too, and JSON wants the plain string
    if not is_unicode(text):
        raise FilterError(f"filter on {shown(key)} compares with a string that is not valid Unicode")
    if not is_indexed(text):
        raise FilterError(
            f"filter on {shown(key)} compares with {len(text):,} characters; at most {MAX_STRING:,} are indexed, of "
            "which emoji and rare ideographs count two"
        )
    return text


def is_unicode(text: str) -> bool:
    """Whether a string can be sent: it has no lone surrogate."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def shown(name: object) -> str:
    """Return a key or an operator for a message: short, and printable whatever it is."""
    if not isinstance(name, str):
        return type(name).__name__
    text = name if is_unicode(name) else ascii(name)
    return f"'{text}'" if len(text) <= _SHOWN else f"'{text[:_SHOWN]}...'"
