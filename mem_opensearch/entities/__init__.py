"""Which people, places and things a text names, what else they are called, and what a question asks of them.

Pure: nothing here knows a server, a store or mem0. `store.EntityStore` keeps what is found.
"""

from mem_opensearch.entities.aliases import Alias, AliasKind, aliases_of
from mem_opensearch.entities.closeness import EntityRow, closeness
from mem_opensearch.entities.extraction import Extractor, extract, installed_taggers
from mem_opensearch.entities.mentions import EntityMention, EntityType
from mem_opensearch.entities.question import Factored, factor, names_in, possible_names
from mem_opensearch.entities.taggers import LacTagger, SpacyTagger, Tagger

__all__ = [
    "Alias",
    "AliasKind",
    "EntityMention",
    "EntityRow",
    "EntityType",
    "Extractor",
    "Factored",
    "LacTagger",
    "SpacyTagger",
    "Tagger",
    "aliases_of",
    "closeness",
    "extract",
    "factor",
    "installed_taggers",
    "names_in",
    "possible_names",
]
