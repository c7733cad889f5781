"""Amazon OpenSearch Serverless, vector search collections."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mem_opensearch.dialects.opensearch import OpenSearchDialect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mem_opensearch.models import Clause, Engine, KnnEngine


@dataclass(frozen=True, slots=True)
class ServerlessDialect(OpenSearchDialect):
    """OpenSearch as a service that keeps its cluster to itself.

    Vectors have length 1 and are compared by their distance, which every version of the engine `faiss` knows; cosine
    came with version 2.19, and a collection's version is not told. The order is the same: distance^2 = 2 - 2 cosine.

    >>> round(ServerlessDialect((2, 17, 0)).cosine_of(1 / (1 + 0.5)), 6)
    0.75
    """

    name: ClassVar[Engine] = "aoss"
    title: ClassVar[str] = "Amazon OpenSearch Serverless"
    knn_engines: ClassVar[tuple[KnnEngine, ...]] = ("faiss",)
    beam: ClassVar[int] = 1  # whether a collection takes a wider one is not documented
    takes_ids: ClassVar[bool] = False
    has_refresh: ClassVar[bool] = False
    has_scripts: ClassVar[bool] = False
    has_point_in_time: ClassVar[bool] = False
    has_update_by_query: ClassVar[bool] = False
    has_delete_by_query: ClassVar[bool] = False
    has_cluster: ClassVar[bool] = False
    has_named_scores: ClassVar[bool] = False

    def vector_field(self, *, dims: int, engine: KnnEngine) -> dict[str, Any]:
        """Return a `knn_vector` that is compared by distance."""
        method = {"name": "hnsw", "space_type": "l2", "engine": engine}
        return {"type": "knn_vector", "dimension": dims, "method": method}

    def knn(self, vector: Any, *, k: int, filters: Sequence[Clause], name: str | None = None) -> Clause:  # noqa: ANN401 - as in the base
        """Return a `knn` query for the vector's direction."""
        return OpenSearchDialect.knn(self, unit_vector(vector), k=k, filters=filters, name=name)

    def cosine_of(self, score: float) -> float:
        """Return the cosine behind a score of `knn`, clamped to [0, 1]; the score is 1 / (1 + distance^2)."""
        return min(1.0, max(0.0, round(1.0 - (1.0 / score - 1.0) / 2.0, 7)))


def unit_vector(vector: Any) -> Any:  # noqa: ANN401 - list or numpy array
    """Return a vector of the same direction and of length 1.

    >>> unit_vector([3.0, 4.0])
    [0.6, 0.8]
    """
    if hasattr(vector, "astype"):
        wide = vector.astype("float64")  # in float32, the squares of small numbers would be zero
        return wide / math.sqrt(wide @ wide)
    length = math.hypot(*vector)
    return [number / length for number in vector]
