"""Plain values that the layers hand to each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping

JsonValue = dict[str, Any] | list[Any] | str | int | float | bool | None

Kind = Literal["memory", "entities"]
"""What a collection holds: memories, or the entities that link them."""

Profile = Literal["ik", "smartcn", "jieba", "bigram"]
"""What makes words of Chinese text, best first: a plugin of the server (`ik`, `smartcn`), this process (`jieba`), or
nothing (`bigram`: pairs of characters)."""
PROFILES: tuple[Profile, ...] = get_args(Profile)

Engine = Literal["opensearch", "elasticsearch", "aoss"]
"""Kinds of servers; see `dialects`."""

Version = tuple[int, int, int]
"""Major, minor, patch."""

KnnEngine = Literal["lucene", "faiss"]
KNN_ENGINES: tuple[KnnEngine, ...] = get_args(KnnEngine)

NATIVE_ATTRIBUTE = "knn_native"
"""Node attribute by which our local node says ``"false"``: it lacks the native library that `faiss` needs."""

Refresh = Literal["on_read", "wait_for", "true", "false"]
"""When a write becomes visible to searches; see `StoreConfig.refresh`."""

SCOPE_FIELDS = ("user_id", "agent_id", "run_id", "actor_id", "role")
"""Payload keys that say whose a memory is; each is a keyword field of its own."""

IDENTITY_FIELDS = ("user_id", "agent_id", "run_id")
"""The scope fields that keep one user's memories from another's."""

DATE_FIELDS = ("created_at", "updated_at", "expiration_date", "event_date")
"""Payload keys that are dates; each is a date field of its own."""

UNFILTERED_KEYS = frozenset({"data", "text_lemmatized", "linked_memory_ids"})
"""Payload keys that are no metadata: a memory's text, mem0's form of it, and the links of an entity."""


Outcome = Literal["stored", "skipped", "updated"]
"""What `insert` did with a row; see `StoreConfig.on_duplicate`."""


@dataclass(slots=True)
class Hit:
    """A stored row, as mem0 reads it.

    Attributes:
        id: the memory's id.
        score: cosine in [0, 1] from `search`, raw BM25 (>= 0, unbounded) from `keyword_search`, None where nothing
            was scored.
        payload: the payload exactly as it was given.
        outcome: from `insert`, what happened to the row; None from everything else.
    """

    id: str
    score: float | None = None
    payload: dict[str, Any] = field(default_factory=dict)
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """Everything that decides how an index is made.

    Attributes:
        collection: name of the collection, which is the alias that all reads and writes use.
        kind: memories or entities.
        dims: length of the vectors.
        profile: how Chinese text becomes words.
        engine: the kNN engine.
        shards: primary shards, >= 1.
        replicas: copies of each shard, >= 0.
        dictionary: fingerprint of the dictionaries that words depend on; None where there are none to know of.
        model: name of the embedding model that the vectors come from; None where it was not told.
        index: the index that this was read from; empty for one that is not made yet.
        background: mean and deviation of the cosines that the embedder gives for unrelated texts; None where the index
            does not know them yet, see `fusion.Background`.
    """

    collection: str
    kind: Kind
    dims: int
    profile: Profile
    engine: KnnEngine
    shards: int = 1
    replicas: int = 0
    dictionary: str | None = None
    model: str | None = None
    index: str = field(default="", compare=False)
    background: tuple[float, float] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What the server can do, as found out at bootstrap.

    Attributes:
        distribution: its kind, as it says itself.
        version: major, minor, patch.
        data_nodes: nodes that hold shards, >= 1.
        max_dims: the longest vector that it indexes.
        engines: kNN engines that are safe to use there.
        profiles: analysis profiles that it can run, best first; never empty.
    """

    distribution: Engine
    version: Version
    data_nodes: int
    max_dims: int
    engines: frozenset[KnnEngine]
    profiles: tuple[Profile, ...]


Clause = dict[str, Any]
"""One clause of the query language, as JSON."""


def hit_from(source: Mapping[str, Any], hit_id: str, score: float | None) -> Hit:
    """Return the hit for one row of a response whose source holds `payload`."""
    return Hit(id=hit_id, score=score, payload=source.get("payload") or {})
