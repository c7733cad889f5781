"""Say what a metadata value is when it is compared: a boolean, a number, a string, or a string that is a date."""

from __future__ import annotations

import functools
import math
import re
from datetime import UTC, date, datetime

MAX_STRING = 8000
"""UTF-16 units of a string that is compared; of a longer one only its presence is known. A server takes terms of
32,766 bytes, and a unit is up to three."""

MAX_NEEDLE = 128
"""Characters that `contains` looks for. A server refuses automata that are costly to make, and the dearest needle, one
character repeated, is refused from about 200."""

_EXACT = 2**53  # from here on, a double skips whole numbers
_LONG = 2**63
_CASED = 0x20000  # no character of the planes after the second has a case

_DATE = re.compile(
    r"\d{4}-\d\d-\d\d([T ]([01]\d|2[0-3]):\d\d(:\d\d([.,]\d+)?)?(Z|[+-]([01]\d|2[0-3]):?[0-5]\d)?)?",
    re.ASCII,
)


def fact_of(value: float | str) -> dict[str, float | str]:
    """Return the fields of `facts` that hold a bool (`b`), a number (`n`, `i`) or a string (`s`, `d`).

    >>> fact_of(True), fact_of(5), fact_of("2026-08-01")
    ({'b': True}, {'n': 5.0}, {'s': '2026-08-01', 'd': '2026-08-01T00:00:00.000Z'})
    """
    if isinstance(value, bool):
        return {"b": value}
    if isinstance(value, str):
        fields: dict[str, float | str] = {"s": value} if is_indexed(value) else {}
        return fields if (instant := as_instant(value)) is None else fields | {"d": instant}
    return {**number_fields(value)}


def number_fields(value: float) -> dict[str, float]:
    """Return a number as a double `n`, and where a double is not exact also as a whole number `i`.

    What has an `i` is compared by it; its `n` is only on the right side of all smaller numbers. Beyond 64 bits there is
    no `i`, and the double is the number.

    >>> number_fields(-0.0), number_fields(2**53 + 1)
    ({'n': 0.0}, {'n': 9007199254740992.0, 'i': 9007199254740993})

    Raises:
        OverflowError: a whole number too large for a double.
    """
    if abs(value) >= _EXACT and -_LONG <= value < _LONG:
        return {"n": math.copysign(_EXACT, value), "i": int(value)}
    return {"n": float(value) + 0.0}  # the sum makes 0.0 of -0.0, which the server holds for another number


def is_indexed(text: str) -> bool:
    """Whether a string is short enough to be compared."""
    return len(text) + sum(character > "\uffff" for character in text) <= MAX_STRING


def as_instant(value: object) -> str | None:
    """Return an ISO 8601 date or date-time as an instant in UTC to the millisecond, or None when it is not one.

    A date is its first instant, and what has no zone is UTC. Digits past the millisecond are dropped.

    >>> as_instant("2026-08-01T08:00:00+08:00")
    '2026-08-01T00:00:00.000Z'
    """
    if isinstance(value, str):
        if not _DATE.fullmatch(value):
            return None
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    elif isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    if not isinstance(value, datetime):
        return None
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    try:
        return aware.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        return None


def case_variants(character: str) -> str:
    """Return all characters that differ from this one by case only, itself among them.

    >>> case_variants("é"), case_variants("中")
    ('Éé', '中')
    """
    return _variants().get(_lower(character), character)


def _lower(character: str) -> str:
    lower = character.lower()
    return lower if len(lower) == 1 else character


@functools.cache
def _variants() -> dict[str, str]:
    variants: dict[str, str] = {}
    for character in map(chr, range(_CASED)):
        lower = _lower(character)
        if lower != character:
            variants[lower] = variants.get(lower, lower) + character
    return {lower: "".join(sorted(group)) for lower, group in variants.items()}
