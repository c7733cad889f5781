"""Name, build and change the rows of an entity collection: one row for each scope, type and folded name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from mem_opensearch.client.encoding import encode_lines
from mem_opensearch.errors import InvalidInputError, ScopeError
from mem_opensearch.filters import MAX_STRING
from mem_opensearch.models import IDENTITY_FIELDS
from mem_opensearch.store import documents
from mem_opensearch.store.bulk import Line
from mem_opensearch.text import fold_name

if TYPE_CHECKING:
    from mem_opensearch.models import Clause, Hit

Scope = Mapping[str, str]
"""Whose an entity is: one or more of `user_id`, `agent_id` and `run_id`."""

NAME_KEY, TYPE_KEY = documents.TEXT_KEY, "entity_type"
LINKS_KEY, ALIASES_KEY = documents.LINKS_KEY, documents.ALIASES_KEY
RETRY_ON_CONFLICT = 100
"""Times that the server runs a script again because somebody else has changed the row meanwhile. Somebody gets through
at every conflict, and as many write at once as the server has threads for it, so a hundred is not reached."""


@dataclass(frozen=True, slots=True)
class Entity:
    """One row of an entity collection.

    Attributes:
        name: as it was first written.
        scope: whose it is.
        type: what it is, such as ``"company"``; empty where it was not told.
        memory_ids: the memories that name it, each once, in the order in which they were linked.
        aliases: its other names, as they were written.
        score: cosine in [0, 1] from `find_similar`, else None.
    """

    name: str
    scope: Scope
    type: str = ""
    memory_ids: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    score: float | None = field(default=None, compare=False)

    @property
    def id(self) -> str:
        """The `_id` of its row."""
        return entity_id(self.name, self.scope, self.type)


@dataclass(frozen=True, slots=True)
class Link:
    """An entity that a memory names.

    Attributes:
        entity: its name.
        memory_id: the memory's id.
        scope: whose both of them are.
        entity_type: what it is.
        vector: the vector of its name; used by the first link that has one.
        beside: the other names of the memory, by which a question for one of them finds this entity too. They are not
            taken back when the memory goes: what is found by them counts by the links only.
    """

    entity: str
    memory_id: str
    scope: Scope
    entity_type: str = ""
    vector: Any = field(default=None, compare=False, repr=False)
    beside: Sequence[str] = field(default=(), compare=False, repr=False)

    @property
    def row_id(self) -> str:
        """The `_id` of the entity's row."""
        return entity_id(self.entity, self.scope, self.entity_type)

    def payload(self) -> dict[str, Any]:
        """Return the payload of a row that has this link only, with the keys that mem0 uses."""
        links = {TYPE_KEY: self.entity_type, LINKS_KEY: [self.memory_id]}
        return {NAME_KEY: self.entity, **links, **check_scope(self.scope)}


def check_scope(scope: object) -> dict[str, str]:
    """Return a scope that names its owner.

    Raises:
        ScopeError: no identity, a wild one, or a key that is none.
    """
    if not isinstance(scope, Mapping) or not scope:
        raise ScopeError(f"an entity belongs to a scope: give one or more of {', '.join(IDENTITY_FIELDS)}")
    for key, value in scope.items():
        if key not in IDENTITY_FIELDS:
            raise ScopeError(f"'{key}' does not say whose an entity is; the scope takes {', '.join(IDENTITY_FIELDS)}")
        if not isinstance(value, str) or not value or value == "*":
            raise ScopeError(f"'{key}' is {value!r}: a scope identity is a non-empty string and no wildcard")
        if len(value) > MAX_STRING:
            raise ScopeError(f"'{key}' has {len(value)} characters; at most {MAX_STRING} are indexed")
    return {key: scope[key] for key in IDENTITY_FIELDS if key in scope}


def scope_of(payload: Mapping[str, Any]) -> dict[str, str]:
    """Return the scope that a payload names; see `check_scope`."""
    return check_scope({key: payload[key] for key in IDENTITY_FIELDS if payload.get(key) is not None})


def scope_clauses(scope: Scope, *, entity_type: str | None = None) -> list[Clause]:
    """Return the clauses for rows of a scope, and of narrower ones within it; of one type where that is given."""
    clauses: list[Clause] = [{"term": {key: value}} for key, value in check_scope(scope).items()]
    return clauses if entity_type is None else [*clauses, {"term": {"type": check_type(entity_type)}}]


