"""What an entity is, and where a text names it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class EntityType(StrEnum):
    """What kind of thing a name stands for."""

    PERSON = "person"
    PLACE = "place"
    ORGANISATION = "organisation"
    WORK = "work"
    """A book, film or song: what stands in 《》, or what a tagger says is one."""
    CODE = "code"
    """An identifier such as PX-441."""
    NAME = "name"
    """A name of something that nothing here can tell: quoted, capitalised, or of the user's dictionary."""
    ROLE = "role"
    """Who somebody is to the user, by kinship or office: 表弟, 房东, my landlord. Not a name, but a bridge to one."""


@dataclass(frozen=True, slots=True, order=True)
class EntityMention:
    """One place where a text names an entity.

    Attributes:
        start: of the name in the text, in code points.
        end: of the name, exclusive.
        name: as it stands in the text: `text[start:end]`.
        type: what it is.
        source: what found it: ``lac``, ``spacy``, ``dictionary`` or ``rules``.
    """

    start: int
    end: int
    name: str
    type: EntityType
    source: str


@dataclass(frozen=True, slots=True)
class Word:
    """A word as a tagger cut it.

    Attributes:
        start: in the text, in code points.
        end: exclusive.
        tag: an `EntityType` for a name; otherwise the tagger's own part of speech.
    """

    start: int
    end: int
    tag: str

    def typed(self, tag: str) -> Word:
        """Return the same word with another tag."""
        return replace(self, tag=tag)


def without_overlaps(mentions: Iterable[EntityMention]) -> list[EntityMention]:
    """Return the mentions in the text's order, of those that overlap only the first given.

    >>> long = EntityMention(0, 5, "大安區公所", EntityType.PLACE, "lac")
    >>> short = EntityMention(0, 2, "大安", EntityType.PLACE, "lac")
    >>> [mention.end for mention in without_overlaps([long, short])]
    [5]
    """
    kept: list[EntityMention] = []
    taken: set[int] = set()
    for mention in mentions:
        places = range(mention.start, mention.end)
        if taken.isdisjoint(places):
            kept.append(mention)
            taken.update(places)
    return sorted(kept)
