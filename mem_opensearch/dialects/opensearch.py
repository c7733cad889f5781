"""OpenSearch with the k-NN plugin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mem_opensearch.dialects.base import VECTOR_FIELD, Dialect, PointInTime, named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.models import Clause, Engine, KnnEngine, Version


@dataclass(frozen=True, slots=True)
class OpenSearchDialect(Dialect):
    """OpenSearch, self-managed or a managed domain.

    >>> OpenSearchDialect((3, 6, 0)).cosine_of(0.9)
    0.8
    """

    name: ClassVar[Engine] = "opensearch"
    title: ClassVar[str] = "OpenSearch"
    # Before it, one vector could have two scores, and neither was (1 + cosine) / 2 throughout (k-NN issue 2319).
    oldest: ClassVar[Version] = (2, 19, 0)
    # lucene works on every server and takes the filter into the graph walk.
    knn_engines: ClassVar[tuple[KnnEngine, ...]] = ("lucene", "faiss")
    max_dims: ClassVar[int] = 16_000
    # How many candidates of the graph are kept in view for each that is wanted; see docs/performance.md, recall.
    beam: ClassVar[int] = 8
    widest_beam: ClassVar[int] = 1000
    point_in_time: ClassVar[PointInTime] = PointInTime(
        ("_search", "point_in_time"), id_key="pit_id", close_path="/_search/point_in_time", closes_many=True
    )

    @property
    def has_legacy_bm25(self) -> bool:
        """Until version 3."""
        return self.version < (3, 0, 0)

    def index_settings(self) -> dict[str, Any]:
        """Return the switch of the k-NN plugin."""
        return {"index.knn": True}

    def vector_field(self, *, dims: int, engine: KnnEngine) -> dict[str, Any]:
        """Return a `knn_vector`."""
        method = {"name": "hnsw", "space_type": "cosinesimil", "engine": engine}
        return {"type": "knn_vector", "dimension": dims, "method": method}

    def dims_of(self, field: Mapping[str, Any]) -> int:
        """Return `dimension`."""
        return int(field.get("dimension") or 0)

    def knn(self, vector: Any, *, k: int, filters: Sequence[Clause], name: str | None = None) -> Clause:  # noqa: ANN401 - as in the base
        """Return a `knn` query."""
        inner: dict[str, Any] = {"vector": vector, "k": k}
        if k < (width := min(k * self.beam, self.widest_beam)):
            inner["method_parameters"] = {"ef_search": width}
        if filters:
            inner["filter"] = {"bool": {"filter": list(filters)}}
        return {"knn": {VECTOR_FIELD: inner | named(name)}}

    def exact_cosine(self, vector: Any, *, among: Clause | None = None, name: str | None = None) -> Clause:  # noqa: ANN401 - as in the base
        """Return a `script_score` by the k-NN plugin's own script, which scores as its kNN does."""
        params = {"field": VECTOR_FIELD, "query_value": vector, "space_type": "cosinesimil"}
        script = {"lang": "knn", "source": "knn_score", "params": params}
        return {"script_score": {"query": among or {"match_all": {}}, "script": script} | named(name)}
