"""What is wanted of an index, and what is found of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mem_opensearch.text import load_dictionary

if TYPE_CHECKING:
    from mem_opensearch.config import StoreConfig
    from mem_opensearch.models import IndexSpec, ServerFacts
    from mem_opensearch.text import UserDictionary


@dataclass(frozen=True, slots=True)
class WantedIndex:
    """What a caller wants of an index; None leaves the choice to the server's abilities.

    Attributes:
        collection: name of the collection.
        kind: memories or entities.
        dims: length of the vectors.
        profile: Chinese analysis.
        engine: kNN engine.
        shards: primary shards, used only when the index is made.
        replicas: copies per shard, used only when the index is made.
        dictionary: the user's words.
        model: name of the embedding model; None where it is not told.
    """

    collection: str
    kind: Any
    dims: int
    profile: Any = None
    engine: Any = None
    shards: int = 1
    replicas: int | None = None
    dictionary: UserDictionary | None = None
    model: str | None = None

    @classmethod
    def of(cls, config: StoreConfig) -> WantedIndex:
        """Return what the configuration asks for.

        Raises:
            ConfigError: the dictionary can't be read: names the file and the line.
        """
        return cls(
            collection=config.collection_name,
            kind=config.collection_kind,
            dims=config.embedding_model_dims,
            profile=None if config.analyzer == "auto" else config.analyzer,
            engine=None if config.knn_engine == "auto" else config.knn_engine,
            shards=config.shards,
            replicas=config.replicas,
            dictionary=None if config.dictionary is None else load_dictionary(config.dictionary),
            model=config.embedding_model,
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """What `ensure_index` finds or would do.

    Attributes:
        spec: the index as it is, or as it would be made.
        exists: whether it is there.
        differences: what is not as wanted, one sentence each; empty when all is well.
        facts: what the server can do; None when the index exists and nothing had to be asked.
        notes: what is worth knowing and not wrong, such as old indices that a roll has left.
    """

    spec: IndexSpec
    exists: bool
    differences: tuple[str, ...] = ()
    facts: ServerFacts | None = None
    notes: tuple[str, ...] = ()
