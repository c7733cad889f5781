"""English names that a text shows by itself: capitals, titles, and who somebody is to the user."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mem_opensearch.entities import words as known
from mem_opensearch.entities.mentions import EntityMention, EntityType
from mem_opensearch.entities.rules import SOURCE
from mem_opensearch.entities.taggers import HAN

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHORTEST = 2  # letters of a name
_TITLED = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof)\.? (?P<name>[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*)")
_ROLE = re.compile(
    r"\b(?i:my|our) (?:(?:new|old|best|former|ex) ?-?)?"
    r"(?P<role>(?:[a-z]+ )?(?:cousin|brother|sister|mother|father|mom|mum|dad|uncle|aunt|son|daughter|wife|husband|"
    r"girlfriend|boyfriend|partner|fiancée?|nephew|niece|grandmother|grandfather|boss|manager|landlord|landlady|teacher|"
    r"coach|dentist|doctor|lawyer|neighbou?r|roommate|flatmate|colleague|coworker|assistant|professor|tutor|friend|"
    r"therapist|dog|cat))\b"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?\n:\"“(]\s*|[-•*]\s+)$")
_NO_NAME = known.listed(
    "i i'm i've i'd i'll my me we our you your he his she her it its they their this that these those there here",
    "the a an and or but if so as at by for from in into of on to with without after before when while what which",
    "who whose whom where why how is are was were be been do does did has have had can could will would shall should",
    "may might must not no yes ok okay please thanks thank let also then now today tomorrow yesterday just only even",
    "some any all many most much more other another each every both few everything everyone everybody nothing nobody",
    "something someone user assistant memory monday tuesday wednesday thursday friday saturday sunday january",
    "february march april june july august september october november december mr mrs ms dr prof",
)
_ACTS = re.compile(  # after a name at the beginning of a sentence
    r"['’]s\b| (?:is|was|has|had|said|says|told|works?|lives?|likes?|loves?|hates?|wants?|moved|recommended|"
    r"bought|got|went|plays?|gave|knows?|thinks?|owns?|teaches|and [A-Z])\b"
)


def find_titled(text: str) -> Iterator[EntityMention]:
    """Yield names with a title: Wu of Dr. Wu."""
    for hit in _TITLED.finditer(text):
        yield EntityMention(*hit.span("name"), hit.group("name"), EntityType.PERSON, SOURCE)


def find_roles(text: str) -> Iterator[EntityMention]:
    """Yield who somebody is to the user: cousin of "my cousin"."""
    for hit in _ROLE.finditer(text):
        yield EntityMention(*hit.span("role"), hit.group("role"), EntityType.ROLE, SOURCE)


def find_capitalised(text: str) -> Iterator[EntityMention]:
    """Yield names in Latin letters: capitalised words, as many as stand together.

    A word at the beginning of a sentence has its capital from there. It counts where the text is Chinese, where another
    follows, or where what follows it is what a person does.
    """
    chinese = HAN.search(text) is not None
    for hit in known.LATIN_NAME.finditer(text):
        start, end = hit.span()
        words = text[start:end].split(" ")
        while words and words[0].lower() in _NO_NAME:
            start += len(words.pop(0)) + 1
        while words and words[-1].lower() in _NO_NAME:
            end -= len(words.pop()) + 1
        name = re.sub("['’]s$", "", text[start:end])
        if len(name) < _SHORTEST or (any(c.isdigit() for c in name) and " " not in name):
            continue
        first = not chinese and _SENTENCE_START.search(text[:start]) and len(words) == 1
        if first and not name.isupper() and not _ACTS.match(text, start + len(name)):
            continue
        yield EntityMention(start, start + len(name), name, EntityType.NAME, SOURCE)