def check_name(name: object) -> str:
    """Return the folded form of a name; names are memory text, so the message does not quote it.

    Raises:
        InvalidInputError: not a string, blank, or too long.
    """
    if not isinstance(name, str) or not (folded := fold_name(name)):
        kind = "blank" if isinstance(name, str) else type(name).__name__
        raise InvalidInputError(f"the name of an entity is {kind}; give a string that is not blank")
    if len(folded) > MAX_STRING:
        raise InvalidInputError(f"the name of an entity has {len(folded)} characters; at most {MAX_STRING} are indexed")
    return folded


def check_type(entity_type: object) -> str:
    """Return an entity's type, or refuse what is no string."""
    if not isinstance(entity_type, str) or len(entity_type) > MAX_STRING:
        raise InvalidInputError(f"the type of an entity is a string of at most {MAX_STRING} characters, or empty")
    return entity_type


def check_ids(ids: object) -> list[str]:
    """Return memory ids, each once.

    Raises:
        InvalidInputError: no list, or one of them is no id.
    """
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise InvalidInputError(f"memories are given as a list of ids, not {type(ids).__name__}")
    return list(dict.fromkeys(documents.check_id(each) for each in ids))


def entity_id(name: str, scope: Scope, entity_type: str = "") -> str:
    """Return the `_id` of the one row for a scope, a type and a name.

    >>> entity_id("臺北", {"user_id": "u1"}) == entity_id("台北", {"user_id": "u1"})
    True
    >>> entity_id("小米", {"user_id": "u1"}, "cat") == entity_id("小米", {"user_id": "u1"}, "company")
    False

    Raises:
        ScopeError, InvalidInputError: the scope or the name is none.
    """
    whose = check_scope(scope)
    parts = [*(whose.get(key) for key in IDENTITY_FIELDS), check_type(entity_type), check_name(name)]
    try:
        return hashlib.blake2b(orjson.dumps(parts), digest_size=16).hexdigest()
    except TypeError as error:  # a lone surrogate
        raise InvalidInputError(f"an entity's name, type or scope can't be written as JSON: {error}") from None


