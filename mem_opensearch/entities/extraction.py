"""Find what a text names: by a tagger where one is installed, by rules, and by the user's dictionary."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import TYPE_CHECKING

from mem_opensearch.entities import english, rules
from mem_opensearch.entities import words as known
from mem_opensearch.entities.mentions import EntityMention, EntityType, Word, without_overlaps
from mem_opensearch.entities.taggers import LacTagger, SpacyTagger, Tagger
from mem_opensearch.errors import InvalidInputError
from mem_opensearch.text import fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mem_opensearch.text import UserDictionary

PIPELINES = ("zh_core_web_sm", "en_core_web_sm")
"""spaCy pipelines that are used where they are installed, without being asked for."""

_LONGEST_CHINESE_NAME = 4


def installed_taggers() -> list[Tagger]:
    """Return what is installed here, in the order in which it is asked: LAC, then spaCy. Nothing is loaded yet."""
    lac: list[Tagger] = [LacTagger()] if LacTagger.is_installed() else []
    return [*lac, *(SpacyTagger(name) for name in PIPELINES if SpacyTagger.is_installed(name))]


class Extractor:
    """Finds the entities of texts, in any thread; models are loaded when the first text wants them.

    Args:
        taggers: asked in this order; the first that reads a text's language has the word. None takes those that are
            installed; an empty list leaves rules and dictionary.
        dictionary: the user's words, each of which is a name wherever it stands.
    """

    def __init__(self, *, taggers: Sequence[Tagger] | None = None, dictionary: UserDictionary | None = None) -> None:
        self._taggers = installed_taggers() if taggers is None else list(taggers)
        self._listed = dictionary.words if dictionary else ()

    def extract(self, text: str) -> list[EntityMention]:
        """Return what a text names, in its order; mentions don't overlap, and a name may stand several times.

        Both scripts are read: names are looked for in the folded text, whose offsets are the text's own.

        Raises:
            InvalidInputError: this is no text.
            ConfigError: a tagger's model can't be loaded.

        >>> [mention.name for mention in Extractor(taggers=[]).extract("我在「松間書屋」讀完了《圍城》")]
        ['松間書屋', '圍城']
        """
        if not isinstance(text, str):
            raise InvalidInputError(f"{type(text).__name__} is no text that entities can be found in; give a string")
        folded = fold(text)
        found = without_overlaps(self._found(folded))
        return [
            EntityMention(each.start, each.end, text[each.start : each.end], each.type, each.source) for each in found
        ]

    def warm_up(self) -> threading.Thread:
        """Load the models in a thread of their own, which is returned; texts that come meanwhile wait for it."""
        thread = threading.Thread(target=self._warm_up, name="mem_opensearch-entities", daemon=True)
        thread.start()
        return thread

    def _warm_up(self) -> None:
        for tagger in self._taggers:
            tagger.warm_up()

    def _found(self, folded: str) -> Iterator[EntityMention]:
        """Yield all that is found, what is surest first."""
        yield from sorted(rules.find_listed(folded, self._listed), key=lambda each: each.start - each.end)
        tagged = self._tagged(folded)
        yield from _with_tagged_type(list(rules.find_quoted(folded)), tagged)
        yield from rules.find_codes(folded)
        yield from tagged
        yield from rules.find_introduced(folded)
        yield from rules.find_titled(folded)
        yield from rules.find_roles(folded)
        yield from english.find_titled(folded)
        yield from english.find_roles(folded)
        yield from english.find_capitalised(folded)

    def _tagged(self, folded: str) -> list[EntityMention]:
        for tagger in self._taggers:
            if tagger.reads(folded):
                names = (_without_role(folded, word) for word in tagger.names(folded))
                return [
                    EntityMention(
                        word.start, word.end, folded[word.start : word.end], EntityType(word.tag), tagger.name
                    )
                    for word in names
                    if word.end > word.start
                ]
        return []


def _without_role(folded: str, word: Word) -> Word:
    """Return a person's name without the role that a tagger took for its beginning: 小姑子令狐清; nothing may be left.

    What follows a role and begins with a double surname is a person, whatever the tagger makes of it: 老丈人南宫岭.
    """
    name = folded[word.start : word.end]
    if word.tag == EntityType.PERSON and (role := known.ROLE.match(name)):
        return Word(word.start + role.end(), word.end, word.tag)
    if len(name) <= _LONGEST_CHINESE_NAME and name.startswith(known.DOUBLE_SURNAMES):
        before = known.ROLE_BEFORE.search(folded[: word.start])
        return word.typed(EntityType.PERSON) if before else word
    return word


def _with_tagged_type(quoted: Sequence[EntityMention], tagged: Sequence[EntityMention]) -> Iterator[EntityMention]:
    """Yield what stands in quotes, as a tagger types it where it found just that."""
    types = {(each.start, each.end): each for each in tagged}
    for each in quoted:
        same = types.get((each.start, each.end))
        yield same if same and each.type == EntityType.NAME else each


@lru_cache(maxsize=1)
def default_extractor() -> Extractor:
    """Return the process's extractor: what is installed, and no dictionary."""
    return Extractor()


def extract(text: str) -> list[EntityMention]:
    """Return what a text names, by what is installed here; see `Extractor.extract`."""
    return default_extractor().extract(text)
