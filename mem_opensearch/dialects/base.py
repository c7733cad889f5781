"""What a dialect has to say; each server's is a file of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.models import Clause, Engine, KnnEngine, Version

VECTOR_FIELD = "vector"


@dataclass(frozen=True, slots=True)
class PointInTime:
    """How a frozen view of an index is opened and closed; both by requests that answer in JSON.

    Attributes:
        open_path: parts of the path of POST that come after the index's name.
        id_key: where the answer has the id. Each search in the view may give a newer one, under ``"pit_id"``.
        close_path: path of DELETE.
        closes_many: whether that takes a list of ids.
    """

    open_path: tuple[str, ...]
    id_key: str
    close_path: str
    closes_many: bool

    def close_body(self, pit_id: str) -> dict[str, Any]:
        """Return the body of the request that closes the view.

        >>> PointInTime(("_pit",), "id", "/_pit", closes_many=False).close_body("x")
        {'id': 'x'}
        """
        return {self.id_key: [pit_id] if self.closes_many else pit_id}


@dataclass(frozen=True, slots=True)
class Dialect(ABC):
    """One kind of server, in one version.

    Abilities that a kind of server has whatever its version are attributes of the class; those here are what a full
    cluster has.

    Attributes:
        version: major, minor, patch.
        name: the value of `StoreConfig.engine` that means it.
        title: its name in sentences.
        oldest: the oldest version that this release works with.
        knn_engines: the kNN engines that it may have, best first.
        max_dims: the longest vector that it can index.
        takes_ids: whether a row is written under an id of our choice. Without it, a server makes ids up.
        has_refresh: whether writes can be made visible on demand.
        has_scripts: whether an update or a query may hold a script.
        has_point_in_time: whether `point_in_time` works.
        has_update_by_query: whether rows can be updated by a query.
        has_delete_by_query: whether rows can be deleted by a query.
        has_cluster: whether it tells of nodes, health and statistics, and takes settings and URL parameters that have
            to do with a cluster: shards, replicas, ``require_alias``, ``filter_path``. Without, it copies no index.
        has_named_scores: whether ``include_named_queries_score=true`` tells the score of each named clause of a hit.
        has_named_post_filter: whether it tells those of the ``post_filter`` too.
    """

    version: Version

    name: ClassVar[Engine]
    title: ClassVar[str]
    oldest: ClassVar[Version]
    knn_engines: ClassVar[tuple[KnnEngine, ...]] = ("lucene",)
    max_dims: ClassVar[int]
    point_in_time: ClassVar[PointInTime]
    takes_ids: ClassVar[bool] = True
    has_refresh: ClassVar[bool] = True
    has_scripts: ClassVar[bool] = True
    has_point_in_time: ClassVar[bool] = True
    has_update_by_query: ClassVar[bool] = True
    has_delete_by_query: ClassVar[bool] = True
    has_cluster: ClassVar[bool] = True
    has_named_scores: ClassVar[bool] = True
    has_named_post_filter: ClassVar[bool] = True

    @property
    @abstractmethod
    def has_legacy_bm25(self) -> bool:
        """Whether BM25 is multiplied by k1 + 1, see `queries.boosts_for`."""

    def only(self, *paths: str) -> dict[str, str]:
        """Return the URL parameters by which an answer holds nothing but `paths`, where the server can leave out."""
        return {"filter_path": ",".join(paths)} if self.has_cluster else {}

    @abstractmethod
    def index_settings(self) -> dict[str, Any]:
        """Return the settings that an index needs because it holds vectors; keys are dotted names."""

    @abstractmethod
    def vector_field(self, *, dims: int, engine: KnnEngine) -> dict[str, Any]:
        """Return the mapping of a field of vectors that are compared by cosine."""

    @abstractmethod
    def dims_of(self, field: Mapping[str, Any]) -> int:
        """Return the length of vectors that a mapping says, 0 when it says none."""

    @abstractmethod
    def knn(self, vector: Any, *, k: int, filters: Sequence[Clause], name: str | None = None) -> Clause:  # noqa: ANN401 - list or numpy array
        """Return the clause for the k nearest vectors among the rows that pass `filters`.

        The filter stands inside the clause, where it is applied before the k are chosen; beside it, it would only thin
        them. The score of a hit is what `cosine_of` takes.

        Args:
            vector: the query's vector, a list or a one-dimensional array.
            k: how many, 1 to 10,000.
            filters: clauses that a row must all match.
            name: under which a hit says that it matched.
        """

    @abstractmethod
    def exact_cosine(self, vector: Any, *, among: Clause | None = None, name: str | None = None) -> Clause:  # noqa: ANN401 - list or numpy array
        """Return the clause that compares every row that matches `among` with `vector`; needs `has_scripts`.

        The score of a hit is what `cosine_of` takes. Every such row must have a vector.

        Args:
            vector: the query's vector, a list or a one-dimensional array.
            among: which rows; all that the rest of the query matches when not given.
            name: under which a hit tells its score, see `has_named_scores`.
        """

    def cosine_of(self, score: float) -> float:
        """Return the cosine behind a score of `knn` or `exact_cosine`, which is (1 + cosine) / 2; clamped to [0, 1]."""
        # float32 arithmetic on the server: 7 digits mean something
        return min(1.0, max(0.0, round(2.0 * score - 1.0, 7)))


def named(name: str | None) -> dict[str, str]:
    """Return the entry that names a clause, or nothing."""
    return {} if name is None else {"_name": name}
