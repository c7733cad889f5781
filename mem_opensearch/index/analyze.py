"""Show what each searched field makes of a text, by the real server's own analysis."""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mem_opensearch.client.encoding import path_of
from mem_opensearch.errors import ConfigError
from mem_opensearch.index.bootstrap import plan_index, read_spec
from mem_opensearch.index.dictionary import dictionary_difference
from mem_opensearch.index.names import PREFIX
from mem_opensearch.index.templates import render_templates
from mem_opensearch.index.wanted import WantedIndex
from mem_opensearch.profiles import TEXT_FIELD, word_field
from mem_opensearch.queries import FIELD_BOOSTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mem_opensearch.client import SearchClient
    from mem_opensearch.models import IndexSpec, Profile
    from mem_opensearch.text import UserDictionary

CODE_FIELDS = ("text.code", "text.joined", "text.mixed")
_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class FieldTokens:
    """What one field makes of a text.

    Attributes:
        field: its name in the mapping.
        made_by: what cuts the text: ``"jieba"`` for words of this process, else the server's tokenizer or analyser.
        tokens: in the order of the text; some fields give a part beside the whole.
    """

    field: str
    made_by: str
    tokens: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextAnalysis:
    """What every searched field makes of a text.

    Attributes:
        text: the text.
        collection: the collection whose index was asked; None if one was made for the purpose.
        profile: its analysis profile.
        fields: one entry per field, the words first.
        identifiers: tokens of the identifier fields that hold a digit, each once.
        warnings: what makes the answer less than sure, one sentence each.
    """

    text: str
    collection: str | None
    profile: Profile
    fields: tuple[FieldTokens, ...]
    identifiers: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the analysis as JSON values."""
        return {
            "text": self.text,
            "collection": self.collection,
            "analyzer": self.profile,
            "fields": [
                {"field": each.field, "made_by": each.made_by, "tokens": list(each.tokens)} for each in self.fields
            ],
            "identifiers": list(self.identifiers),
            "warnings": list(self.warnings),
        }


def analyse_text(
    client: SearchClient,
    text: str,
    *,
    collection: str | None = None,
    profile: Profile | None = None,
    dictionary: UserDictionary | None = None,
) -> TextAnalysis:
    """Return the tokens of every field that a search by words looks in.

    Args:
        client: the server.
        text: any text.
        collection: whose index is asked; without it, one with no rows is made and removed again.
        profile: profile of the index that is made; by default the best that the server can do.
        dictionary: the user's words.

    Raises:
        ConfigError: the collection does not exist, or the server can't do what was asked for.
        IndexStateError: the name belongs to something that this package did not make.
        BackendError: the server failed.
    """
    if collection is None:
        wanted = WantedIndex(
            f"{PREFIX}-analyze-{uuid.uuid4().hex}", kind="memory", dims=1, profile=profile, dictionary=dictionary
        )
        spec = plan_index(client, wanted).spec
        with _throw_away_index(client, spec) as index:
            return _ask(client, index, text, spec=spec, collection=None, dictionary=dictionary)
    if profile is not None:
        raise ConfigError("an existing collection has its own analyzer; give either a collection or an analyzer")
    found = read_spec(client, collection)
    if found is None:
        raise ConfigError(
            f"collection '{collection}' does not exist; make it with: python -m mem_opensearch.init --collection "
            f"{collection}, or leave it out"
        )
    return _ask(client, collection, text, spec=found[0], collection=collection, dictionary=dictionary)


@contextmanager
def _throw_away_index(client: SearchClient, spec: IndexSpec) -> Iterator[str]:
    """Make an index with the analysis and the fields of the templates, and remove it whatever happens."""
    template = render_templates(spec, client.dialect).component["template"]
    settings = template["settings"]
    if client.dialect.has_cluster:
        settings = settings | {"number_of_shards": 1, "number_of_replicas": 0}
    index = spec.collection
    try:
        client.request("PUT", path_of(index), body={"settings": settings, "mappings": template["mappings"]})
        yield index
    finally:
        client.request("DELETE", path_of(index), accept=(_NOT_FOUND,))


def _ask(
    client: SearchClient,
    index: str,
    text: str,
    *,
    spec: IndexSpec,
    collection: str | None,
    dictionary: UserDictionary | None,
) -> TextAnalysis:
    words = word_field(spec.profile, dictionary)

    def tokens_of(field: str, given: str) -> tuple[str, ...]:
        answer = client.request("POST", path_of(index, "_analyze"), body={"field": field, "text": given})
        return tuple(token["token"] for token in answer["tokens"])

    fields = []
    for name in FIELD_BOOSTS:
        if name == TEXT_FIELD:
            made_by = spec.profile if words.client_side else words.tokenizer
            fields.append(FieldTokens(words.field, made_by, tokens_of(words.field, words.analysed(text))))
        else:
            fields.append(FieldTokens(name, name.removeprefix(f"{TEXT_FIELD}."), tokens_of(name, text)))
    codes = (token for each in fields if each.field in CODE_FIELDS for token in each.tokens)
    changed = dictionary_difference(spec, dictionary) if collection else None
    return TextAnalysis(
        text=text,
        collection=collection,
        profile=spec.profile,
        fields=tuple(fields),
        identifiers=tuple(dict.fromkeys(code for code in codes if any(letter.isdigit() for letter in code))),
        warnings=(changed,) if changed else (),
    )
