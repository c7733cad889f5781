"""Link memories to what they name: what they are said to name, what is found in them, and names known before."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.entities import EntityType, aliases_of, names_in, possible_names
from mem_opensearch.entities.extraction import default_extractor
from mem_opensearch.errors import InvalidInputError
from mem_opensearch.filters import MAX_STRING
from mem_opensearch.models import IDENTITY_FIELDS
from mem_opensearch.store import documents
from mem_opensearch.store import entity_rows as rows
from mem_opensearch.store.entity_rows import Link, Scope
from mem_opensearch.store.naming import OtherNames, owner_of
from mem_opensearch.text import fold, fold_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mem_opensearch.entities import Alias, Extractor
    from mem_opensearch.store.entities import EntityStore
    from mem_opensearch.store.naming import NamedRow

UNTOLD: Final = ("", str(EntityType.NAME))
"""Types that say nothing of what an entity is: of explicit names, and of what is quoted or capitalised."""

_QUOTES = "「」『』《》〈〉“”‘’\"' \t\r\n\u3000"
_Key = tuple[tuple[str, str], ...]  # a scope


@dataclass(frozen=True, slots=True)
class MemoryText:
    """A memory to be linked.

    Attributes:
        id: the memory's id.
        text: what it says.
        scope: whose it is: one or more of `user_id`, `agent_id` and `run_id`.
        names: what it is said to name, such as the `entities` of its metadata.
    """

    id: str
    text: str
    scope: Scope
    names: Sequence[str] = ()

    @classmethod
    def of(cls, memory_id: str, payload: Mapping[str, Any]) -> MemoryText:
        """Return what a payload says: ``data``, the identity keys, and ``entities``, a name or a list of names.

        Of ``entities``, what can't be the name of an entity is left out: metadata are the caller's own.

        >>> MemoryText.of("m1", {"data": "她來了", "user_id": "lin", "entities": ["林小满", "", 7]}).names
        ['林小满']
        """
        given = payload.get("entities") or []
        several = given if isinstance(given, list | tuple) else [given]
        names = [name for name in several if isinstance(name, str) and _is_indexed(name.strip(_QUOTES))]
        scope = {key: payload[key] for key in IDENTITY_FIELDS if payload.get(key) is not None}
        return cls(memory_id, payload.get(documents.TEXT_KEY) or "", scope, names)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one memory says: names with types, other names, all that might be a name, and where its roles stand."""

    memory_id: str
    scope: Mapping[str, str]
    text: str
    names: Sequence[tuple[str, str]]
    aliases: Sequence[Alias]
    possible: frozenset[str]
    roles: Sequence[tuple[int, int]]


class EntityLinker:
    """Links memories to entities, for many writers at once; see `link`.

    Args:
        entities: where the links are kept.
        extractor: finds names in texts; what is installed here when not given, see `entities.Extractor`.
        embed: makes vectors of names; that of `entities` when not given.
    """

    def __init__(
        self,
        entities: EntityStore,
        *,
        extractor: Extractor | None = None,
        embed: Callable[[Sequence[str]], Any] | None = None,
    ) -> None:
        self._entities = entities
        self._extractor = extractor
        self._embed = embed

    def link(self, memories: Iterable[MemoryText]) -> None:
        """Link each memory to all that it names; once more changes nothing.

        A memory names

        * what its `names` say,
        * what the extractor finds in its text, roles such as 表弟 included,
        * both names where its text gives something another name (表弟覃小川), which also becomes an alias,
        * and every name or alias that its user's entities have by then, other memories of this call included, wherever
          the text says it. Memories that were linked before are not read again for a name that is new.

        Links are only added. For a text that has changed, call `EntityStore.unlink_memories` first.

        Whatever the number of memories and scopes, there is one request that looks names up, one for links and one for
        aliases, or a few where there are tens of thousands.

        Raises:
            InvalidInputError, ScopeError: a memory is none; nothing was sent.
            PartialWriteError: some links are stored; the same call again stores the others.
            BackendError: nothing was stored.
        """
        readings = [self._read(memory) for memory in memories]
        if not readings:
            return
        known = _Known(readings, self._look_up(readings))
        links: dict[tuple[str, str], Link] = {}
        others: list[OtherNames] = []
        for reading in readings:
            named = [*reading.names, *known.said_in(reading)]
            folded = list(dict.fromkeys(fold_name(name) for name, _ in named))
            for name, told in named:
                entity_type = known.type_of(name, told, reading.scope)
                beside = [each for each in folded if each != fold_name(name)]
                link = Link(name, reading.memory_id, reading.scope, entity_type, beside=beside)
                links.setdefault((link.row_id, link.memory_id), link)
            others += [
                OtherNames(each.name, [each.alias], reading.scope, known.type_of(each.name, "", reading.scope))
                for each in reading.aliases
            ]
        self._entities.link_many(self._with_vectors(list(links.values())))
        self._entities.add_aliases_many(others)

    def _read(self, memory: MemoryText) -> _Reading:
        memory_id, scope = documents.check_id(memory.id), rows.check_scope(memory.scope)
        if isinstance(memory.names, str):
            raise InvalidInputError(f"the names of memory '{memory_id}' are a string; give a list of names")
        explicit = [_unquoted(name, memory_id) for name in memory.names]
        mentions = (self._extractor or default_extractor()).extract(memory.text)
        aliases = [
            each for each in aliases_of(memory.text, mentions) if _is_indexed(each.name) and _is_indexed(each.alias)
        ]
        names = [
            *((name, "") for name in explicit),
            *((each.name, str(each.type)) for each in mentions if _is_indexed(each.name)),
            *((name, "") for each in aliases for name in (each.name, each.alias)),
        ]
        possible = frozenset(possible_names(memory.text, most=None))
        roles = [(each.start, each.end) for each in mentions if each.type == EntityType.ROLE]
        return _Reading(memory_id, scope, memory.text, names, aliases, possible, roles)

    def _look_up(self, readings: Sequence[_Reading]) -> list[NamedRow]:
        """Return the rows of everything that is, or may be, a name in these memories."""
        asked: defaultdict[_Key, set[str]] = defaultdict(set)
        for reading in readings:
            names = asked[_key(owner_of(reading.scope))]
            names.update(reading.possible, (fold_name(name) for name, _ in reading.names))
        return self._entities.find_names((dict(owner), sorted(names)) for owner, names in asked.items() if names)

    def _with_vectors(self, links: Sequence[Link]) -> Sequence[Link]:
        if self._embed is None or not links:
            return links
        names = list(dict.fromkeys(link.entity for link in links))
        vectors = dict(zip(names, self._embed([fold(name) for name in names]), strict=True))
        return [replace(link, vector=vectors[link.entity]) for link in links]


