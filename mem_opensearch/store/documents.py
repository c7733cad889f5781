"""Turn a payload into the row that is indexed, and check what was given before anything is sent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.filters import fact_of
from mem_opensearch.models import DATE_FIELDS, SCOPE_FIELDS, UNFILTERED_KEYS
from mem_opensearch.text import fold_name

if TYPE_CHECKING:
    from mem_opensearch.models import Kind

TEXT_KEY = "data"  # where mem0 keeps a memory's text, and an entity's name
LINKS_KEY = "linked_memory_ids"  # where an entity's payload keeps the memories that name it
ALIASES_KEY = "aliases"  # where it keeps its other names
MAX_ID_BYTES = 512  # the server's own limit of `_id`
MAX_TERM_BYTES = 32_766  # the server's own limit of what is indexed whole
MAX_FACTS = 5000  # a document may hold 10,000 nested objects; below that, the reason is ours to give


def build_row(payload: Mapping[str, Any], *, kind: Kind, row_id: str) -> dict[str, Any]:
    """Return the indexed fields for `payload`, without the vector.

    The payload itself goes in untouched under ``payload`` and comes back exactly as it was given.

    Raises:
        InvalidInputError: a scope value that is not a string, or a payload that JSON can't carry.
    """
    stored = _as_stored(payload, row_id=row_id)
    row: dict[str, Any] = {"id": row_id, "payload": dict(payload)}
    text = payload.get(TEXT_KEY)
    if text is not None and not isinstance(text, str):
        raise InvalidInputError(f"payload of '{row_id}': '{TEXT_KEY}' is {type(text).__name__}, expected a string")
    for name in SCOPE_FIELDS:
        value = payload.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            raise InvalidInputError(f"payload of '{row_id}': '{name}' is {type(value).__name__}, expected a string")
        row[name] = _term(value, name=name, row_id=row_id)
    if kind == "entities":
        stored.pop(ALIASES_KEY, None)  # has a field of its own
    row["facts"] = facts = build_facts(stored, row_id=row_id)
    for name in DATE_FIELDS:
        # A date that can't be read is no reason to refuse a memory: it stays in the payload, and in the facts as text.
        instants = [fact["d"] for fact in facts if fact["k"] == name and "d" in fact]
        if instants:
            row[name] = instants if len(instants) > 1 else instants[0]
    row["text"] = text or ""
    if kind == "entities":
        return row | _entity_fields(payload, text or "", row_id=row_id)
    entities = payload.get("entities")
    if isinstance(entities, list):
        row["entities"] = [fold_name(name) for name in entities if isinstance(name, str)]
    return row


def _term(value: str, *, name: str, row_id: str) -> str:
    """Refuse what is too long for a term of the index, which a filter would have to find whole."""
    if len(value) > MAX_TERM_BYTES // 4 and len(value.encode()) > MAX_TERM_BYTES:
        raise InvalidInputError(f"payload of '{row_id}': '{name}' is longer than {MAX_TERM_BYTES} bytes")
    return value


def _entity_fields(payload: Mapping[str, Any], name: str, *, row_id: str) -> dict[str, Any]:
    links = _names(payload, LINKS_KEY, row_id=row_id)
    aliases = _names(payload, ALIASES_KEY, row_id=row_id)
    return {
        "name": name,
        "name_folded": fold_name(name),
        "type": str(payload.get("entity_type") or ""),
        "memory_ids": list(dict.fromkeys(links)),
        "aliases": [
            _term(fold_name(alias), name=ALIASES_KEY, row_id=row_id) for alias in aliases
        ],  # item by item the fold of those in the payload
    }


def _names(payload: Mapping[str, Any], key: str, *, row_id: str) -> list[str]:
    names = payload.get(key) or []
    if not isinstance(names, list | tuple):
        raise InvalidInputError(f"entity '{row_id}': '{key}' is {type(names).__name__}, expected a list")
    return [str(name) for name in names]


def build_facts(payload: Mapping[str, Any], *, row_id: str) -> list[dict[str, Any]]:
    """Return one fact per metadata value, for filters: nested keys are dotted, each item of a list is a fact.

    >>> build_facts({"金额": 300, "tags": ["a"], "x": {"y": True}}, row_id="m1")
    [{'k': '金额', 'n': 300.0}, {'k': 'tags', 's': 'a'}, {'k': 'x.y', 'b': True}]
    """
    facts: list[dict[str, Any]] = []
    for key, value in payload.items():
        if key not in UNFILTERED_KEYS and key not in SCOPE_FIELDS:
            _collect(str(key), value, facts)
    for fact in facts:
        _term(fact["k"], name=f"{fact['k'][:40]}...", row_id=row_id)
    if len(facts) > MAX_FACTS:
        raise InvalidInputError(
            f"payload of '{row_id}' has {len(facts)} metadata values; at most {MAX_FACTS} are indexed"
        )
    return facts


def _collect(key: str, value: Any, facts: list[dict[str, Any]]) -> None:  # noqa: ANN401 - JSON
    if value is None:
        return
    if isinstance(value, Mapping):
        for inner, item in value.items():
            _collect(f"{key}.{inner}", item, facts)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect(key, item, facts)
    else:
        facts.append({"k": key} | fact_of(value))


def _as_stored(payload: object, *, row_id: str) -> dict[str, Any]:
    """Return the payload as the server will give it back: a date or a UUID has become a string."""
    if not isinstance(payload, Mapping):
        raise InvalidInputError(f"payload of '{row_id}' is {type(payload).__name__}, expected a mapping")
    try:
        stored: dict[str, Any] = orjson.loads(orjson.dumps(payload))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"payload of '{row_id}' can't be written as JSON: {error}") from None
    if _has_bad_number(payload):
        raise InvalidInputError(f"payload of '{row_id}' holds NaN or infinity, which JSON has no form for")
    return stored


def _has_bad_number(value: object) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, Mapping):
        return any(_has_bad_number(item) for item in value.values())
    return isinstance(value, list | tuple) and any(_has_bad_number(item) for item in value)


def check_id(row_id: object) -> str:
    """Return an id that the server takes.

    Raises:
        InvalidInputError: not a string, empty, too long, or not writable as UTF-8.
    """
    if not isinstance(row_id, str) or not row_id:
        raise InvalidInputError(f"a memory id is a non-empty string, not {row_id!r}")
    try:
        size = len(row_id.encode())
    except UnicodeEncodeError:
        raise InvalidInputError(f"memory id {row_id!r} is not valid Unicode") from None
    if size > MAX_ID_BYTES:
        raise InvalidInputError(f"memory id '{row_id[:40]}...' has {size} bytes; at most {MAX_ID_BYTES} are allowed")
    return row_id


def as_list(values: Any, *, name: str) -> list[Any]:  # noqa: ANN401 - whatever was given
    """Return what was given for several rows as a list; the rows themselves are not copied.

    Raises:
        InvalidInputError: it is one thing, or has no order.
    """
    if not isinstance(values, str | bytes | bytearray | Mapping) and hasattr(values, "__getitem__"):
        try:
            return list(values)
        except TypeError:  # such as an array of no dimension
            pass
    raise InvalidInputError(f"'{name}' is {type(values).__name__}, expected a list")


def as_ids(ids: Sequence[str] | None, count: int) -> list[str]:
    """Return `count` checked ids; without `ids`, random ones (not 0, 1, ..., which the next call would overwrite).

    Raises:
        InvalidInputError: wrong number of ids, or one that the server won't take.
    """
    if ids is None:
        import uuid

        return [str(uuid.uuid4()) for _ in range(count)]
    ids = as_list(ids, name="ids")
    if len(ids) != count:
        raise InvalidInputError(f"{count} vectors but {len(ids)} ids were given; they go together one by one")
    return [check_id(row_id) for row_id in ids]
