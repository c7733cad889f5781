"""Tell the generations of a collection apart: the live one, old ones, and one that a roll has not finished."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mem_opensearch.client.encoding import path_of
from mem_opensearch.errors import IndexStateError
from mem_opensearch.index.names import generation_number, index_name, index_pattern
from mem_opensearch.index.templates import META_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mem_opensearch.client import SearchClient

ROLL_KEY = "roll"
"""Key in the `_meta` of an index that a roll is filling; it is gone when the roll is done."""

_NEEDED = "*.aliases,*.mappings._meta," + ",".join(
    f"*.settings.index.{name}"
    for name in ("uuid", "blocks", "number_of_shards")  # not the analysis, which is long
)


@dataclass(frozen=True, slots=True)
class Generation:
    """One concrete index of a collection.

    Attributes:
        name: its name.
        number: 1 for the first one.
        uuid: the server's own name of it; another one after it was deleted and made again.
        live: whether the collection's alias points to it.
        write_blocked: whether it refuses writes.
        shards: its primary shards.
        aliases: all its aliases.
        meta: what it remembers of how it was made.
    """

    name: str
    number: int
    uuid: str
    live: bool
    write_blocked: bool
    shards: int = 1
    aliases: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def mark(self) -> Mapping[str, Any] | None:
        """What a roll notes about its progress while it fills this index, or None."""
        found = self.meta.get(ROLL_KEY)
        return found if isinstance(found, dict) else None


@dataclass(frozen=True, slots=True)
class Generations:
    """All concrete indices of one collection, in order.

    Attributes:
        collection: name of the collection.
        every: all of them, oldest first.
    """

    collection: str
    every: tuple[Generation, ...]

    @property
    def live(self) -> Generation:
        """The one behind the alias.

        Raises:
            IndexStateError: there is none, or more than one.
        """
        found = [each for each in self.every if each.live]
        if len(found) != 1:
            names = ", ".join(each.name for each in found) or "no index"
            raise IndexStateError(
                f"the alias '{self.collection}' stands for {names}, and a collection is exactly one index; "
                "run: python -m mem_opensearch.init"
            )
        return found[0]

    @property
    def unfinished(self) -> Generation | None:
        """The one that a roll is filling, or was when it was interrupted."""
        live = max((each.number for each in self.every if each.live), default=0)
        # A roll that is killed right after the alias moved leaves its mark on the index that is live from then on.
        marked = [each for each in self.every if each.mark is not None and each.number > live]
        return marked[-1] if marked else None

    @property
    def old(self) -> tuple[Generation, ...]:
        """What rolls have left behind: neither live nor being filled."""
        return tuple(each for each in self.every if not each.live and each is not self.unfinished)

    @property
    def next_name(self) -> str:
        """Name of the index that a roll would make."""
        return index_name(self.collection, max((each.number for each in self.every), default=0) + 1)


def list_generations(client: SearchClient, collection: str) -> Generations:
    """Return the concrete indices of `collection`; nothing is written."""
    answer = client.request(
        "GET",
        path_of(index_pattern(collection)),
        params=client.dialect.only(_NEEDED),
    )
    found = []
    for name, about in answer.items():
        number = generation_number(collection, name)
        if number is None:
            continue
        settings = about["settings"]["index"]
        aliases = tuple(about.get("aliases", {}))
        found.append(
            Generation(
                name=name,
                number=number,
                uuid=settings.get("uuid", name),
                live=collection in aliases,
                shards=int(settings.get("number_of_shards", 1)),
                write_blocked=settings.get("blocks", {}).get("write") == "true",
                aliases=aliases,
                meta=about.get("mappings", {}).get("_meta", {}).get(META_KEY, {}),
            )
        )
    return Generations(collection, tuple(sorted(found, key=lambda each: each.number)))


def set_write_block(client: SearchClient, index: str) -> None:
    """Refuse writes to `index`; when this returns, no write is under way any more."""
    # Not a plain setting: this API answers only when every shard has let its running writes end.
    client.request("PUT", path_of(index, "_block", "write"))


def remove_write_block(client: SearchClient, index: str) -> None:
    """Let `index` take writes again."""
    client.request("PUT", path_of(index, "_settings"), body={"index.blocks.write": None})
