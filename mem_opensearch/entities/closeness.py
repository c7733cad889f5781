"""Say how closely memories are linked to the names of a question, directly or over one entity between."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Protocol

from mem_opensearch.entities import words as known
from mem_opensearch.text import fold, fold_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ALIAS = 0.9
"""Of a memory that only says another name, or who it is to the user."""
BESIDE = 0.8
"""Of a memory that shares an entity with one that says the name."""
FAN_OUT = 0.1
"""How fast an entity between says less, the more memories name it: 1 / (1 + 0.1 (n - 1))."""
NARROWED = 0.5
"""Share that is left where only one of two roles is narrowed: 老师 and 钢琴老师 may be two people."""


class EntityRow(Protocol):
    """An entity with its links, such as `mem_opensearch.store.entity_rows.Entity`."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def memory_ids(self) -> Sequence[str]:
        """The memories that name it."""

    @property
    def aliases(self) -> Sequence[str]:
        """Its other names, and who it is to the user."""


def closeness(names: Iterable[str], rows: Iterable[EntityRow]) -> dict[str, float]:
    """Return memory id -> closeness in (0, 1], for every memory that is linked to one of the names.

    * 1 where the memory names it;
    * `ALIAS` where it names one of its other names, shared among all entities that are called so;
    * `BESIDE`, less the more memories the entity between has, where it names what stands together with the name in
      another memory.

    The strongest way counts; ways are not added up. A memory that is linked to two names of the question is no closer
    than one that is linked to one: what it says of them is for the words to tell.

    Args:
        names: of the question, see `factor`.
        rows: the user's entities: at least those that have one of the names as name or alias, those named as their
            aliases, and those that share a memory with them. Further ones do no harm.
    """
    entities = list(rows)
    asked = {fold_name(name) for name in names} - {""}
    close: dict[str, float] = {}
    targets = [row for row in entities if fold_name(row.name) in asked]
    others = [row for row in entities if row not in targets and asked & {fold_name(alias) for alias in row.aliases}]
    for row in targets:
        _raise(close, row.memory_ids, 1.0)
    sharing = _sharing(entities)
    for row in others:  # the question says 表弟; what is said of 覃小川 is near
        shares = max(1, *(sharing[alias] for alias in map(fold_name, row.aliases) if alias in asked))
        _raise(close, row.memory_ids, ALIAS / shares)
    named = {memory for row in [*targets, *others] for memory in row.memory_ids}
    called = {fold_name(alias): alias for row in [*targets, *others] for alias in row.aliases}
    for row in entities:
        if fold_name(row.name) in asked or row in others:
            continue
        said = _as_alias(row, called, sharing)
        if said:
            _raise(close, row.memory_ids, said)
        elif named.intersection(row.memory_ids):
            _raise(close, row.memory_ids, BESIDE / (1.0 + FAN_OUT * (len(row.memory_ids) - 1)))
    return close


def _sharing(rows: Sequence[EntityRow]) -> Counter[str]:
    """Return how many entities have each alias."""
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        for alias in row.aliases:
            owners[fold_name(alias)].add(fold_name(row.name))
    return Counter({alias: len(names) for alias, names in owners.items()})


def _as_alias(row: EntityRow, called: Mapping[str, str], sharing: Counter[str]) -> float:
    """Return how close the memories of an entity are whose name is, or may be, one of the aliases."""
    name = fold_name(row.name)
    best = 0.0
    for alias in called:
        best = max(best, ALIAS * same_role(name, alias) / max(1, sharing[alias]))
    return best


def same_role(one: str, other: str) -> float:
    """Return how likely two descriptions of one user mean the same, in [0, 1].

    1 where they are equal or one of them names the office alone (健身教练, 教练), half of it where the one that is
    looked for is the bare one, 0 where both are narrowed in different ways (游泳教练) or the offices differ.

    Args:
        one: as a memory says it.
        other: the alias.

    >>> same_role("教练", "健身教练"), same_role("游泳教练", "健身教练"), same_role("钢琴老师", "老师")
    (1.0, 0.0, 0.5)
    """
    if one == other:
        return 1.0
    first, second = _parted(fold(one)), _parted(fold(other))
    if first is None or second is None or first[1] != second[1]:
        return 0.0
    if not first[0]:
        return 1.0
    if not second[0]:
        return NARROWED
    return float(first[0] in second[0] or second[0] in first[0])


def _parted(role: str) -> tuple[str, str] | None:
    """Return what narrows a role, and the role: 健身, 教练."""
    for hit in known.ROLE.finditer(role):
        if hit.end() == len(role):
            return role[: hit.start()], hit.group()
    return None


def _raise(close: dict[str, float], memory_ids: Iterable[str], value: float) -> None:
    for memory_id in memory_ids:
        close[memory_id] = max(close.get(memory_id, 0.0), value)
