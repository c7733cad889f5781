"""Hold an index and a server against the dictionaries that words depend on.

With the profile `jieba` the words are made where the writer and the reader run, so all of them have to cut alike:

* a *writer* with other dictionaries than the index was made with is refused: its words would stand among the others,
  nothing could tell them apart, and the fingerprint in `_meta` would no longer be true;
* a *reader* is warned: it may miss some words in its own answers, the other fields still find them, and nothing is
  spoilt.

With `ik` the server makes the words on both sides. A changed dictionary then counts for texts that are stored from
then on; it is reported by ``init --check`` where the configuration names a dictionary, and stops nobody.

A dictionary for an index whose profile has no use for one is refused like any option without effect.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mem_opensearch.errors import ConfigError, IndexStateError
from mem_opensearch.profiles import takes_dictionary, word_field

if TYPE_CHECKING:
    from mem_opensearch.client import SearchClient
    from mem_opensearch.index.wanted import WantedIndex
    from mem_opensearch.models import IndexSpec, ServerFacts
    from mem_opensearch.text import UserDictionary

_BATCH = 200  # words of one `_analyze`, which gives 10,000 tokens at most
_NAMED = 5  # words that a message names


def dictionary_difference(spec: IndexSpec, dictionary: UserDictionary | None) -> str | None:
    """Return a sentence if the index's words come from other dictionaries than the configuration's, else None."""
    words = word_field(spec.profile, dictionary)
    if not takes_dictionary(spec.profile) or words.fingerprint == spec.dictionary:
        return None
    if dictionary is None and not words.client_side:
        return None
    return (
        f"index '{spec.collection}' was made with another dictionary (fingerprint {spec.dictionary or 'none'}, the "
        f"configuration's is {words.fingerprint}); give the dictionary that it was made with, or analyse its texts "
        f"anew with: python -m mem_opensearch.init --roll --collection {spec.collection}"
    )


def useless_dictionary(spec: IndexSpec, dictionary: UserDictionary | None) -> str | None:
    """Return a sentence if the index's profile can't use the user's words, else None."""
    if dictionary is None or takes_dictionary(spec.profile):
        return None
    return (
        f"index '{spec.collection}' is analysed by '{spec.profile}', where a dictionary has no effect; leave "
        "dictionary out, or analyse the texts anew with: python -m mem_opensearch.init --roll --analyzer jieba "
        f"--collection {spec.collection}"
    )


def refuse_other_dictionary(spec: IndexSpec, dictionary: UserDictionary | None) -> None:
    """Refuse a writer whose words would differ from those in the index; see the top of this file.

    Raises:
        IndexStateError: says what to do.
    """
    difference = dictionary_difference(spec, dictionary)
    if difference is not None and word_field(spec.profile, dictionary).client_side:
        raise IndexStateError(f"nothing was written: {difference}")


def unknown_words(client: SearchClient, dictionary: UserDictionary) -> list[str]:
    """Return the user's words that the server's IK does not keep whole."""
    unknown = []
    tokenizer = word_field("ik").tokenizer
    for start in range(0, len(dictionary.words), _BATCH):
        batch = dictionary.words[start : start + _BATCH]
        answer = client.request("POST", "/_analyze", body={"tokenizer": tokenizer, "text": "\n".join(batch)})
        known = {token["token"] for token in answer["tokens"]}
        unknown += [word for word in batch if word not in known]
    return unknown


def unknown_sentence(unknown: list[str]) -> str:
    """Return what is wrong when the server's IK lacks words of the dictionary."""
    named = ", ".join(unknown[:_NAMED]) + (", ..." if len(unknown) > _NAMED else "")
    return (
        f"the server's IK does not know {len(unknown)} of the dictionary's words ({named}); add them to its user "
        "dictionary and restart it (a local node takes them when it starts), or use analyzer=jieba"
    )


def refuse_useless_dictionary(wanted: WantedIndex) -> None:
    """Refuse the user's words for a profile that can't use them.

    Raises:
        ConfigError: says which can.
    """
    if wanted.dictionary is not None and wanted.profile is not None and not takes_dictionary(wanted.profile):
        raise ConfigError(
            f"a dictionary has no effect with analyzer '{wanted.profile}'; leave it out, or use ik or jieba"
        )


def fit_to_dictionary(client: SearchClient, facts: ServerFacts, wanted: WantedIndex) -> ServerFacts:
    """Return the facts with those profiles only that know the user's words; without any words, all stay.

    Raises:
        ConfigError: the profile asked for does not know them.
    """
    refuse_useless_dictionary(wanted)
    if wanted.dictionary is None:
        return facts
    usable = [name for name in facts.profiles if takes_dictionary(name)]
    if "ik" in usable and wanted.profile in {None, "ik"} and (unknown := unknown_words(client, wanted.dictionary)):
        if wanted.profile == "ik":
            raise ConfigError(unknown_sentence(unknown))
        usable.remove("ik")
    return replace(facts, profiles=tuple(usable))
