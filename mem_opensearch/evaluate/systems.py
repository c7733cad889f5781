"""What can be evaluated: the seam between the runner and a way to search, and the systems by name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from mem_opensearch.errors import ConfigError
from mem_opensearch.evaluate.own import Bm25System, OwnIndex, SemanticSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mem_opensearch.client import SearchClient
    from mem_opensearch.evaluate.datasets import Dataset, Query
    from mem_opensearch.evaluate.metrics import Candidates
    from mem_opensearch.evaluate.own import Tick
    from mem_opensearch.evaluate.vectors import CachingEmbedder, Vectors


class System(Protocol):
    """A way to search, over a collection of its own for one data set.

    Attributes:
        name: as in the registry.
    """

    name: str

    @property
    def requests(self) -> int:
        """HTTP requests sent so far."""

    def index(self, dataset: Dataset, vectors: Vectors, tick: Tick) -> None:
        """Store every memory and make it searchable; a second call does nothing.

        Args:
            dataset: what to store.
            vectors: one row per memory, in order.
            tick: called with the number of rows stored so far, and of all rows.
        """

    def search(self, query: Query, vector: Any, *, top_k: int) -> list[str]:  # noqa: ANN401 - a row of an array
        """Return at most `top_k` ids, best first. This is what is timed."""

    def candidates(self, query: Query, vector: Any, *, top_k: int) -> Candidates:  # noqa: ANN401 - a row of an array
        """Return what the same search looked at; asked for missed queries only, and not timed."""

    def drop(self) -> None:
        """Remove everything that `index` made, finished or not; nothing there is no error."""


@dataclass(frozen=True)
class Bench:
    """What the systems of one data set are made from.

    Attributes:
        url: as the user gave it; ``"local"`` is the local node.
        client: a connection to that server.
        collection: prefix of every collection's name; nothing else on the server starts with it.
        embedder: for systems that embed by themselves.
        analyzer: Chinese analysis of this package's store, as `StoreConfig.analyzer`.
    """

    url: str
    client: SearchClient
    collection: str
    embedder: CachingEmbedder
    analyzer: str = "auto"

    @cached_property
    def own(self) -> OwnIndex:
        """The index that all systems over this package's store share."""
        return OwnIndex(
            url=self.url, collection=f"{self.collection}-own", dims=self.embedder.dims, analyzer=self.analyzer
        )


def _mem0_builtin(bench: Bench) -> System:
    from mem_opensearch.evaluate.mem0_builtin import Mem0BuiltinSystem

    return Mem0BuiltinSystem(client=bench.client, collection=f"{bench.collection}-mem0", embedder=bench.embedder)


SYSTEMS: Mapping[str, Callable[[Bench], System]] = {
    "semantic": lambda bench: SemanticSystem(bench.own),
    "bm25": lambda bench: Bm25System(bench.own),
    "mem0-builtin": _mem0_builtin,
}
"""Name -> what makes the system for one data set."""

DEFAULT_SYSTEMS = ("semantic", "bm25")


def check_systems(names: Sequence[str]) -> tuple[str, ...]:
    """Return `names`, each once.

    Raises:
        ConfigError: none is given, or one is unknown: lists the known ones.
    """
    known = ", ".join(SYSTEMS)
    if not names:
        raise ConfigError(f"no system was given; known are: {known}")
    for name in names:
        if name not in SYSTEMS:
            raise ConfigError(f"system '{name}' is unknown; known are: {known}")
    return tuple(dict.fromkeys(names))