class _Known:
    """The names that a user's entities have, before a call or by it, and the types of their rows."""

    def __init__(self, readings: Sequence[_Reading], stored: Sequence[NamedRow]) -> None:
        self._names: defaultdict[_Key, set[str]] = defaultdict(set)
        self._types: defaultdict[tuple[_Key, str], set[str]] = defaultdict(set)
        for row in stored:
            self._names[_key(owner_of(row.scope))].update((row.name, *row.aliases))
            self._types[_key(row.scope), row.name].add(row.type)
        for reading in readings:
            self._names[_key(owner_of(reading.scope))].update(fold_name(name) for name, _ in reading.names)
            for name, told in reading.names:
                if told not in UNTOLD:  # before what is untold, which then joins it, whichever memory comes first
                    self.type_of(name, told, reading.scope)

    def said_in(self, reading: _Reading) -> list[tuple[str, str]]:
        """Return the further known names that a text says, as it says them, with the type that nothing tells.

        What a longer name or role ends with is not said: 游泳教练 is not the 教练. What it narrows itself by is said:
        面馆老板 says 面馆.
        """
        own = {fold_name(name) for name, _ in reading.names}
        names = own | self._names[_key(owner_of(reading.scope))] & reading.possible
        names -= {fold_name(reading.text[start:end]) for start, end in reading.roles}
        said = [
            reading.text[start:end]
            for start, end in names_in(reading.text, names)
            if not any(first < start and end == last for first, last in reading.roles)
        ]
        return [(name, "") for name in said if fold_name(name) not in own]

    def type_of(self, name: str, told: str, scope: Mapping[str, str]) -> str:
        """Return the type of the row that a name goes to: that of a row which is there, if it fits, or the told one.

        One name is one row unless two rows are told apart: 小米 the cat and 小米 the company stay two. What is not told
        to be anything (an explicit name, a quoted one) goes to the row that there is, and what is told goes to a row
        that is not. So 盛怀瑾, explicit in one memory and found to be a person in another, is one row, and so are the
        names that a tagger knows at one place only. Which row it is matters little to a search, which asks by name and
        gets them all. Two writers that are the first at the same time may make two rows; neither loses a link.
        """
        there = self._types[_key(scope), fold_name(name)]
        untold = [each for each in UNTOLD if each in there]
        if told in there:
            return told
        if untold:
            return untold[0]
        if there and told in UNTOLD:
            return min(there)
        there.add(told)
        return told


def _key(scope: Mapping[str, str]) -> _Key:
    return tuple(sorted(scope.items()))


def _is_indexed(name: str) -> bool:
    """Return whether a name that stands in a text can be one of an entity: a page in quotes can't."""
    return 0 < len(fold_name(name)) <= MAX_STRING


def _unquoted(name: object, memory_id: str) -> str:
    """Return an explicit name without the quotes around it: 《围城》 is found as 围城 in a text.

    Raises:
        InvalidInputError: it is no string, or blank.
    """
    if not isinstance(name, str) or not (bare := name.strip(_QUOTES)):
        kind = "blank" if isinstance(name, str) else type(name).__name__
        raise InvalidInputError(f"a name of memory '{memory_id}' is {kind}; give strings that are not blank")
    rows.check_name(bare)
    return bare
