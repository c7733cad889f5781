"""Look up by many names at once which of them entities have, and give many entities other names at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from mem_opensearch.models import IDENTITY_FIELDS
from mem_opensearch.store.entity_rows import Scope, check_scope, entity_id, scope_clauses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mem_opensearch.models import Clause

MOST_ROWS = 10_000  # of one answer; the server's own limit
MOST_NAMES = 20_000
"""Names of one search; a server takes 65,536 terms in each field."""
MOST_IN_REQUEST = 200_000
"""Names after which a request is full: some 12 MB, of the 100 that a server takes."""
_ASKED = ("name_folded", "aliases", "type", *IDENTITY_FIELDS)


@dataclass(frozen=True, slots=True)
class OtherNames:
    """Other names of an entity; see `EntityStore.add_aliases_many`.

    Attributes:
        entity: its name.
        names: what else it is called.
        scope: whose it is.
        entity_type: what it is.
    """

    entity: str
    names: Sequence[str]
    scope: Scope
    entity_type: str = ""

    @property
    def id(self) -> str:
        """The `_id` of the entity's row."""
        return entity_id(self.entity, self.scope, self.entity_type)


@dataclass(frozen=True, slots=True)
class NamedRow:
    """What a row says of the names that it is found by; its links are not fetched.

    Attributes:
        name: the entity's, folded.
        aliases: its other names, folded.
        type: what it is.
        scope: whose it is.
    """

    name: str
    aliases: tuple[str, ...]
    type: str
    scope: Mapping[str, str]

    @classmethod
    def from_source(cls, source: Mapping[str, Any]) -> NamedRow:
        """Return what the source of a hit holds."""
        scope = {key: source[key] for key in IDENTITY_FIELDS if source.get(key) is not None}
        return cls(source["name_folded"], tuple(source.get("aliases") or ()), source.get("type") or "", scope)


def named(names: Iterable[str]) -> Clause:
    """Return the clause for rows that have one of these folded names, as their own or as an alias."""
    wanted = list(names)
    should = [{"terms": {"name_folded": wanted}}, {"terms": {"aliases": wanted}}]
    return {"bool": {"should": should, "minimum_should_match": 1}}


def owner_of(scope: Scope) -> Mapping[str, str]:
    """Return whose names a memory of this scope may say: all of the user's, whichever agent or run they come from.

    >>> dict(owner_of({"user_id": "lin", "run_id": "r1"})), dict(owner_of({"agent_id": "cook"}))
    ({'user_id': 'lin'}, {'agent_id': 'cook'})

    Raises:
        ScopeError: this is no scope.
    """
    whose = check_scope(scope)
    return {"user_id": whose["user_id"]} if "user_id" in whose else whose


def requests(asked: Iterable[tuple[Scope, Iterable[str]]]) -> Iterator[list[dict[str, Any]]]:
    """Yield the searches of each request for the rows that have one of these folded names.

    Args:
        asked: owners, see `owner_of`, and the names of each.
    """
    searches: list[dict[str, Any]] = []
    size = 0
    for owner, names in asked:
        left = iter(names)
        while part := list(islice(left, MOST_NAMES)):
            searches.append(_search(owner, part))
            size += len(part)
            if size >= MOST_IN_REQUEST:
                yield searches
                searches, size = [], 0
    if searches:
        yield searches


def _search(owner: Scope, names: Sequence[str]) -> dict[str, Any]:
    clauses: list[Clause] = [*scope_clauses(owner), named(names)]
    if "user_id" not in owner:  # rows of an agent's many users are not looked through; they wouldn't count either
        clauses.append({"bool": {"must_not": {"exists": {"field": "user_id"}}}})
    body = {"size": MOST_ROWS, "query": {"bool": {"filter": clauses}}, "_source": list(_ASKED)}
    return body | {"track_total_hits": False}
