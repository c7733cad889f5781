"""Elasticsearch 8 and 9."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mem_opensearch.dialects.base import VECTOR_FIELD, Dialect, PointInTime, named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.models import Clause, Engine, KnnEngine, Version

CANDIDATES_FACTOR, CANDIDATES_LEAST, CANDIDATES_MOST = 2, 100, 10_000
"""Nearest vectors that each shard looks at, for the k of the whole; 10,000 is the server's own limit."""

_COSINE = f"(1.0 + cosineSimilarity(params.vector, '{VECTOR_FIELD}')) / 2.0"


@dataclass(frozen=True, slots=True)
class ElasticsearchDialect(Dialect):
    """Elasticsearch, self-managed or hosted.

    >>> ElasticsearchDialect((8, 15, 0)).knn([1.0], k=5, filters=[])["knn"]["num_candidates"]
    100
    """

    has_named_post_filter: ClassVar[bool] = False  # not tried on a real one, and the tests' emulator does not
    name: ClassVar[Engine] = "elasticsearch"
    title: ClassVar[str] = "Elasticsearch"
    oldest: ClassVar[Version] = (8, 15, 0)  # the first whose `knn` query takes `k`
    max_dims: ClassVar[int] = 4_096
    point_in_time: ClassVar[PointInTime] = PointInTime(("_pit",), id_key="id", close_path="/_pit", closes_many=False)

    @property
    def has_legacy_bm25(self) -> bool:
        """In every version so far."""
        return True

    def index_settings(self) -> dict[str, Any]:
        """Return what keeps vectors in `_source`, from 9.2 on, which leaves them out unless told otherwise."""
        return {"index.mapping.exclude_source_vectors": False} if self.version >= (9, 2, 0) else {}

    def vector_field(self, *, dims: int, engine: KnnEngine) -> dict[str, Any]:  # noqa: ARG002 - there is one engine
        """Return a `dense_vector`; which index it gets by default differs by version and length, so it is said."""
        return {
            "type": "dense_vector",
            "dims": dims,
            "index": True,
            "similarity": "cosine",
            "index_options": {"type": "hnsw", "m": 16, "ef_construction": 100},
        }

    def dims_of(self, field: Mapping[str, Any]) -> int:
        """Return `dims`."""
        return int(field.get("dims") or 0)

    def knn(self, vector: Any, *, k: int, filters: Sequence[Clause], name: str | None = None) -> Clause:  # noqa: ANN401 - as in the base
        """Return a `knn` query."""
        candidates = min(max(k * CANDIDATES_FACTOR, CANDIDATES_LEAST), CANDIDATES_MOST)
        inner: dict[str, Any] = {"field": VECTOR_FIELD, "query_vector": vector, "k": k, "num_candidates": candidates}
        if filters:
            inner["filter"] = list(filters)
        return {"knn": inner | named(name)}

    def exact_cosine(self, vector: Any, *, among: Clause | None = None, name: str | None = None) -> Clause:  # noqa: ANN401 - as in the base
        """Return a `script_score` that scores as the kNN does."""
        script = {"source": _COSINE, "params": {"vector": vector}}
        return {"script_score": {"query": among or {"match_all": {}}, "script": script} | named(name)}