def build_entity_row(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row for a payload, under the id that it must have and without a vector.

    Raises:
        ScopeError, InvalidInputError: the payload names no owner or no entity, or can't be stored.
    """
    row_id = entity_id(payload.get(NAME_KEY), scope_of(payload), payload.get(TYPE_KEY) or "")  # type: ignore[arg-type] # checked there
    links = check_ids(payload.get(LINKS_KEY) or [])
    return documents.build_row({**payload, LINKS_KEY: links}, kind="entities", row_id=row_id)


def gather(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return id -> row, where rows of one entity are made one: their links in the order given, the first vector."""
    gathered: dict[str, dict[str, Any]] = {}
    for row in rows:
        first = gathered.setdefault(row["id"], row)
        if first is row:
            continue
        links = list(dict.fromkeys([*first["memory_ids"], *row["memory_ids"]]))
        first["memory_ids"] = first["payload"][LINKS_KEY] = links
        if beside := list(dict.fromkeys([*first.get("beside", ()), *row.get("beside", ())])):
            first["beside"] = beside[-MOST_BESIDE:]
        if "vector" in row:
            first.setdefault("vector", row["vector"])
    return gathered


MOST_BESIDE = 200
"""Names beside an entity that are kept, the latest: one that stands beside more is no way from one to another."""

_LINKS_SCRIPT = """
if (ctx.op == 'create') { ctx._source.putAll(params.row); return; }
def add = params.row == null ? params.add : params.row.memory_ids;
def vector = params.row == null ? params.vector : params.row.vector;
def before = ctx._source.memory_ids == null ? new ArrayList() : ctx._source.memory_ids;
def links = new ArrayList();
def seen = new HashSet();
if (!params.only) {
  for (def id : before) {
    if (!params.remove.containsKey(id) && !seen.contains(id)) { seen.add(id); links.add(id); }
  }
}
for (def id : add) {
  if (!seen.contains(id)) { seen.add(id); links.add(id); }
}
if (links.isEmpty() && !before.isEmpty()) { ctx.op = 'delete'; return; }
boolean same = links == before;
if (params.row != null && params.row.beside != null) {
  def beside = ctx._source.beside == null ? new ArrayList() : ctx._source.beside;
  for (def name : params.row.beside) {
    if (!beside.contains(name)) { beside.add(name); same = false; }
  }
  while (beside.size() > params.most_beside) { beside.remove(0); }
  ctx._source.beside = beside;
}
if (vector != null && (ctx._source.vector == null || params.row == null)) { ctx._source.vector = vector; same = false; }
if (same) { ctx.op = params.unchanged; return; }
ctx._source.memory_ids = links;
ctx._source.payload.linked_memory_ids = ctx._source.memory_ids;
"""
_ALIASES_SCRIPT = """
if (ctx.op == 'create') { ctx.op = 'none'; return; }
def folded = ctx._source.aliases == null ? new ArrayList() : ctx._source.aliases;
def given = ctx._source.payload.aliases == null ? new ArrayList() : ctx._source.payload.aliases;
boolean same = true;
for (int i = folded.size() - 1; i >= 0; i--) {
  if (params.remove.contains(folded.get(i))) { folded.remove(i); given.remove(i); same = false; }
}
for (int i = 0; i < params.folded.size(); i++) {
  def name = params.folded.get(i);
  if (folded.contains(name) || name == ctx._source.name_folded) { continue; }
  folded.add(name); given.add(params.given.get(i)); same = false;
}
if (same) { ctx.op = 'none'; return; }
ctx._source.aliases = folded;
ctx._source.payload.aliases = given;
"""


def link_line(row: Mapping[str, Any]) -> Line:
    """Return the bulk item that adds a row's links to those that are stored, or stores the row if there is none."""
    params = {"row": row, "remove": {}, "only": False, "unchanged": "none", "most_beside": MOST_BESIDE}
    body = {"scripted_upsert": True, "upsert": {}, "script": _script(_LINKS_SCRIPT, params)}
    action = {"update": {"_id": row["id"], "retry_on_conflict": RETRY_ON_CONFLICT}}
    return Line(row["id"], encode_lines([action, body]))


def links_change(
    *,
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
    only: bool = False,
    vector: Any = None,  # noqa: ANN401 - list, array or None
    many: bool = False,
) -> dict[str, Any]:
    """Return the script that changes a row's links, and deletes the row if none is left.

    Args:
        add: ids to add.
        remove: ids to remove, before that.
        only: `add` is all that shall be left.
        vector: the new vector; the old one stays when not given.
        many: for `_update_by_query`, which has its own word for a row that stays as it is.
    """
    params = {"add": list(add), "remove": dict.fromkeys(remove, True), "only": only, "vector": vector}
    return _script(_LINKS_SCRIPT, params | {"unchanged": "noop" if many else "none"})


def aliases_change(*, add: Sequence[str] = (), remove: Sequence[str] = ()) -> dict[str, Any]:
    """Return the script that adds and removes names; one that folds to a name which is there adds nothing."""
    params = {"folded": [check_name(name) for name in add], "given": list(add)}
    return _script(_ALIASES_SCRIPT, params | {"remove": [check_name(name) for name in remove]})


def aliases_line(row_id: str, names: Sequence[str]) -> Line:
    """Return the bulk item that adds names to a row; without effect where there is none."""
    body = {"scripted_upsert": True, "upsert": {}, "script": aliases_change(add=names)}
    action = {"update": {"_id": row_id, "retry_on_conflict": RETRY_ON_CONFLICT}}
    return Line(row_id, encode_lines([action, body]))


def entity_from(hit: Hit) -> Entity:
    """Return the entity that a row holds."""
    payload = hit.payload
    return Entity(
        name=payload[NAME_KEY],
        scope={key: payload[key] for key in IDENTITY_FIELDS if payload.get(key) is not None},
        type=payload.get(TYPE_KEY) or "",
        memory_ids=tuple(payload.get(LINKS_KEY) or ()),
        aliases=tuple(payload.get(ALIASES_KEY) or ()),
        score=hit.score,
    )


def _script(source: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"lang": "painless", "source": source, "params": dict(params)}
