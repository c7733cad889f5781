"""Look at a collection as a whole: counts, analyser, lengths of vectors, whose memories there are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.client.encoding import path_of
from mem_opensearch.models import IDENTITY_FIELDS
from mem_opensearch.search.doctor import Finding, examine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.embed import Embedder
    from mem_opensearch.store import EntityStore, OpenSearchVectorStore

SAMPLE: Final = 500
"""Vectors whose lengths are looked at."""
BINS: Final = 20
_ROOM: Final = 1.1
OWNERS: Final = 20
"""Owners that are named, those with most memories."""


@dataclass(frozen=True, slots=True)
class Bin:
    """How many vectors have a length from `low` to `high`."""

    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class Owners:
    """How many memories whose are.

    Attributes:
        field: "user_id", "agent_id" or "run_id".
        counts: (id, memories), most first, at most `OWNERS`.
        others: memories of further owners.
        nobody: memories that have none.
    """

    field: str
    counts: Sequence[tuple[str, int]]
    others: int
    nobody: int


@dataclass(frozen=True, slots=True)
class Health:
    """What a collection is like.

    Attributes:
        memories: as `store.col_info` says.
        entities: the same of its entities.
        norms: lengths of some vectors; empty where there is none.
        sampled: how many vectors that is.
        owners: by each kind of owner.
        findings: what `search.doctor.examine` found.
    """

    memories: Mapping[str, Any]
    entities: Mapping[str, Any]
    norms: Sequence[Bin]
    sampled: int
    owners: Sequence[Owners]
    findings: Sequence[Finding]


def health_of(store: OpenSearchVectorStore, entities: EntityStore, embedder: Embedder | None) -> Health:
    """Look at a collection. Of memories it returns counts and the ids of their owners, no text.

    Raises:
        BackendError, IndexStateError: the server failed, or the index is not as wanted.
    """
    lengths = [math.hypot(*vector) for _, vector in store.sample_vectors(SAMPLE) if vector is not None]
    return Health(
        memories=store.col_info(),
        entities=entities.col_info(),
        norms=bins_of(lengths),
        sampled=len(lengths),
        owners=_owners(store) if store.spec() else (),
        findings=examine(store, embedder),
    )


def bins_of(lengths: Sequence[float]) -> list[Bin]:
    """Return `BINS` bins of one width from 0 to a little more than the longest, so that a broken 0 stands apart.

    >>> [(round(each.low, 2), each.count) for each in bins_of([0.0, 1.0, 1.0]) if each.count]
    [(0.0, 1), (0.99, 2)]
    """
    width = _ROOM * max(lengths, default=0.0) / BINS or 1.0 / BINS
    counts = [0] * BINS
    for length in lengths:
        counts[min(BINS - 1, int(length / width))] += 1
    return [Bin(number * width, (number + 1) * width, count) for number, count in enumerate(counts)] if lengths else []


def _owners(store: OpenSearchVectorStore) -> list[Owners]:
    body = {
        "size": 0,
        "query": {"bool": {"filter": store.clauses_of(None)}},
        "aggs": {
            **{name: {"terms": {"field": name, "size": OWNERS}} for name in IDENTITY_FIELDS},
            **{f"no_{name}": {"missing": {"field": name}} for name in IDENTITY_FIELDS},
        },
    }
    told = store.client.request("POST", path_of(store.collection_name, "_search"), body=body)["aggregations"]
    return [
        Owners(
            field=name,
            counts=[(str(each["key"]), int(each["doc_count"])) for each in told[name]["buckets"]],
            others=int(told[name]["sum_other_doc_count"]),
            nobody=int(told[f"no_{name}"]["doc_count"]),
        )
        for name in IDENTITY_FIELDS
    ]
